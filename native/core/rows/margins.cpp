#include "rows/margins.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "rows/leaf_chunks.hpp"
#include "rows/logit_lanes.hpp"
#include "rows/sum_chunks.hpp"
#include "rows/threshold_term.hpp"
#include "simd/aligned.hpp"
#include "simd/dispatch.hpp"

namespace ordinal {
namespace {

template <class Real>
double weight_of(const MarginRound<Real>& round, std::int64_t i) {
    return round.weight ? static_cast<double>(round.weight[i]) : 1.0;
}

// The margins of one row, in order if that is asked for. An infinite one becomes NaN, for which
// Python checks the sums.
template <class Real>
void margins_of(const MarginRound<Real>& round, std::int64_t i, std::vector<double>& margins) {
    for (int k = 0; k < round.n_thresholds; ++k) {
        const double margin =
            round.thresholds[k] - static_cast<double>(round.scores[score_of(round, k) * round.n_rows + i]);
        margins[static_cast<std::size_t>(k)] =
            std::isfinite(margin) ? margin : std::numeric_limits<double>::quiet_NaN();
    }
    if (round.sorted) std::sort(margins.begin(), margins.end());
}

template <class Real>
bool counted(const MarginRound<Real>& round, int y, int k) {
    return counts_of(round) != Counts::beside || k == y || k + 1 == y;
}

// What the lanes clip off a margin: beyond its own range, or that of the score.
double clipped_off(const MarginRound<float>& round, double margin, int k) {
    if (!round.runs) return margin - std::clamp(margin, -kMaxDistance, kMaxDistance);
    const MarginRun& run = *std::find_if(round.runs, round.runs + round.n_runs,
                                         [&](const MarginRun& one) { return k < one.end; });
    const double score = static_cast<double>(round.near[k]) - margin;
    return std::clamp<double>(score, run.lowest, run.highest) - score;
}

// Beyond the range of the lanes the loss is linear: this adds what it grows by there.
void add_loss_out_of_reach(const MarginRound<float>& round, std::int64_t begin, std::int64_t n,
                           BlockSums& sums) {
    std::vector<double> margins(static_cast<std::size_t>(round.n_thresholds));
    for (std::int64_t i = begin; i < begin + n; ++i) {
        margins_of(round, i, margins);
        for (int k = 0; k < round.n_thresholds; ++k) {
            const double margin = margins[static_cast<std::size_t>(k)];
            if (std::isnan(margin)) sums.threshold_gradient[0] = margin;
            const double off = clipped_off(round, margin, k), beyond = round.y[i] > k ? off : -off;
            if (round.want_loss && beyond > 0.0 && counted(round, round.y[i], k))
                sums.loss += beyond * weight_of(round, i) * cost_of(round, round.y[i], k);
        }
    }
}

// The runs of thresholds that share scores, and a round that knows them.
class Runs {
    std::vector<MarginRun> runs_;
    std::vector<float> near_, scale_;

  public:
    explicit Runs(MarginRound<float>& round) {
        if (!round.score_of || round.sorted) return;
        for (int k = 0, first = 0; k < round.n_thresholds; first = k) {
            double low = round.thresholds[k], high = low;
            while (++k < round.n_thresholds && round.score_of[k] == round.score_of[first]) {
                const double lower = std::min(low, round.thresholds[k]);
                const double higher = std::max(high, round.thresholds[k]);
                if (higher - lower > kMaxDistance / 2) break;
                low = lower;
                high = higher;
            }
            const float center = static_cast<float>(0.5 * (low + high));
            for (int j = first; j < k; ++j) {
                near_.push_back(static_cast<float>(round.thresholds[j] - static_cast<double>(center)));
                scale_.push_back(std::exp(near_.back()));
            }
            runs_.push_back({first, k, round.score_of[first], center,
                             static_cast<float>(high - static_cast<double>(center) - kMaxDistance),
                             static_cast<float>(low - static_cast<double>(center) + kMaxDistance)});
        }
        round.runs = runs_.data();
        round.n_runs = static_cast<int>(runs_.size());
        round.near = near_.data();
        round.scale = scale_.data();
    }
    explicit Runs(MarginRound<double>&) {}
};

// The buffers of one block.
template <class Real>
struct Derivatives {
    std::vector<Real> slopes, bends;
    AlignedVector<float> lanes;  // of the float32 kernel

