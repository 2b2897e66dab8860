// The float32 kernel of the logit link, one entry for each instruction set it is compiled for.
#pragma once

#include <cstddef>

#include "rows/round.hpp"

namespace ordinal {

// Rows that share one float32 accumulator: short enough that its rounding stays below 1e-6.
constexpr int kLaneBlock = 512;

// The sums of so many thresholds fit the first-level cache; more take the float64 kernel.
constexpr int kMaxThresholds = 128;

// exp(+-80), and its product with any distance below 80, stay inside float32.
constexpr double kMaxDistance = 80.0;

// What depends on the thresholds alone, prepared once a round. Scores are taken relative to `center`, a
// float32, and clipped to within kMaxDistance of every threshold. Python ensures that thresholds are at most
// half as far apart, and near enough to 0 that rounding the center to float32 changes it by at most 1/2.
struct LogitConstants {
    double center;
    float lowest_score, highest_score;
    const float* theta;  // (n_thresholds,) theta_k - center
    const float* scale;  // (n_thresholds,) exp(theta_k - center)
};

// Memory of the sums of `width` columns in lanes, in the widest vectors there are.
constexpr std::size_t lane_memory(int width) { return 16 * static_cast<std::size_t>(width); }

// lanes: lane_memory(2 * n_thresholds) numbers on a cache line, for the sums over these rows.
using LogitBlock = void (*)(const LogitRound&, const LogitConstants&, std::int64_t begin, int n, BlockSums&,
                            float* lanes);

// Working memory of a LeafBlock.
struct LeafRows {
    static constexpr int kTile = 16;
    // One vector more in each row: otherwise the entries of a column of `bend` would share one cache set.
    static constexpr int kStride = kLaneBlock + 16;
    alignas(64) float score[kLaneBlock];
    alignas(64) float t[kLaneBlock];
    alignas(64) float weight[kLaneBlock];
    alignas(64) std::int32_t y[kLaneBlock];
    alignas(64) float bend[kTile * kStride];  // sigma (1 - sigma), threshold by threshold
};
// Adds the sums of n <= kLaneBlock rows to those of their leaves; `sums` as in leaf_sums.hpp.
using LeafBlock = void (*)(const LogitRound&, const LogitConstants&, const std::int32_t* leaves,
                           std::int64_t begin, int n, LeafRows&, double* sums);

#define ORDINAL_DECLARE_LANES(isa)                                                                          \
    void logit_block_##isa(const LogitRound&, const LogitConstants&, std::int64_t begin, int n, BlockSums&, \
                           float* lanes);                                                                   \
    void leaf_block_##isa(const LogitRound&, const LogitConstants&, const std::int32_t* leaves,             \
                          std::int64_t begin, int n, LeafRows&, double* sums);
ORDINAL_DECLARE_LANES(baseline)
ORDINAL_DECLARE_LANES(avx2)
ORDINAL_DECLARE_LANES(avx512)
#undef ORDINAL_DECLARE_LANES

}  // namespace ordinal
