// Logit link in float32 lanes, thresholds that move with x: one exponential for every score.
#include "rows/logit_lanes.hpp"
#include "rows/logit_term.hpp"
#include "rows/margins.hpp"
#include "simd/fetch.hpp"
#include "simd/lanes.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

constexpr float kReach = static_cast<float>(kMaxDistance);

// The processor does not foresee so many columns of scores at once.
constexpr int kAhead = 8 * kLanes;

// Margins of one vector of rows, at most kMaxThresholds each. The first `n` rows exist, the others are
// padding.
template <bool kShared>
inline void load_margins(const MarginRound<float>& round, std::int64_t at, int n, Floats* margins) {
    for (int k = 0; k < round.n_thresholds; ++k) {
        const float* from = round.scores + (kShared ? round.score_of[k] : k) * round.n_rows + at;
        const float theta = static_cast<float>(round.thresholds[k]);
        if (n == kLanes) {
            fetch(from + kAhead);
            margins[k] = theta - load(from);
        } else {
            float part[kLanes] = {};
            for (int i = 0; i < n; ++i) part[i] = theta - from[i];
            margins[k] = load(part);
        }
    }
}

// Sorts each lane by swaps of neighbours, until all are in order: they nearly are.
inline void sort_margins(Floats* margins, int n_thresholds) {
    for (int last = n_thresholds - 1; last > 0; --last) {
        Mask any_crossed = Mask{};
        for (int k = 0; k < last; ++k) {
            const Floats low = margins[k], high = margins[k + 1];
            const Mask crossed = low > high;
            margins[k] = select(crossed, high, low);
            margins[k + 1] = select(crossed, low, high);
            any_crossed = any_crossed | crossed;
        }
        if (!any_lane(any_crossed)) return;
    }
}

inline Floats load_rows(const float* from, int n) {
    if (n == kLanes) return load(from);
    float part[kLanes] = {};
    for (int i = 0; i < n; ++i) part[i] = from[i];
    return load(part);
}

struct Part {
    Floats slope, bend;
};

// One vector of rows, of which the first n exist, and sums over their thresholds.
template <bool kMajorized, Counts kCounts, bool kLoss>
struct Rows {
    static constexpr bool kMasked = kCounts == Counts::beside, kCosts = kCounts == Counts::by_cost;
    const MarginRound<float>& round;
    Floats *const u, *const v;  // over the rows of the block, of each threshold
    Ints y;
    Floats weight = all(1.0f), g = Floats{}, h = Floats{}, log = Floats{};
    Product product;
    Mask outside = Mask{};

    Rows(const MarginRound<float>& round_, std::int64_t at, int n, Floats* u_, Floats* v_)
        : round(round_), u(u_), v(v_) {
        if (n == kLanes) {
            y = load(round.y + at);
            if (round.weight) weight = load(round.weight + at);
            return;
        }
        std::int32_t codes[kLanes] = {};
        float weights[kLanes] = {};
        for (int i = 0; i < n; ++i) {
            codes[i] = round.y[at + i];
            weights[i] = round.weight ? round.weight[at + i] : 1.0f;
        }
        y = load(codes);
        weight = load(weights);
    }

    // Adds threshold k, with z and d of one_term.
    Part take(int k, Floats z, Floats d) {
        const Term term = one_term<kMajorized>(z, d, y > k);
        Floats slope = weight * select(term.above, -term.wrong, term.wrong);
        Floats bend = weight * term.curvature;
        Floats right = term.right, wrong = term.wrong;
        if (kMasked) {
            const Mask beside = (y == k) | (y == k + 1);
            slope = select(beside, slope, Floats{});
            bend = select(beside, bend, Floats{});
            right = select(beside, right, all(1.0f));
            wrong = select(beside, wrong, Floats{});
        }
        if (kCosts) {
            const Floats cost = lookup(round.costs + k, y * round.n_thresholds);
            slope *= cost;
            bend *= cost;
            if (kLoss) log += cost * log_of(right, wrong);
        }
        if (kLoss && !kCosts) product.take(right, wrong);
        g += slope;
        h += bend;
        u[k] += slope;
        v[k] += bend;
        return {slope, bend};
    }

    // Thresholds with a score each; writes the derivatives in the scores unless null.
    void take_margins(const Floats* margins, int at, float* slopes, float* bends) {
        const int width = round.n_thresholds;
        for (int k = 0; k < width; ++k) {
            const Floats inside = clamp(margins[k], -kReach, kReach);
            outside = outside | (inside != margins[k]);
            const Part part = take(k, exp(inside), -inside);
            if (slopes) {
                store(slopes + k * kMarginStride + at, part.slope);
                store(bends + k * kMarginStride + at, part.bend);
            }
        }
    }

