// One row after the other, in float64, for every loss and link.
#include <algorithm>
#include <cmath>
#include <limits>

#include "rows/gathered_rows.hpp"
#include "rows/round_statistics.hpp"
#include "rows/sum_chunks.hpp"
#include "rows/threshold_term.hpp"

namespace ordinal {
namespace {

inline double score(const LinkRound& round, std::int64_t i) {
    const double f = round.raw64 ? round.raw64[i] : round.raw32[i];
    // Python checks the sums for NaN: an infinite score becomes one.
    return std::isfinite(f) ? f : std::numeric_limits<double>::quiet_NaN();
}

// Rows with a threshold farther away than the limit.
template <class L>
std::int64_t count_clipped(const LinkRound& round, std::int64_t begin, std::int64_t n) {
    const auto ends = std::minmax_element(round.thresholds, round.thresholds + round.n_thresholds);
    const double low = *ends.second - limit_of<L>(round.limit);
    const double high = *ends.first + limit_of<L>(round.limit);
    std::int64_t count = 0;
    for (std::int64_t i = begin; i < begin + n; ++i) {
        const double f = score(round, i);
        count += f < low || f > high;
    }
    return count;
}

inline double weight(const LinkRound& round, std::int64_t i) { return round.weight ? round.weight[i] : 1.0; }

// All-threshold and immediate-threshold: a sum over thresholds, each on one side of the label.
template <class L, bool kMajorized, bool kValue>
void threshold_sum_rows(const LinkRound& round, std::int64_t begin, std::int64_t n, BlockSums& sums) {
    const bool all = counts_of(round) != Counts::beside;
    const double limit = limit_of<L>(round.limit);
    for (std::int64_t i = begin; i < begin + n; ++i) {
        const double f = score(round, i);
        const double w = weight(round, i);
        const int y = round.y[i];
        const int first = all ? 0 : std::max(y - 1, 0);
        const int last = all ? round.n_thresholds : std::min(y + 1, round.n_thresholds);
        double* cross = round.cross ? round.cross + i * round.n_thresholds : nullptr;
        if (cross) std::fill(cross, cross + round.n_thresholds, 0.0);
        double gradient = 0.0;
        double hessian = 0.0;
        for (int k = first; k < last; ++k) {
            const auto term =
                threshold_term<L, kMajorized, kValue>(y > k, round.thresholds[k] - f, limit, sums);
            const double cost = cost_of(round, y, k), of_term = w * cost;
            gradient -= cost * term.slope;
            hessian += cost * term.curvature;
            sums.threshold_gradient[k] += of_term * term.slope;
            sums.threshold_hessian[k] += of_term * term.curvature;
            if (kValue) sums.loss += of_term * term.value;
            if (cross) cross[k] = -of_term * term.bend;
        }
        round.gradient[i] = w * gradient;
        round.hessian[i] = w * hessian;
    }
}

// Third and fourth derivatives of the logit's losses: all of them are sums over thresholds as far as the
// score goes.
void logit_higher_rows(const LinkRound& round, std::int64_t begin, std::int64_t n) {
    for (std::int64_t i = begin; i < begin + n; ++i) {
        const double f = score(round, i);
        const bool all = counts_of(round) != Counts::beside;
        const int first = all ? 0 : std::max(round.y[i] - 1, 0);
        const int last = all ? round.n_thresholds : std::min(round.y[i] + 1, round.n_thresholds);
        double third = 0.0, fourth = 0.0;
        for (int k = first; k < last; ++k) {
            const double distance = f - round.thresholds[k];
            const double bend = LogitLink::lower<false>(distance).bend, cost = cost_of(round, round.y[i], k);
            third -= cost * bend * std::tanh(0.5 * distance);
            fourth += cost * bend * (1.0 - 6.0 * bend);
        }
        double* to = round.higher + i * round.higher_step;
        to[0] = weight(round, i) * third;
        if (round.n_higher > 1) to[1] = weight(round, i) * fourth;
    }
}

// Between the thresholds on both sides of the label; the lowest and the highest class have one threshold.
template <class L, bool kValue>
IntervalTerms between(const double* thresholds, int n_thresholds, int y, double f) {
    if (y == 0) {
        const PairTerms pair = L::template lower<kValue>(thresholds[0] - f);
        return {pair.value, 0.0, pair.slope, pair.slope, 0.0, pair.bend};
    }
    const double a = thresholds[y - 1] - f;
    if (y == n_thresholds) {
        const PairTerms pair = upper<L, kValue>(a);
        return {pair.value, pair.slope, 0.0, pair.slope, pair.bend, 0.0};
    }
    // Far from the score, a narrow gap can round to nothing although the thresholds differ.
    const double above_a = std::nextafter(a, std::numeric_limits<double>::infinity());
    return L::template interval<kValue>(a, std::max(thresholds[y] - f, above_a));
}

// Cumulative link. The majorised curvature replaces that of the two sides and leaves the gap term exact.
template <class L, bool kMajorized, bool kValue>
void cumulative_link_rows(const LinkRound& round, std::int64_t begin, std::int64_t n, BlockSums& sums) {
    const double limit = limit_of<L>(round.limit);
    for (std::int64_t i = begin; i < begin + n; ++i) {
        const double w = weight(round, i);
        const int y = round.y[i];
        const double given = score(round, i);
        double f = given;
        if (y > 0) f = std::max(f, round.thresholds[y - 1] - limit);
        if (y < round.n_thresholds) f = std::min(f, round.thresholds[y] + limit);
        IntervalTerms terms = between<L, kValue>(round.thresholds, round.n_thresholds, y, f);
        if (kValue && f != given)
            terms.value = between<L, true>(round.thresholds, round.n_thresholds, y, given).value;
        double hessian = 0.0;
        const auto add_side = [&](int k, double slope, double shift) {
            const double side = majorized_or<L, kMajorized>(shift, round.thresholds[k] - f);
            const double diagonal = side - terms.d_cross();
            hessian += side;
            sums.threshold_gradient[k] += w * slope;
            sums.threshold_hessian[k] += w * (kMajorized ? diagonal : floored<L>(diagonal, sums));
            if (round.cross) round.cross[i * round.n_thresholds + k] = -w * shift;
        };
        if (round.cross) {
            double* cross = round.cross + i * round.n_thresholds;
            std::fill(cross, cross + round.n_thresholds, 0.0);
        }
        if (y > 0) add_side(y - 1, terms.d_lower, terms.d_lower_shift);
        if (y < round.n_thresholds) add_side(y, terms.d_upper, terms.d_upper_shift);
        if (y > 0 && y < round.n_thresholds) sums.threshold_hessian_off[y - 1] += w * terms.d_cross();
        if (kValue) sums.loss += w * terms.value;
        round.gradient[i] = -w * terms.d_shift;
        round.hessian[i] = w * (kMajorized ? hessian : floored<L>(hessian, sums));
    }
}

template <class L, bool kMajorized, bool kValue>
void add_rows(const LinkRound& round, std::int64_t begin, std::int64_t n, BlockSums& sums) {
    if (round.loss == Loss::cumulative_link)
        cumulative_link_rows<L, kMajorized, kValue>(round, begin, n, sums);
    else
        threshold_sum_rows<L, kMajorized, kValue>(round, begin, n, sums);
    if (round.higher) logit_higher_rows(round, begin, n);
    sums.n_clipped += count_clipped<L>(round, begin, n);
}

template <class L, bool kMajorized, bool kValue>
RoundSums run(const LinkRound& round, std::int64_t n_rows, int n_threads) {
    return sum_chunks(n_rows, kLinkPass, round.n_thresholds, n_threads,
                      [&](std::int64_t begin, std::int64_t n, BlockSums& sums) {
                          if (!round.rows) return add_rows<L, kMajorized, kValue>(round, begin, n, sums);
                          GatheredRows<double, double> gathered(round, n);
                          add_rows<L, kMajorized, kValue>(gathered.take(begin, n), 0, n, sums);
                      });
}

template <class L>
struct LinkRows {
    static RoundSums with(const LinkRound& round, std::int64_t n_rows, int n_threads) {
        if constexpr (L::kMajorizes) {
            if (round.majorized)
                return round.want_loss ? run<L, true, true>(round, n_rows, n_threads)
                                       : run<L, true, false>(round, n_rows, n_threads);
        }
        return round.want_loss ? run<L, false, true>(round, n_rows, n_threads)
                               : run<L, false, false>(round, n_rows, n_threads);
    }
};

}  // namespace

RoundSums link_statistics(const LinkRound& round, std::int64_t n_rows, int n_threads) {
    return with_link<LinkRows>(round.link, round, n_rows, n_threads);
}

}  // namespace ordinal
