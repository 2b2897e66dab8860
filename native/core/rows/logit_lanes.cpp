// Logit link in float32 lanes: gradient, Hessian and threshold sums of a few hundred rows at a time.
//
// With E_k = exp(theta_k - c) fixed for the round and t = exp(c - f), z = E_k t gives
// sigma(f - theta_k) = 1 / (1 + z): one exponential a row whatever the number of classes.
// The immediate-threshold loss is the same sum over the two thresholds beside the label (a mask), and the
// cumulative link with logit adds to it a term free of f (round_statistics.cpp). Costs of errors weigh each
// threshold by the label.
#include "rows/logit_lanes.hpp"

#include "rows/logit_term.hpp"
#include "simd/lanes.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

// The rows of one vector, all thresholds: sums over the row stay in registers, sums over the thresholds go to
// u and v, which the first-level cache holds.
template <bool kMajorized, Counts kCounts, bool kWeighted, bool kKeep, bool kHigher>
struct Vector {
    static constexpr bool kMasked = kCounts == Counts::beside, kCosts = kCounts == Counts::by_cost;
    Ints y;
    Floats weight;
    Floats g, h;
    Floats third, fourth;
    Floats log;  // of the probability of the label's side: the product over the thresholds

    // cross: where the first of n rows starts in the cross terms, or null.
    void run(const LogitRound& round, const LogitConstants& constants, Floats score, Floats* u, Floats* v,
             float* cross, int n) {
        const Floats t = exp(-score);
        g = h = third = fourth = log = Floats{};
        Product product;
        const Ints costs_of_class = y * round.n_thresholds;
        for (int k = 0; k < round.n_thresholds; ++k) {
            const Term term = one_term<kMajorized>(constants.scale[k] * t, score - constants.theta[k], y > k);
            Floats slope = select(term.above, -term.wrong, term.wrong);
            Floats bend = term.curvature;
            if (kWeighted) {
                slope *= weight;
                bend *= weight;
            }
            const Floats cost = kCosts ? lookup(round.costs + k, costs_of_class) : all(1.0f);
            if (kCosts) {
                slope *= cost;
                bend *= cost;
            }
            const Mask beside = (y == k) | (y == k + 1);  // used with kMasked only
            if (kMasked) {
                slope = select(beside, slope, Floats{});
                bend = select(beside, bend, Floats{});
            }
            g += slope;
            h += bend;
            u[k] += slope;
            v[k] += bend;
            if (kHigher) {
                third += bend * term.lean;
                fourth += bend * (1.0f - 6.0f * term.curvature);
            }
            if (kKeep) {
                const Floats right = kMasked ? select(beside, term.right, all(1.0f)) : term.right;
                const Floats wrong = kMasked ? select(beside, term.wrong, Floats{}) : term.wrong;
                if (kCosts)
                    log += cost * log_of(right, wrong);
                else
                    product.take(right, wrong);
                const int place = round.cross_places ? round.cross_places[k] : k;
                if (cross && place >= 0) {
                    Floats bend_here = -(term.right * term.wrong);
                    if (kWeighted) bend_here *= weight;
                    if (kCosts) bend_here *= cost;
                    if (kMasked) bend_here = select(beside, bend_here, Floats{});
                    float* to = cross + place;
                    for (int i = 0; i < n; ++i) to[i * round.cross_step] = lane(bend_here, i);
                }
            }
        }
        if (kKeep && !kCosts) log = product.log();
    }
};

// kLanes scores relative to the centre, of either type.
inline Floats load_scores(const LogitRound& round, const LogitConstants& constants, std::int64_t at) {
    if (round.raw32) return load(round.raw32 + at) - static_cast<float>(constants.center);
    float scores[kLanes];
    for (int i = 0; i < kLanes; ++i) scores[i] = static_cast<float>(round.raw64[at + i] - constants.center);
    return load(scores);
}

// Stores third and fourth derivatives one by one: rows are only a few numbers apart.
inline void store_higher(const LogitRound& round, std::int64_t at, int n, Floats third, Floats fourth) {
    float* to = round.higher + at * round.higher_step;
    for (int i = 0; i < n; ++i, to += round.higher_step) {
        to[0] = lane(third, i);
        if (round.n_higher > 1) to[1] = lane(fourth, i);
    }
}

