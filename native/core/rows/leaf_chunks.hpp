// The rows in chunks, each with its own sums of every leaf, added up in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rows/logit_lanes.hpp"
#include "threads/parallel.hpp"

namespace ordinal {

// Runs fill(begin, n, sums) over chunks of rows, each with its own sums, and adds these up in order. The
// sums of all chunks together stay smaller than the rows, and their number does not depend on n_threads.
template <class Fill>
std::vector<double> sum_leaf_chunks(std::int64_t n_rows, int n_leaves, int width, int n_threads,
                                    const Fill& fill, std::int64_t row_ns = kLanePass.row_ns) {
    const std::int64_t most = std::clamp<std::int64_t>(n_rows / (8 * std::int64_t{n_leaves}), 1, 64);
    const std::int64_t blocks = (n_rows + kLaneBlock - 1) / kLaneBlock;
    const std::int64_t chunk = std::max(kLanePass.rows, (blocks + most - 1) / most * kLaneBlock);
    const std::int64_t n_chunks = (n_rows + chunk - 1) / chunk;
    const std::size_t size = static_cast<std::size_t>(n_leaves) * static_cast<std::size_t>(width);
    // A cache line apart: threads write to neighbouring chunks at the same time.
    const std::size_t stride = size + 8;
    std::vector<double> chunks(static_cast<std::size_t>(n_chunks) * stride, 0.0);
    parallel_blocks(
        "sums by leaf", n_chunks, n_threads,
        [&](std::int64_t c) {
            fill(c * chunk, std::min(chunk, n_rows - c * chunk),
                 chunks.data() + static_cast<std::size_t>(c) * stride);
        },
        chunk * row_ns);
    std::vector<double> total(chunks.begin(), chunks.begin() + static_cast<std::ptrdiff_t>(size));
    for (std::size_t c = 1; c < static_cast<std::size_t>(n_chunks); ++c)
        for (std::size_t j = 0; j < size; ++j) total[j] += chunks[c * stride + j];
    return total;
}

}  // namespace ordinal
