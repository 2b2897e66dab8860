// What a split is worth to a tree that wants halves: n_a n_b / n.
#pragma once

#include "criteria/balanced/leaf.hpp"
#include "criteria/limits.hpp"
#include "simd/doubles.hpp"

namespace ordinal {
namespace {

inline Doubles gains(const BalancedLeaf& leaf, const GrowthLimits& limits, const double*, const Doubles* left,
                     Doubles*) {
    return left[0] * (leaf.n - left[0]) / leaf.n - limits.min_gain;
}

}  // namespace
}  // namespace ordinal
