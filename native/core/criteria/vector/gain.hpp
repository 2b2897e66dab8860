// What a split is worth to leaves that move every threshold's margin, the thresholds held.
#pragma once

#include "criteria/limits.hpp"
#include "criteria/vector/value.hpp"
#include "simd/doubles.hpp"

namespace ordinal {
namespace {

inline Doubles gains(const VectorLeaf& leaf, const GrowthLimits& limits, const double* parent,
                     const Doubles* left, Doubles* scratch) {
    Doubles H_a{};
    for (int c = leaf.n_groups; c < 2 * leaf.n_groups; ++c) H_a += left[c];
    const Doubles H_b = leaf.hessian - H_a;
    const Flags allowed = (H_a >= limits.min_child_weight) & (H_b >= limits.min_child_weight) &
                          (H_a + limits.l2 > 0.0) & (H_b + limits.l2 > 0.0);
    const Doubles score = vector_score<2, Doubles>(
        leaf, [&](int side, int c) { return side == 0 ? left[c] : parent[c] - left[c]; }, scratch);
    return select(allowed, 0.5 * (score - leaf.parent_score) - limits.min_gain, Doubles{});
}

}  // namespace
}  // namespace ordinal
