// What one row says of one threshold, in float64, with any link: the term of every sum over thresholds.
#pragma once

#include <algorithm>

#include "rows/link_kernel.hpp"
#include "rows/round.hpp"

namespace ordinal {

// Where terms grow like exp, the largest distance between a score and a threshold on its wrong side at which
// derivatives are taken: they must fit the output's type. The loss is summed in float64 and taken where the
// score is.
template <class L>
double limit_of(double given) {
    return L::kLimit == kNoLimit ? kNoLimit : std::min(given, L::kLimit);
}

// Raises a curvature to the link's floor, and counts it.
template <class L>
double floored(double curvature, BlockSums& sums) {
    if (L::kFloor == 0.0 || !(curvature < L::kFloor)) return curvature;
    ++sums.n_floored;
    return L::kFloor;
}

template <class L, bool kMajorized>
double majorized_or(double exact, double x) {
    if constexpr (kMajorized) return L::sharp_curvature(x);
    return exact;
}

struct ThresholdTerm {
    double value, slope;  // the slope in the threshold
    double bend;          // exact second derivative
    double curvature;     // that of the step: exact and floored, or majorised
};

// `distance` from the score to the threshold, theta_k - f; `above` if the label lies above it.
template <class L, bool kMajorized, bool kValue>
ThresholdTerm threshold_term(bool above, double distance, double limit, BlockSums& sums) {
    const double x = above ? std::min(distance, limit) : std::max(distance, -limit);
    PairTerms pair = above ? upper<L, kValue>(x) : L::template lower<kValue>(x);
    if (kValue && x != distance)
        pair.value = (above ? upper<L, true>(distance) : L::template lower<true>(distance)).value;
    const double bend = majorized_or<L, kMajorized>(pair.bend, x);
    return {pair.value, pair.slope, pair.bend, kMajorized ? bend : floored<L>(bend, sums)};
}

}  // namespace ordinal
