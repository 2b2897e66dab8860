// The rows in chunks, shared out to threads, their sums added up in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rows/round_statistics.hpp"
#include "threads/parallel.hpp"

namespace ordinal {

// Runs fill(begin, n, sums) over chunks of at most `chunk` rows. The result is the same for any n_threads.
template <class Fill>
RoundSums sum_chunks(std::int64_t n_rows, std::int64_t chunk, int n_thresholds, int n_threads,
                     const Fill& fill, std::int64_t least = 1) {
    const std::int64_t n_chunks = (n_rows + chunk - 1) / chunk;
    const std::size_t width = static_cast<std::size_t>(n_thresholds);
    // A cache line apart: threads write to neighbouring chunks at the same time.
    const std::size_t stride = 3 * width + 8;
    std::vector<double> arrays(static_cast<std::size_t>(n_chunks) * stride, 0.0);
    std::vector<BlockSums> chunks(static_cast<std::size_t>(n_chunks));
    parallel_blocks(
        "pass", n_chunks, n_threads,
        [&](std::int64_t c) {
            double* u = arrays.data() + static_cast<std::size_t>(c) * stride;
            BlockSums sums{u, u + width, u + 2 * width, 0.0, 0, 0};
            fill(c * chunk, std::min(chunk, n_rows - c * chunk), sums);
            chunks[static_cast<std::size_t>(c)] = sums;
        },
        least);
    RoundSums total;
    total.threshold_gradient.assign(width, 0.0);
    total.threshold_hessian.assign(width, 0.0);
    total.threshold_hessian_off.assign(width - 1, 0.0);
    for (const BlockSums& sums : chunks) {
        for (std::size_t k = 0; k < width; ++k) {
            total.threshold_gradient[k] += sums.threshold_gradient[k];
            total.threshold_hessian[k] += sums.threshold_hessian[k];
            if (k + 1 < width) total.threshold_hessian_off[k] += sums.threshold_hessian_off[k];
        }
        total.loss += sums.loss;
        total.n_clipped += sums.n_clipped;
        total.n_floored += sums.n_floored;
    }
    return total;
}

}  // namespace ordinal
