// The step of order three or four of one leaf (ordinal_objectives/leaves/high_order.py has the formulas), for
// one number or a vector of them. Also compiled once for each instruction set: see simd/lanes.hpp.
#pragma once

namespace ordinal {
namespace {

// Longest step of order p in Newton steps, p - 1, and room for rounding.
constexpr double kLongest = 1.001;

// What the Taylor polynomial falls by at the step of its order, beyond half the Newton step's w^2 h. w is the
// Newton step, h > 0 the penalised curvature.
template <class Real>
inline Real raised_by_order(Real w, Real h, Real third, Real fourth, int order) {
    const Real one = w * 0.0 + 1.0;
    const Real eps = -w * third / h;
    const Real kappa = order > 3 ? w * w * fourth / h : one - 1.0;
    const Real above = order > 3 ? one - 0.5 * eps : one;
    const Real below = order > 3 ? one - eps + kappa / 6.0 : one - 0.5 * eps;
    const auto stands = (above > 0.0) & (above <= (order - 1) * kLongest * below);
    const Real safe = stands ? below : one;
    const Real length = stands ? above / safe : one;
    const Real fall = length * (1.0 - 0.5 * length + length * length * (eps / 6.0 - kappa * length / 24.0));
    // The polynomial turns before a long step ends; the loss does not rise where Newton's shorter one falls.
    const Real at_newton = 0.5 + eps / 6.0 - kappa / 24.0;
    const Real best = (length > 1.0) & (fall < at_newton) ? at_newton : fall;
    const Real zero = one - 1.0;
    return stands ? w * w * h * (best - 0.5) : zero;
}

}  // namespace
}  // namespace ordinal
