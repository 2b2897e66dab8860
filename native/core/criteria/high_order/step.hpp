// Steps of order three and four (ordinal_objectives/leaves/scalar.py has the formulas), of one leaf or a
// vector of them. Also compiled once for each instruction set: see simd/lanes.hpp. The caller
// divides: it can share divisions.
#pragma once

namespace ordinal {
namespace {

// Longest step of order p in Newton steps, p - 1, and room for rounding.
constexpr double kRoom = 1.001;

// The step is above / below Newton steps long where it is valid (`stands`); elsewhere Newton's step is taken.
template <class Real, class Mask>
struct LongStep {
    Real third, fourth;  // epsilon / 6 and kappa / 24
    Real above, below;   // below is 1 where the step is not valid
    Mask stands;
};

// w: the Newton step.
template <int kOrder, class Real>
inline auto long_step(Real w, Real inverse_h, Real third, Real fourth) {
    const Real share = w * inverse_h;
    const Real epsilon = -share * third;
    const Real kappa = kOrder > 3 ? w * share * fourth : Real{};
    const Real half = 1.0 - 0.5 * epsilon;
    const Real above = kOrder > 3 ? half : Real{} + 1.0;
    const Real below = kOrder > 3 ? half - 0.5 * epsilon + (1.0 / 6) * kappa : half;
    const auto stands = (above > 0.0) & (above <= (kOrder - 1) * kRoom * below);
    return LongStep<Real, decltype((above > 0.0) & (above <= below))>{
        (1.0 / 6) * epsilon, (1.0 / 24) * kappa, above, stands ? below : Real{} + 1.0, stands};
}

// Decrease of the Taylor polynomial at this length, in units of w^2 h, less the 1/2 of a Newton step.
template <int kOrder, class Real, class Mask>
inline Real raised(const LongStep<Real, Mask>& step, Real length) {
    const Real cubic = kOrder > 3 ? step.third - step.fourth * length : step.third;
    Real rise = length * (1.0 + length * (length * cubic - 0.5)) - 0.5;
    if (kOrder > 3) {
        // A long step can end where the polynomial has risen again. At Newton's shorter step the loss falls,
        // so at least that decrease counts.
        const Real at_newton = step.third - step.fourth;
        rise = (length > 1.0) & (rise < at_newton) ? at_newton : rise;
    }
    return step.stands ? rise : Real{};
}

}  // namespace
}  // namespace ordinal
