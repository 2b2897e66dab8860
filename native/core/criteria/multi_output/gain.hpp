// What a split is worth to leaves with several outputs.
#pragma once

#include "criteria/limits.hpp"
#include "criteria/multi_output/value.hpp"
#include "simd/doubles.hpp"

namespace ordinal {
namespace {

inline Doubles gains(const MultiOutputLeaf& leaf, const GrowthLimits& limits, const double* parent,
                     const Doubles* left, Doubles* scratch) {
    Doubles H_a{};
    double H = 0.0;
    each_curvature(leaf, [&](int c, double times) {
        H_a += times * left[c];
        H += times * parent[c];
    });
    const Doubles H_b = H - H_a;
    const Flags allowed = (H_a >= limits.min_child_weight) & (H_b >= limits.min_child_weight);
    const Doubles score = multi_output_score<2, Doubles>(
        leaf, [&](int side, int c) { return side == 0 ? left[c] : parent[c] - left[c]; }, scratch);
    return select(allowed, 0.5 * (score - leaf.parent_score) - limits.min_gain, Doubles{});
}

}  // namespace
}  // namespace ordinal