    // Neighbouring thresholds that share scores: one exponential for each run of them, all of them first.
    // `lanes` holds two vectors for each run.
    void take_runs(const float* from, int n, int at, float* slopes, float* bends, Floats* lanes) {
        Floats *const scores = lanes, *const exps = lanes + round.n_runs;
        for (int r = 0; r < round.n_runs; ++r) {
            const MarginRun& run = round.runs[r];
            const Floats score = load_rows(from + run.score * round.n_rows, n) - run.center;
            scores[r] = clamp(score, run.lowest, run.highest);
            outside = outside | (scores[r] != score);
            exps[r] = exp(-scores[r]);
        }
        Floats all_g = Floats{}, all_h = Floats{};
        for (int r = 0; r < round.n_runs; ++r) {
            const MarginRun& run = round.runs[r];
            const Floats score = scores[r], t = exps[r];
            g = h = Floats{};
            for (int k = run.first; k < run.end; ++k) take(k, round.scale[k] * t, score - round.near[k]);
            all_g += g;
            all_h += h;
            if (!slopes) continue;
            // A score may have several runs, one after the other.
            const bool more = r > 0 && round.runs[r - 1].score == run.score;
            float* const to_g = slopes + run.score * kMarginStride + at;
            float* const to_h = bends + run.score * kMarginStride + at;
            store(to_g, more ? load(to_g) + g : g);
            store(to_h, more ? load(to_h) + h : h);
        }
        g = all_g;
        h = all_h;
    }
};

template <bool kMajorized, Counts kCounts, bool kLoss, bool kRuns>
void block(const MarginRound<float>& round, std::int64_t begin, int n, BlockSums& sums, float* slopes,
           float* bends, float* lanes) {
    const int width = round.n_thresholds;
    Floats *const u = reinterpret_cast<Floats*>(lanes), *const v = u + kParts * width;
    Floats* const margins = v + kParts * width;
    for (int k = 0; k < kParts * width; ++k) u[k] = v[k] = Floats{};
    Floats loss[kParts] = {};
    Ints clipped = Ints{};
    for (int at = 0; at < n; at += kLanes) {
        const int here = n - at < kLanes ? n - at : kLanes;
        const int part = part_of(at);
        Rows<kMajorized, kCounts, kLoss> rows(round, begin + at, here, u + part * width, v + part * width);
        if (kRuns) {
            rows.take_runs(round.scores + begin + at, here, at, slopes, bends, margins);
        } else {
            if (round.score_of)
                load_margins<true>(round, begin + at, here, margins);
            else
                load_margins<false>(round, begin + at, here, margins);
            if (round.sorted) sort_margins(margins, width);
            rows.take_margins(margins, at, slopes, bends);
        }
        clipped += select(rows.outside, all(1), Ints{});
        if (kLoss) loss[part] -= rows.weight * (kCounts == Counts::by_cost ? rows.log : rows.product.log());
        if (round.gradient && here == kLanes) {
            store(round.gradient + begin + at, rows.g);
            store(round.hessian + begin + at, rows.h);
        } else if (round.gradient) {
            for (int i = 0; i < here; ++i) {
                round.gradient[begin + at + i] = lane(rows.g, i);
                round.hessian[begin + at + i] = lane(rows.h, i);
            }
        }
    }
    for (int k = 0; k < width; ++k) {
        sums.threshold_gradient[k] -= sum(u + k, width);
        sums.threshold_hessian[k] += sum(v + k, width);
    }
    if (kLoss) sums.loss += sum(loss);
    for (int i = 0; i < kLanes; ++i) sums.n_clipped += static_cast<std::int64_t>(lane(to_floats(clipped), i));
}

template <Counts kCounts, bool kRuns>
MarginBlock pick(bool majorized, bool want_loss) {
    if (majorized) return want_loss ? block<true, kCounts, true, kRuns> : block<true, kCounts, false, kRuns>;
    return want_loss ? block<false, kCounts, true, kRuns> : block<false, kCounts, false, kRuns>;
}

template <bool kRuns>
MarginBlock pick_for(const MarginRound<float>& round) {
    switch (counts_of(round)) {
        case Counts::beside:
            return pick<Counts::beside, kRuns>(round.majorized, round.want_loss);
        case Counts::by_cost:
            return pick<Counts::by_cost, kRuns>(round.majorized, round.want_loss);
        default:
            return pick<Counts::all, kRuns>(round.majorized, round.want_loss);
    }
}

}  // namespace

void ORDINAL_PASTE(margin_block_, ORDINAL_ISA)(const MarginRound<float>& round, std::int64_t begin, int n,
                                               BlockSums& sums, float* slopes, float* bends, float* lanes) {
    const MarginBlock run = round.runs ? pick_for<true>(round) : pick_for<false>(round);
    run(round, begin, n, sums, slopes, bends, lanes);
}

}  // namespace ordinal
