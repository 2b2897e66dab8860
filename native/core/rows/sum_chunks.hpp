// The rows in chunks, shared out to threads, their sums added up in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rows/round_statistics.hpp"
#include "threads/parallel.hpp"

namespace ordinal {

// Runs fill(begin, n, sums) over pieces of the rows. The result is the same for any n_threads.
template <class Fill>
RoundSums sum_chunks(std::int64_t n_rows, Piece piece, int n_thresholds, int n_threads, const Fill& fill) {
    const std::int64_t n_chunks = piece.count(n_rows);
    const std::size_t width = static_cast<std::size_t>(n_thresholds);
    // A cache line apart: threads write to neighbouring chunks at the same time.
    const std::size_t stride = 3 * width + 8;
    std::vector<double> arrays(static_cast<std::size_t>(n_chunks) * stride, 0.0);
    std::vector<BlockSums> chunks(static_cast<std::size_t>(n_chunks));
    parallel_rows("pass", n_rows, piece, n_threads,
                  [&](std::int64_t c, std::int64_t begin, std::int64_t end) {
                      double* u = arrays.data() + static_cast<std::size_t>(c) * stride;
                      BlockSums sums{u, u + width, u + 2 * width, 0.0, 0, 0};
                      fill(begin, end - begin, sums);
                      chunks[static_cast<std::size_t>(c)] = sums;
                  });
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
