// What a split is worth where leaves take steps of order three or four: the joint step's gain, and what the
// order adds to the two leaves at the Newton weights of that step, less what it added to their parent. The
// other leaves' additions are kept.
#pragma once

#include "criteria/high_order/leaf.hpp"
#include "criteria/high_order/step.hpp"
#include "criteria/joint/gain.hpp"

namespace ordinal {
namespace {

// Both sides' additions; w_a, w_b are their Newton steps. Two quotients come of one division.
template <int kOrder>
inline Doubles raised_sides(const HighOrderLeaf& leaf, const Sides& two, Doubles w_a, Doubles w_b,
                            Doubles inverse_a, Doubles inverse_b, const double* parent, const Doubles* left) {
    const Doubles third = left[leaf.third];
    const Doubles fourth = kOrder > 3 ? left[leaf.third + 1] : Doubles{};
    const double of_parent = kOrder > 3 ? parent[leaf.third + 1] : 0.0;
    const auto a = long_step<kOrder>(w_a, inverse_a, third, fourth);
    const auto b = long_step<kOrder>(w_b, inverse_b, parent[leaf.third] - third, of_parent - fourth);
    const Doubles inverse = 1.0 / (a.below * b.below);
    return w_a * w_a * two.h_a * raised<kOrder>(a, a.above * b.below * inverse) +
           w_b * w_b * two.h_b * raised<kOrder>(b, b.above * a.below * inverse);
}

inline Doubles gains(const HighOrderLeaf& leaf, const GrowthLimits& limits, const double* parent,
                     const Doubles* left, Doubles*) {
    Sides two = sides(limits, parent, left);
    // A candidate that the limits forbid may be NaN.
    const Doubles inverse = 1.0 / (two.h_a * two.h_b);
    const Doubles inverse_a = two.h_b * inverse, inverse_b = two.h_a * inverse;
    two.alpha = two.G_a * inverse_a;
    two.beta = two.G_b * inverse_b;
    const JointStep step = joint_step<true>(leaf.joint, two, left);
    const Doubles w_a = step.shift_a - two.alpha, w_b = step.shift_b - two.beta;
    const Doubles raised = leaf.order > 3
                               ? raised_sides<4>(leaf, two, w_a, w_b, inverse_a, inverse_b, parent, left)
                               : raised_sides<3>(leaf, two, w_a, w_b, inverse_a, inverse_b, parent, left);
    const Doubles gain =
        0.5 * (step.score - leaf.joint.parent_score) + (raised - leaf.raised) - limits.min_gain;
    return select(two.allowed, gain, Doubles{});
}

}  // namespace
}  // namespace ordinal
