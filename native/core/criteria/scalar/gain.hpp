// What a split is worth to the score alone: G_a^2 / h_a + G_b^2 / h_b - G_p^2 / h_p, as in any booster.
#pragma once

#include "criteria/limits.hpp"
#include "criteria/scalar/leaf.hpp"
#include "simd/doubles.hpp"

namespace ordinal {
namespace {

// Both sides of a candidate: their Newton steps of the score.
struct Sides {
    Doubles G_a, G_b, h_a, h_b;
    Doubles alpha, beta;  // G / h
    Flags allowed;
};

inline Sides sides(const GrowthLimits& limits, const double* parent, const Doubles* left) {
    Sides two;
    two.G_a = left[kGradient];
    two.G_b = parent[kGradient] - two.G_a;
    const Doubles H_a = left[kHessian];
    const Doubles H_b = parent[kHessian] - H_a;
    two.h_a = H_a + limits.l2;
    two.h_b = H_b + limits.l2;
    two.allowed = (H_a >= limits.min_child_weight) & (H_b >= limits.min_child_weight) & (two.h_a > 0.0) &
                  (two.h_b > 0.0);
    two.alpha = two.G_a / select(two.allowed, two.h_a, Doubles{} + 1.0);
    two.beta = two.G_b / select(two.allowed, two.h_b, Doubles{} + 1.0);
    return two;
}

inline Doubles gains(const ScalarLeaf& leaf, const GrowthLimits& limits, const double* parent,
                     const Doubles* left, Doubles*) {
    const Sides two = sides(limits, parent, left);
    const Doubles score = two.G_a * two.alpha + two.G_b * two.beta;
    return select(two.allowed, 0.5 * (score - leaf.parent_score) - limits.min_gain, Doubles{});
}

}  // namespace
}  // namespace ordinal
