// What a split is worth to score and thresholds together.
//
// With A, r_A the system without the leaf and U = [L_a, L_b] the candidate's cross terms, the gain needs
// r_ab' S_ab^{-1} r_ab, S_ab = A - U diag(h)^{-1} U'. By Sherman, Morrison and Woodbury that takes the three
// numbers x = L_a' A^{-1} L_a, y = L_a.m, z = L_a.q and a 2 x 2 solve.
#pragma once

#include "criteria/joint/leaf.hpp"
#include "criteria/scalar/gain.hpp"

namespace ordinal {
namespace {

constexpr double kSingular = 1e-11;  // determinant relative to its first term

// v' D^{-1} v for D = [[d11, d12], [d12, d22]]. Where D is singular along (1, 1) only the part across counts.
inline Doubles solve_two(Doubles d11, Doubles d12, Doubles d22, Doubles v1, Doubles v2, bool gauge) {
    const Doubles product = d11 * d22;
    const Doubles determinant = product - d12 * d12;
    const Flags regular = determinant > kSingular * product;
    const Doubles safe = select(regular, determinant, Doubles{} + 1.0);
    const Doubles full = (d22 * v1 * v1 - 2.0 * d12 * v1 * v2 + d11 * v2 * v2) / safe;
    const Doubles spread = d11 - 2.0 * d12 + d22;
    const Flags has_spread = spread > 1e-300;
    const Doubles across = (v1 - v2) * (v1 - v2) / select(has_spread, spread, Doubles{} + 1.0);
    const Doubles flat = select(has_spread, across, Doubles{});
    return gauge ? flat : select(regular, full, flat);
}

// Twice the decrease by the step of leaf weights and thresholds, and -L.delta / h of both sides in that step.
struct JointStep {
    Doubles score, shift_a, shift_b;
};

// x of D x = v as in solve_two, and v' x. Where D is singular along (1, 1), that of the step whose delta has
// the sum 0.
inline void add_shifts(const JointLeaf& leaf, const Sides& two, const Doubles* carried, Doubles d11,
                       Doubles d12, Doubles d22, Doubles v1, Doubles v2, JointStep& step) {
    const Doubles one = Doubles{} + 1.0, product = d11 * d22;
    const Doubles determinant = product - d12 * d12;
    const Flags singular =
        determinant <= (leaf.gauge ? product : kSingular * product);  // never above product
    if (!leaf.gauge) {
        const Doubles inverse = 1.0 / select(singular, one, determinant);
        step.shift_a = (d22 * v1 - d12 * v2) * inverse;
        step.shift_b = (d11 * v2 - d12 * v1) * inverse;
        if (!any(singular)) {
            step.score += v1 * step.shift_a + v2 * step.shift_b;
            return;
        }
    }
    const Doubles spread = d11 - 2.0 * d12 + d22;
    const Flags has_spread = spread > 1e-300;
    const Doubles apart = select(has_spread, (v1 - v2) / select(has_spread, spread, one), Doubles{});
    Doubles sum_a{};
    for (int k = 0; k < leaf.n_carried; ++k) sum_a += leaf.ones[k] * carried[k];
    const Doubles sum_b = leaf.ones_m - sum_a;
    const Doubles rest = two.alpha * sum_a + two.beta * sum_b - leaf.ones_q - (sum_a - sum_b) * apart;
    const Doubles middle = rest * leaf.inverse_ones_m;
    step.score += select(singular, (v1 - v2) * apart, v1 * step.shift_a + v2 * step.shift_b);
    step.shift_a = select(singular, middle + apart, step.shift_a);
    step.shift_b = select(singular, middle - apart, step.shift_b);
}

template <bool kShifts>
inline JointStep joint_step(const JointLeaf& leaf, const Sides& two, const Doubles* left) {
    const Doubles alpha = two.alpha, beta = two.beta;
    JointStep step{two.G_a * alpha + two.G_b * beta, Doubles{}, Doubles{}};
    if (leaf.n_carried > 0) {
        Doubles x{}, y{}, z{};
        const Doubles* carried = left + leaf.first_carried;
        for (int k = 0; k < leaf.n_carried; ++k) {
            const double* row = leaf.inverse + k * leaf.n_carried;
            Doubles half{};
            for (int l = 0; l < k; ++l) half += row[l] * carried[l];
            x += (2.0 * half + row[k] * carried[k]) * carried[k];
            y += leaf.m[k] * carried[k];
            z += leaf.q[k] * carried[k];
        }
        const Doubles m12 = y - x;
        const Doubles m22 = leaf.pm - 2.0 * y + x;
        const Doubles rest = leaf.pq - z;
        const Doubles v1 = z - alpha * x - beta * m12;
        const Doubles v2 = rest - alpha * m12 - beta * m22;
        const Doubles others = leaf.r_A_q - 2.0 * (alpha * z + beta * rest) + alpha * alpha * x +
                               2.0 * alpha * beta * m12 + beta * beta * m22;
        const Doubles d11 = two.h_a - x, d22 = two.h_b - m22;
        if (kShifts) {
            step.score += others;
            add_shifts(leaf, two, carried, d11, -m12, d22, v1, v2, step);
        } else {
            step.score += others + solve_two(d11, -m12, d22, v1, v2, leaf.gauge);
        }
    }
    return step;
}

inline Doubles gains(const JointLeaf& leaf, const GrowthLimits& limits, const double* parent,
                     const Doubles* left, Doubles*) {
    const Sides two = sides(limits, parent, left);
    const Doubles score = joint_step<false>(leaf, two, left).score;
    return select(two.allowed, 0.5 * (score - leaf.parent_score) - limits.min_gain, Doubles{});
}

}  // namespace
}  // namespace ordinal
