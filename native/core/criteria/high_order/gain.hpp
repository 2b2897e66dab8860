// What a split is worth where leaves take steps of order three or four: the joint step's gain, and what the
// order adds to the two leaves at the Newton weights of that step, less what it added to their parent. The
// other leaves' additions are kept.
#pragma once

#include "criteria/high_order/leaf.hpp"
#include "criteria/high_order/step.hpp"
#include "criteria/joint/gain.hpp"

namespace ordinal {
namespace {

inline Doubles gains(const HighOrderLeaf& leaf, const GrowthLimits& limits, const double* parent,
                     const Doubles* left) {
    const Sides two = sides(limits, parent, left);
    const JointStep step = joint_step<true>(leaf.joint, two, left);
    const Doubles one = Doubles{} + 1.0;
    const Doubles h_a = select(two.allowed, two.h_a, one), h_b = select(two.allowed, two.h_b, one);
    const Doubles* derivatives = left + leaf.third;
    const double* of_parent = parent + leaf.third;
    const Doubles fourth_a = leaf.order > 3 ? derivatives[1] : Doubles{};
    const Doubles fourth_b = leaf.order > 3 ? of_parent[1] - derivatives[1] : Doubles{};
    const Doubles third_a = derivatives[0], third_b = of_parent[0] - derivatives[0];
    const Doubles raised =
        raised_by_order<Doubles>(step.shift_a - two.alpha, h_a, third_a, fourth_a, leaf.order) +
        raised_by_order<Doubles>(step.shift_b - two.beta, h_b, third_b, fourth_b, leaf.order);
    const Doubles gain =
        0.5 * (step.score - leaf.joint.parent_score) + (raised - leaf.raised) - limits.min_gain;
    return select(two.allowed, gain, Doubles{});
}

}  // namespace
}  // namespace ordinal