    Derivatives(const MarginRound<Real>& round, bool wanted)
        : lanes(std::is_same_v<Real, float> ? lane_memory(4 * round.n_thresholds) : 0) {
        if (!wanted) return;
        slopes.resize(static_cast<std::size_t>(round.n_scores) * kMarginStride);
        bends.resize(slopes.size());
    }
    Real* slope() { return slopes.empty() ? nullptr : slopes.data(); }
    Real* bend() { return bends.empty() ? nullptr : bends.data(); }
};

void run_block(const MarginRound<float>& round, std::int64_t begin, int n, BlockSums& sums,
               Derivatives<float>& rows) {
    active_instruction_set().margin_block(round, begin, n, sums, rows.slope(), rows.bend(),
                                          rows.lanes.data());
}

template <class L, bool kMajorized>
void link_block(const MarginRound<double>& round, std::int64_t begin, int n, BlockSums& sums, double* slopes,
                double* bends) {
    const double limit = limit_of<L>(round.limit);
    std::vector<double> margins(static_cast<std::size_t>(round.n_thresholds));
    for (int at = 0; at < n; ++at) {
        const std::int64_t i = begin + at;
        const double w = weight_of(round, i);
        double gradient = 0.0, hessian = 0.0;
        bool clipped = false;
        margins_of(round, i, margins);
        for (int s = 0; slopes && s < round.n_scores; ++s)
            slopes[s * kMarginStride + at] = bends[s * kMarginStride + at] = 0.0;
        for (int k = 0; k < round.n_thresholds; ++k) {
            const double margin = margins[static_cast<std::size_t>(k)];
            double slope = 0.0, bend = 0.0;
            if (counted(round, round.y[i], k)) {
                const auto term = threshold_term<L, kMajorized, true>(round.y[i] > k, margin, limit, sums);
                const double of_term = w * cost_of(round, round.y[i], k);
                slope = -of_term * term.slope;
                bend = of_term * term.curvature;
                sums.loss += of_term * term.value;
            }
            clipped = clipped || std::abs(margin) > limit;
            gradient += slope;
            hessian += bend;
            sums.threshold_gradient[k] -= slope;
            sums.threshold_hessian[k] += bend;
            if (slopes) {
                slopes[score_of(round, k) * kMarginStride + at] += slope;
                bends[score_of(round, k) * kMarginStride + at] += bend;
            }
        }
        sums.n_clipped += clipped;
        if (round.gradient) {
            round.gradient[i] = gradient;
            round.hessian[i] = hessian;
        }
    }
}

template <class L>
struct LinkBlock {
    static void with(const MarginRound<double>& round, const std::int64_t& begin, const int& n,
                     BlockSums& sums, double* slopes, double* bends) {
        if constexpr (L::kMajorizes) {
            if (round.majorized) {
                link_block<L, true>(round, begin, n, sums, slopes, bends);
                return;
            }
        }
        link_block<L, false>(round, begin, n, sums, slopes, bends);
    }
};

void run_block(const MarginRound<double>& round, std::int64_t begin, int n, BlockSums& sums,
               Derivatives<double>& rows) {
    with_link<LinkBlock>(round.link, round, begin, n, sums, rows.slope(), rows.bend());
}

void add_loss_out_of_reach(const MarginRound<double>&, std::int64_t, std::int64_t, BlockSums&) {}

// The buffer that holds a group's sums: that of its first score.
template <class Real>
std::vector<int> first_of_groups(const MarginRound<Real>& round) {
    std::vector<int> first(static_cast<std::size_t>(round.group ? round.n_groups : round.n_scores), -1);
    for (int k = round.n_scores - 1; k >= 0; --k) {
        const int group = round.group ? round.group[k] : k;
        if (group >= 0) first[static_cast<std::size_t>(group)] = k;
    }
    return first;
}

template <class Real>
void add_up_groups(const MarginRound<Real>& round, const std::vector<int>& first, Real* derivatives) {
    if (round.group == nullptr) return;
    for (int k = 0; k < round.n_scores; ++k) {
        const int to = round.group[k] < 0 ? k : first[static_cast<std::size_t>(round.group[k])];
        if (to == k) continue;
        for (int i = 0; i < kMarginBlock; ++i)
            derivatives[to * kMarginStride + i] += derivatives[k * kMarginStride + i];
    }
}

template <class Real>
void write_columns(const MarginRound<Real>& round, std::int64_t begin, int n, Real* slopes, Real* bends) {
    const std::vector<int> first = first_of_groups(round);
    const int width = static_cast<int>(first.size());
    add_up_groups(round, first, bends);
    if (round.held == Columns::thresholds) add_up_groups(round, first, slopes);
    for (int i = 0; i < n; ++i) {
        float* row = round.columns + (begin + i) * round.columns_step;
        if (round.held != Columns::thresholds) {
            row[0] = static_cast<float>(round.gradient[begin + i]);
            row[1] = static_cast<float>(round.hessian[begin + i]);
            for (int g = 0; round.held == Columns::cross && g < width; ++g)
                row[2 + g] = -static_cast<float>(bends[first[g] * kMarginStride + i]);
            continue;
        }
        for (int g = 0; g < width; ++g) {
            row[g] = static_cast<float>(slopes[first[g] * kMarginStride + i]);
            row[width + g] = static_cast<float>(bends[first[g] * kMarginStride + i]);
        }
    }
}

int block_size(std::int64_t rest) { return static_cast<int>(std::min<std::int64_t>(kMarginBlock, rest)); }

}  // namespace

template <class Real>
RoundSums margin_statistics(const MarginRound<Real>& given, int n_threads) {
    MarginRound<Real> round = given;
    const Runs runs(round);
    return sum_chunks(round.n_rows, kMarginPass, round.n_thresholds, n_threads,
                      [&](std::int64_t begin, std::int64_t n, BlockSums& sums) {
                          Derivatives<Real> rows(round, round.columns != nullptr);
                          for (std::int64_t at = begin; at < begin + n; at += kMarginBlock) {
                              const int here = block_size(begin + n - at);
                              run_block(round, at, here, sums, rows);
                              if (round.columns) write_columns(round, at, here, rows.slope(), rows.bend());
                          }
                          if (sums.n_clipped > 0) add_loss_out_of_reach(round, begin, n, sums);
                      });
}

template <class Real>
std::vector<double> margin_leaf_sums(const MarginRound<Real>& given, const std::int32_t* leaves, int n_leaves,
                                     int n_threads) {
    MarginRound<Real> round = given;
    const Runs runs(round);
    const int width = 2 * round.n_scores;
    return sum_leaf_chunks(
        round.n_rows, n_leaves, width, n_threads,
        [&](std::int64_t begin, std::int64_t n, double* sums) {
            Derivatives<Real> rows(round, true);
            std::vector<double> unused(3 * static_cast<std::size_t>(round.n_thresholds));
            BlockSums whole{unused.data(),
                            unused.data() + round.n_thresholds,
                            unused.data() + 2 * round.n_thresholds,
                            0.0,
                            0,
                            0};
            for (std::int64_t at = begin; at < begin + n; at += kMarginBlock) {
                const int here = block_size(begin + n - at);
                run_block(round, at, here, whole, rows);
                const Real *slopes = rows.slope(), *bends = rows.bend();
                for (int i = 0; i < here; ++i) {
                    double* leaf = sums + static_cast<std::int64_t>(leaves[at + i]) * width;
                    for (int k = 0; k < round.n_scores; ++k) {
                        leaf[k] += static_cast<double>(slopes[k * kMarginStride + i]);
                        leaf[round.n_scores + k] += static_cast<double>(bends[k * kMarginStride + i]);
                    }
                }
            }
        },
        kMarginPass.row_ns);
}

template <class Real>
void add_leaf_vectors(const Real* scores, const std::int32_t* leaves, const Real* values, std::int64_t n_rows,
                      int n_scores, int n_leaves, Real* sums, int n_threads) {
    parallel_rows("move scores", n_rows, kScoreMoves, n_threads,
                  [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                      for (int k = 0; k < n_scores; ++k) {
                          const Real* of_leaf = values + static_cast<std::int64_t>(k) * n_leaves;
                          const Real* from = scores + k * n_rows;
                          Real* to = sums + k * n_rows;
                          for (std::int64_t i = begin; i < end; ++i) to[i] = from[i] + of_leaf[leaves[i]];
                      }
                  });
}

#define ORDINAL_INSTANTIATE(Real)                                                                           \
    template RoundSums margin_statistics<Real>(const MarginRound<Real>&, int);                              \
    template std::vector<double> margin_leaf_sums<Real>(const MarginRound<Real>&, const std::int32_t*, int, \
                                                        int);                                               \
    template void add_leaf_vectors<Real>(const Real*, const std::int32_t*, const Real*, std::int64_t, int,  \
                                         int, Real*, int);
ORDINAL_INSTANTIATE(float)
ORDINAL_INSTANTIATE(double)
#undef ORDINAL_INSTANTIATE

}  // namespace ordinal
