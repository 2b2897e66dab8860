// Logit link in float32 lanes, thresholds that move with x: one exponential for every margin.
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
inline void load_margins(const MarginRound<float>& round, std::int64_t at, int n, Floats* margins) {
    for (int k = 0; k < round.n_thresholds; ++k) {
        const float* from = round.scores + k * round.n_rows + at;
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
        if (sum(to_floats(select(any_crossed, all(1), Ints{}))) == 0.0f) return;
    }
}

template <bool kMajorized, Counts kCounts, bool kLoss>
void block(const MarginRound<float>& round, std::int64_t begin, int n, BlockSums& sums, float* slopes,
           float* bends, float* lanes) {
    constexpr bool kMasked = kCounts == Counts::beside, kCosts = kCounts == Counts::by_cost;
    const int width = round.n_thresholds;
    Floats *const u = reinterpret_cast<Floats*>(lanes), *const v = u + width, *const margins = v + width;
    for (int k = 0; k < width; ++k) u[k] = v[k] = Floats{};
    Floats loss = Floats{};
    Ints clipped = Ints{};
    for (int at = 0; at < n; at += kLanes) {
        const int here = n - at < kLanes ? n - at : kLanes;
        Ints y;
        Floats weight = all(1.0f);
        if (here == kLanes) {
            y = load(round.y + begin + at);
            if (round.weight) weight = load(round.weight + begin + at);
        } else {
            std::int32_t codes[kLanes] = {};
            float weights[kLanes] = {};
            for (int i = 0; i < here; ++i) {
                codes[i] = round.y[begin + at + i];
                weights[i] = round.weight ? round.weight[begin + at + i] : 1.0f;
            }
            y = load(codes);
            weight = load(weights);
        }
        load_margins(round, begin + at, here, margins);
        if (round.sorted) sort_margins(margins, width);
        Floats g = Floats{}, h = Floats{};
        Product product;
        Floats log = Floats{};
        Mask outside = Mask{};
        for (int k = 0; k < width; ++k) {
            const Floats inside = clamp(margins[k], -kReach, kReach);
            outside = outside | (inside != margins[k]);
            const Term term = one_term<kMajorized>(exp(inside), -inside, y > k);
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
                const Floats cost = lookup(round.costs + k, y * width);
                slope *= cost;
                bend *= cost;
                if (kLoss) log += cost * log_of(right, wrong);
            }
            g += slope;
            h += bend;
            u[k] += slope;
            v[k] += bend;
            if (slopes) {
                store(slopes + k * kMarginStride + at, slope);
                store(bends + k * kMarginStride + at, bend);
            }
            if (kLoss && !kCosts) product.take(right, wrong);
        }
        clipped += select(outside, all(1), Ints{});
        if (kLoss) loss -= weight * (kCosts ? log : product.log());
        if (round.gradient && here == kLanes) {
            store(round.gradient + begin + at, g);
            store(round.hessian + begin + at, h);
        } else if (round.gradient) {
            for (int i = 0; i < here; ++i) {
                round.gradient[begin + at + i] = lane(g, i);
                round.hessian[begin + at + i] = lane(h, i);
            }
        }
    }
    for (int k = 0; k < width; ++k) {
        sums.threshold_gradient[k] -= sum(u[k]);
        sums.threshold_hessian[k] += sum(v[k]);
    }
    if (kLoss) sums.loss += sum(loss);
    sums.n_clipped += static_cast<std::int64_t>(sum(to_floats(clipped)));
}

template <Counts kCounts>
MarginBlock pick(bool majorized, bool want_loss) {
    if (majorized) return want_loss ? block<true, kCounts, true> : block<true, kCounts, false>;
    return want_loss ? block<false, kCounts, true> : block<false, kCounts, false>;
}

MarginBlock pick_for(const MarginRound<float>& round) {
    switch (counts_of(round)) {
        case Counts::beside:
            return pick<Counts::beside>(round.majorized, round.want_loss);
        case Counts::by_cost:
            return pick<Counts::by_cost>(round.majorized, round.want_loss);
        default:
            return pick<Counts::all>(round.majorized, round.want_loss);
    }
}

}  // namespace

void ORDINAL_PASTE(margin_block_, ORDINAL_ISA)(const MarginRound<float>& round, std::int64_t begin, int n,
                                               BlockSums& sums, float* slopes, float* bends, float* lanes) {
    const MarginBlock run = pick_for(round);
    run(round, begin, n, sums, slopes, bends, lanes);
}

}  // namespace ordinal
