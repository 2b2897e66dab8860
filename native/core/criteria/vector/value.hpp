// What a leaf is worth whose step moves every threshold's margin: ordinal_objectives/leaves/vector.py in
// sums.
//
// Its step u minimises sum_k [G_k u_k + 1/2 H_k u_k^2] + 1/2 l w^2 + 1/2 v P(u), w the mean of u. Thresholds
// without a shift move by w: their Hessians add to l, their gradients are spread over the others.
//
// Templates over a number or a vector of candidates, in an unnamed namespace because gain.hpp is compiled
// once for each instruction set. `sums(c)` is the sum of column c.
#pragma once

#include "criteria/vector/leaf.hpp"

namespace ordinal {
namespace {

// Differences of rounded sums may fall below 0, which no Hessian does.
template <class Real>
inline Real not_negative(Real x) {
    return x > 0.0 ? x : Real{};
}

// P = sum_k (u_k - w)^2. With D = H + v, p = sum G/D and c = (l/n - v)/n the score is sum G^2/D - c p^2/q,
// and q = 1 + c sum 1/D is written as a sum of what is not negative.
template <class Real, class Sums>
inline Real ridge_score(const VectorLeaf& leaf, const Sums& sums, Real of_mean, Real spread) {
    const double share = 1.0 / leaf.n_shifted;
    Real own{}, p{}, flat{}, q{};
    for (int i = 0; i < leaf.n_shifted; ++i) {
        const int k = leaf.columns[i];
        const Real G = sums(k) + spread, H = not_negative(sums(leaf.n_thresholds + k));
        const Real inverse = 1.0 / (H + leaf.shift_l2);
        const Real step = G * inverse;
        own += G * step;
        p += step;
        flat += inverse;
        q += H * inverse;
    }
    q = share * (q + share * of_mean * flat);
    return own - share * (share * of_mean - leaf.shift_l2) * p * p / q;
}

// P = sum_k (u_{k+1} - u_k)^2. The matrix is tridiagonal, M, but for the term a = l/n^2 of all pairs. M is
// eliminated from the first threshold on: pivots v + e_k, the last one e_n without v, so that no difference
// loses digits where the Hessians are small. g and `one` are what becomes of the gradient and of the ones.
template <class Real, class Sums>
inline Real smooth_score(const VectorLeaf& leaf, const Sums& sums, Real of_mean, Real spread) {
    const int last = leaf.n_shifted - 1;
    const double v = leaf.shift_l2, share = 1.0 / leaf.n_shifted;
    const Real a = share * share * of_mean;
    Real e{}, g{}, one{}, gg{}, go{}, oo{};
    for (int i = 0; i <= last; ++i) {
        const int k = leaf.columns[i];
        const Real inverse = 1.0 / (e + v);  // of the pivot before; e = g = one = 0 before the first
        const Real factor = v * inverse;
        const Real g_inverse = g * inverse, one_inverse = one * inverse;
        gg += g * g_inverse;
        go += g * one_inverse;
        oo += one * one_inverse;
        e = not_negative(sums(leaf.n_thresholds + k)) + factor * e;
        g = sums(k) + spread + factor * g;
        one = 1.0 + factor * one;
    }
    const Real c = 1.0 + a * oo;
    return gg + (c * g * g - a * go * (2.0 * one * g + e * go)) / (c * e + a * one * one);
}

// Twice the value.
template <class Real, class Sums>
inline Real vector_score(const VectorLeaf& leaf, const Sums& sums) {
    Real of_mean = Real{} + leaf.l2, rest{};
    for (int i = leaf.n_shifted; i < leaf.n_thresholds; ++i) {
        const int k = leaf.columns[i];
        rest += sums(k);
        of_mean += not_negative(sums(leaf.n_thresholds + k));
    }
    rest /= static_cast<double>(leaf.n_shifted);
    return leaf.smooth ? smooth_score<Real>(leaf, sums, of_mean, rest)
                       : ridge_score<Real>(leaf, sums, of_mean, rest);
}

}  // namespace
}  // namespace ordinal
