// What leaves are worth whose steps move every threshold's margin: ordinal_objectives/leaves/vector.py in
// sums.
//
// A leaf's step u minimises sum_k [G_k u_k + 1/2 H_k u_k^2] + 1/2 l w^2 + 1/2 v P(u), w the mean of u, over
// steps that are the same for the s_k thresholds of a group k. Thresholds without a shift move by w: their
// Hessians add to l, their gradients are spread over the others.
//
// Templates over a number or a vector of candidates, in an unnamed namespace because gain.hpp is compiled
// once for each instruction set. One leaf, or the two sides of a split at once, which share divisions:
// `sums(side, c)` is the sum of column c.
#pragma once

#include "criteria/vector/leaf.hpp"

namespace ordinal {
namespace {

// Differences of rounded sums may fall below 0, which no Hessian does.
template <class Real>
inline Real not_negative(Real x) {
    return x > 0.0 ? x : Real{};
}

template <class Real>
inline void invert(const Real (&x)[1], Real (&inverse)[1]) {
    inverse[0] = 1.0 / x[0];
}

template <class Real>
inline void invert(const Real (&x)[2], Real (&inverse)[2]) {
    const Real both = 1.0 / (x[0] * x[1]);
    inverse[0] = x[1] * both;
    inverse[1] = x[0] * both;
}

// P = sum_k s_k (u_k - w)^2. With D = H + v s, p = sum s G/D and c = (l/n - v)/n the score is
// sum G^2/D - c p^2/q, and q = 1 + c sum s^2/D is written as a sum of what is not negative.
template <int kSides, class Real, class Sums>
inline Real ridge_score(const VectorLeaf& leaf, const Sums& sums, const Real (&of_mean)[kSides],
                        const Real (&rest)[kSides]) {
    Real own{}, p[kSides] = {}, flat[kSides] = {}, q[kSides] = {};
    for (int i = 0; i < leaf.n_shifted; ++i) {
        const int k = leaf.columns[i];
        const double size = leaf.sizes[i];
        Real H[kSides], D[kSides], inverse[kSides];
        for (int s = 0; s < kSides; ++s) {
            H[s] = not_negative(sums(s, leaf.n_groups + k));
            D[s] = H[s] + leaf.shift_l2 * size;
        }
        invert(D, inverse);
        for (int s = 0; s < kSides; ++s) {
            const Real G = sums(s, k) + size * rest[s];
            const Real step = G * inverse[s], of_size = size * inverse[s];
            own += G * step;
            p[s] += size * step;
            flat[s] += size * of_size;
            q[s] += H[s] * of_size;
        }
    }
    for (int s = 0; s < kSides; ++s) {
        const Real a = leaf.share * of_mean[s];
        own -= (a - leaf.shift_l2) * p[s] * p[s] / (q[s] + a * flat[s]);
    }
    return own;
}

// P = sum_k (u_{k+1} - u_k)^2. The matrix is tridiagonal, M, but for the term a = l/n^2 of all pairs. M is
// eliminated from the first threshold on: pivots v + e_k, the last one e_n without v, so that no difference
// loses digits where the Hessians are small. g and `ones` are what becomes of the gradient and of the sizes.
template <int kSides, class Real, class Sums>
inline Real smooth_score(const VectorLeaf& leaf, const Sums& sums, const Real (&of_mean)[kSides],
                         const Real (&rest)[kSides]) {
    const double v = leaf.shift_l2;
    Real own{}, e[kSides] = {}, g[kSides] = {}, ones[kSides] = {}, go[kSides] = {}, oo[kSides] = {};
    for (int i = 0; i < leaf.n_shifted; ++i) {
        const int k = leaf.columns[i];
        const double size = leaf.sizes[i];
        Real pivot[kSides], inverse[kSides];  // of the threshold before; e, g and ones are 0 before the first
        for (int s = 0; s < kSides; ++s) pivot[s] = e[s] + v;
        invert(pivot, inverse);
        for (int s = 0; s < kSides; ++s) {
            const Real factor = v * inverse[s], g_inverse = g[s] * inverse[s],
                       ones_inverse = ones[s] * inverse[s];
            own += g[s] * g_inverse;
            go[s] += g[s] * ones_inverse;
            oo[s] += ones[s] * ones_inverse;
            e[s] = not_negative(sums(s, leaf.n_groups + k)) + factor * e[s];
            g[s] = sums(s, k) + size * rest[s] + factor * g[s];
            ones[s] = size + factor * ones[s];
        }
    }
    for (int s = 0; s < kSides; ++s) {
        const Real a = leaf.share * leaf.share * of_mean[s], c = 1.0 + a * oo[s];
        own += (c * g[s] * g[s] - a * go[s] * (2.0 * ones[s] * g[s] + e[s] * go[s])) /
               (c * e[s] + a * ones[s] * ones[s]);
    }
    return own;
}

// Twice the values.
template <int kSides, class Real, class Sums>
inline Real vector_score(const VectorLeaf& leaf, const Sums& sums) {
    Real of_mean[kSides], rest[kSides];
    for (int s = 0; s < kSides; ++s) {
        of_mean[s] = Real{} + leaf.l2;
        rest[s] = Real{};
        for (int i = leaf.n_shifted; i < leaf.n_groups; ++i) {
            const int k = leaf.columns[i];
            rest[s] += sums(s, k);
            of_mean[s] += not_negative(sums(s, leaf.n_groups + k));
        }
        rest[s] *= leaf.share;
    }
    return leaf.smooth ? smooth_score<kSides, Real>(leaf, sums, of_mean, rest)
                       : ridge_score<kSides, Real>(leaf, sums, of_mean, rest);
}

}  // namespace
}  // namespace ordinal
