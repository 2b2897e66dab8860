// Rows whose thresholds move with x: one score f + v_k for every threshold k, or for neighbouring ones
// together, and one exponential for every score.
#pragma once

#include <cstdint>
#include <vector>

#include "rows/round.hpp"
#include "rows/round_statistics.hpp"

namespace ordinal {

// What the columns of a row hold. thresholds: the gradients of every threshold, then the Hessians. score:
// gradient and Hessian of the score. cross: these and the cross terms of score and every threshold.
enum class Columns : int { thresholds = 0, score = 1, cross = 2 };

// Neighbouring thresholds with one score, within kMaxDistance / 2 of each other. Scores are taken relative to
// `center` and clipped to within kMaxDistance of each of them: exp(theta_k - score) is a product then.
struct MarginRun {
    int first, end, score;
    float center, lowest, highest;
};

// Losses that are sums over thresholds. `Real` is float for the lanes of the logit link, double for any link.
template <class Real>
struct MarginRound {
    const Real* scores = nullptr;  // (n_scores, n_rows): score by score
    int n_scores = 0;
    const std::int32_t* score_of = nullptr;  // (n_thresholds,) that each threshold has; null: each its own
    const MarginRun* runs = nullptr;  // of thresholds that share scores, for the lanes; null: each alone
    int n_runs = 0;
    const float* near = nullptr;   // (n_thresholds,) theta_k - center of its run
    const float* scale = nullptr;  // (n_thresholds,) exp of it
    std::int64_t n_rows = 0;
    const std::int32_t* y = nullptr;     // (n_rows,) class codes 0..n_thresholds
    const Real* weight = nullptr;        // (n_rows,) or null for ones
    const double* thresholds = nullptr;  // (n_thresholds,) in any order
    int n_thresholds = 0;
    Loss loss = Loss::all_threshold;
    const Real* costs = nullptr;  // as in Round
    Link link{};
    bool majorized = true;
    bool want_loss = false;
    bool sorted = false;       // each row's margins are sorted first; only the loss is defined then
    double limit = 700.0;      // as in Round
    Real* gradient = nullptr;  // (n_rows,) summed over the thresholds; null where no one asks, score and
                               // cross do
    Real* hessian = nullptr;
    float* columns = nullptr;  // (n_rows, at least as many as `held` says), or null
    std::int64_t columns_step = 0;
    Columns held = Columns::thresholds;
    const std::int32_t* group = nullptr;  // (n_scores,) those with the same number share columns; below 0
                                          // for none. null: each has its own
    int n_groups = 0;
};

// Rows that share float32 accumulators, and the distance between the buffers of two scores.
constexpr int kMarginBlock = 256;
constexpr int kMarginStride = kMarginBlock + 16;

template <class Some>
static inline std::int64_t score_of(const Some& round, int k) {
    return round.score_of ? round.score_of[k] : k;
}

// Adds up n <= kMarginBlock rows, and writes their derivatives in each score to `slopes` and `bends` unless
// null, score by score, kMarginStride apart. lanes: lane_memory(4 * n_thresholds) numbers on a cache
// line.
using MarginBlock = void (*)(const MarginRound<float>&, std::int64_t begin, int n, BlockSums&, float* slopes,
                             float* bends, float* lanes);

#define ORDINAL_DECLARE_LANES(isa)                                                                           \
    void margin_block_##isa(const MarginRound<float>&, std::int64_t begin, int n, BlockSums&, float* slopes, \
                            float* bends, float* lanes);
ORDINAL_DECLARE_LANES(baseline)
ORDINAL_DECLARE_LANES(avx2)
ORDINAL_DECLARE_LANES(avx512)
#undef ORDINAL_DECLARE_LANES

// The same bytes for any number of threads, as everything below.
template <class Real>
RoundSums margin_statistics(const MarginRound<Real>& round, int n_threads);

// One row a leaf, 2 n_scores numbers each: sums of the gradients, then of the Hessians.
template <class Real>
std::vector<double> margin_leaf_sums(const MarginRound<Real>& round, const std::int32_t* leaves, int n_leaves,
                                     int n_threads);

// sums[k, i] = scores[k, i] + values[k, leaves[i]]
template <class Real>
void add_leaf_vectors(const Real* scores, const std::int32_t* leaves, const Real* values, std::int64_t n_rows,
                      int n_scores, int n_leaves, Real* sums, int n_threads);

}  // namespace ordinal