template <bool kMajorized, Counts kCounts, bool kWeighted, bool kKeep, bool kHigher>
void block(const LogitRound& round, const LogitConstants& constants, std::int64_t begin, int n,
           BlockSums& sums, float* lanes) {
    const int width = round.n_thresholds;
    Floats *const u = reinterpret_cast<Floats*>(lanes), *const v = u + kParts * width;
    for (int k = 0; k < kParts * width; ++k) u[k] = v[k] = Floats{};
    Floats loss[kParts] = {};
    Ints clipped = Ints{};
    Vector<kMajorized, kCounts, kWeighted, kKeep, kHigher> rows{};
    const auto run = [&](Floats score, std::int64_t at, int n_rows) {
        const Floats inside = clamp(score, constants.lowest_score, constants.highest_score);
        clipped += select(inside == score, Ints{}, all(1));
        float* cross = kKeep && round.cross ? round.cross + at * round.cross_step : nullptr;
        const int part = part_of(static_cast<int>(at - begin));
        rows.run(round, constants, inside, u + part * width, v + part * width, cross, n_rows);
        if (kHigher) store_higher(round, at, n_rows, rows.third, rows.fourth);
        if (kKeep) loss[part] -= kWeighted ? rows.weight * rows.log : rows.log;
    };
    int i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        rows.y = load(round.y + begin + i);
        if (kWeighted) rows.weight = round.weight ? load(round.weight + begin + i) : all(1.0f);
        run(load_scores(round, constants, begin + i), begin + i, kLanes);
        store(round.gradient + begin + i, rows.g);
        store(round.hessian + begin + i, rows.h);
    }
    if (i < n) {
        // A last, partly filled vector is padded with rows of weight 0.
        float score[kLanes] = {}, weight[kLanes] = {}, g[kLanes], h[kLanes];
        std::int32_t y[kLanes] = {};
        const int rest = n - i;
        for (int j = 0; j < rest; ++j) {
            const std::int64_t at = begin + i + j;
            score[j] = round.raw32 ? round.raw32[at] - static_cast<float>(constants.center)
                                   : static_cast<float>(round.raw64[at] - constants.center);
            weight[j] = round.weight ? round.weight[at] : 1.0f;
            y[j] = round.y[at];
        }
        rows.y = load(y);
        rows.weight = load(weight);
        run(load(score), begin + i, rest);
        store(g, rows.g);
        store(h, rows.h);
        for (int j = 0; j < rest; ++j) {
            round.gradient[begin + i + j] = g[j];
            round.hessian[begin + i + j] = h[j];
        }
    }
    for (int j = 0; round.beside && j < n; ++j) {
        float* row = round.beside + (begin + j) * round.cross_step;
        row[0] = round.gradient[begin + j];
        row[1] = round.hessian[begin + j];
    }
    for (int k = 0; k < width; ++k) {
        sums.threshold_gradient[k] -= sum(u + k, width);
        sums.threshold_hessian[k] += sum(v + k, width);
    }
    if (round.want_loss) sums.loss += sum(loss);
    for (int j = 0; j < kLanes; ++j) sums.n_clipped += static_cast<std::int64_t>(lane(to_floats(clipped), j));
}

template <bool kMajorized, Counts kCounts, bool kHigher = false>
LogitBlock pick(bool weighted, bool keep) {
    if (weighted)
        return keep ? block<kMajorized, kCounts, true, true, kHigher>
                    : block<kMajorized, kCounts, true, false, kHigher>;
    return keep ? block<kMajorized, kCounts, false, true, kHigher>
                : block<kMajorized, kCounts, false, false, kHigher>;
}

template <Counts kCounts>
LogitBlock pick_of(const LogitRound& round, bool weighted, bool keep) {
    if (round.majorized) return pick<true, kCounts>(weighted, keep);
    return round.higher ? pick<false, kCounts, true>(weighted, keep) : pick<false, kCounts>(weighted, keep);
}

LogitBlock pick_for(const LogitRound& round, bool weighted, bool keep) {
    switch (counts_of(round)) {
        case Counts::beside:
            return pick_of<Counts::beside>(round, weighted, keep);
        case Counts::by_cost:
            return pick_of<Counts::by_cost>(round, weighted, keep);
        default:
            return pick_of<Counts::all>(round, weighted, keep);
    }
}

}  // namespace

void ORDINAL_PASTE(logit_block_, ORDINAL_ISA)(const LogitRound& round, const LogitConstants& constants,
                                              std::int64_t begin, int n, BlockSums& sums, float* lanes) {
    // Padded rows have weight 0.
    const bool weighted = round.weight || n % kLanes != 0;
    const LogitBlock run = pick_for(round, weighted, round.want_loss || round.cross);
    run(round, constants, begin, n, sums, lanes);
}

}  // namespace ordinal
