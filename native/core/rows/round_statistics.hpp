// One pass over the rows: gradients and Hessians a row, and the sums that the threshold step needs.
#pragma once

#include <cstdint>
#include <vector>

#include "rows/round.hpp"

namespace ordinal {

struct RoundSums {
    std::vector<double> threshold_gradient;     // u (n_thresholds,)
    std::vector<double> threshold_hessian;      // diagonal of V (n_thresholds,)
    std::vector<double> threshold_hessian_off;  // next to the diagonal (n_thresholds - 1,)
    double loss = 0.0;                          // weighted sum; 0 unless asked for
    std::int64_t n_clipped = 0;  // rows with |f - theta_k| beyond the kernel's limit for some k
    std::int64_t n_floored = 0;  // curvatures raised to the link's floor
};

// Logit link, float32 lanes. The same bytes for any number of threads.
RoundSums logit_statistics(const LogitRound& round, std::int64_t n_rows, int n_threads);

// Any link, one row after the other in float64: link_kernel.hpp.
RoundSums link_statistics(const LinkRound& round, std::int64_t n_rows, int n_threads);

}  // namespace ordinal
