// The float32 kernel of the logit link, one entry for each instruction set it is compiled for.
#pragma once

#include "rows/round.hpp"

namespace ordinal {

// Rows that share one float32 accumulator: short enough that its rounding stays below 1e-6.
constexpr int kLaneBlock = 512;

// The sums of so many thresholds fit the first-level cache; more take the float64 kernel.
constexpr int kMaxThresholds = 128;

// exp(+-80), and its product with any distance below 80, stay inside float32.
constexpr double kMaxDistance = 80.0;

// What depends on the thresholds alone, prepared once a round. Scores are taken relative to `center`, a
// float32, and clipped to within kMaxDistance of every threshold; Python sees to it that these are half as
// far apart at most, and near enough to 0 that a float32 holds them to one unit.
struct LogitConstants {
    double center;
    float lowest_score, highest_score;
    const float* theta;  // (n_thresholds,) theta_k - center
    const float* scale;  // (n_thresholds,) exp(theta_k - center)
};

using LogitBlock = void (*)(const LogitRound&, const LogitConstants&, std::int64_t begin, int n, BlockSums&);
// Adds the sums of n <= kLaneBlock rows to those of their leaves; `sums` as in leaf_sums.hpp.
using LeafBlock = void (*)(const LogitRound&, const LogitConstants&, const std::int32_t* leaves,
                           std::int64_t begin, int n, double* sums);

#define ORDINAL_DECLARE_LANES(isa)                                                                           \
    void logit_block_##isa(const LogitRound&, const LogitConstants&, std::int64_t begin, int n, BlockSums&); \
    void leaf_block_##isa(const LogitRound&, const LogitConstants&, const std::int32_t* leaves,              \
                          std::int64_t begin, int n, double* sums);
ORDINAL_DECLARE_LANES(baseline)
ORDINAL_DECLARE_LANES(avx2)
ORDINAL_DECLARE_LANES(avx512)
#undef ORDINAL_DECLARE_LANES

}  // namespace ordinal
