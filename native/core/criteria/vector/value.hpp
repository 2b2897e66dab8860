// The value of leaves that move the margin of every threshold: ordinal_objectives/leaves/vector.py, from
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

#include "criteria/limits.hpp"
#include "criteria/selection.hpp"
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

// The ridge where all but the `most_shifted` groups are shifted alike, as one group. Those that a shift of
// their own is worth most to, at the step of the score alone, (G + H w)^2 / (H + v s), have one.
template <class Real, class Sums>
inline Real sparse_score(const VectorLeaf& leaf, const Sums& sums, int side, Real of_mean, Real rest,
                         Real* scratch) {
    Real G{}, H = of_mean;
    for (int i = 0; i < leaf.n_shifted; ++i) {
        G += sums(side, leaf.columns[i]) + leaf.sizes[i] * rest;
        H += not_negative(sums(side, leaf.n_groups + leaf.columns[i]));
    }
    const Real w = H > 0.0 ? -G / H : Real{};
    Selection<Real> largest(leaf.n_shifted, leaf.most_shifted, scratch);
    static_assert(2 * kMostGroups <= kMostScratch, "what is put aside has room");
    Real* const worth = scratch + leaf.n_shifted;
    for (int i = 0; i < leaf.n_shifted; ++i) {
        const double size = leaf.sizes[i];
        const Real h = not_negative(sums(side, leaf.n_groups + leaf.columns[i]));
        const Real slope = sums(side, leaf.columns[i]) + size * rest + h * w;
        worth[i] = slope * slope / (h + leaf.shift_l2 * size);
        largest.take(worth[i]);
    }
    Real own{}, p{}, flat{}, q{}, G_alike{}, H_alike{}, size_alike{};
    const auto add = [&](Real g, Real h, Real size) {
        const Real inverse = size > 0.0 ? 1.0 / (h + leaf.shift_l2 * size) : Real{};
        own += g * g * inverse;
        p += size * g * inverse;
        flat += size * size * inverse;
        q += size * h * inverse;
    };
    for (int i = 0; i < leaf.n_shifted; ++i) {
        const auto chosen = largest.chosen(worth[i]);
        const Real g = sums(side, leaf.columns[i]) + leaf.sizes[i] * rest,
                   h = not_negative(sums(side, leaf.n_groups + leaf.columns[i])),
                   size = Real{} + leaf.sizes[i];
        add(chosen ? g : Real{}, chosen ? h : Real{}, chosen ? size : Real{});
        G_alike += chosen ? Real{} : g;
        H_alike += chosen ? Real{} : h;
        size_alike += chosen ? Real{} : size;
    }
    add(G_alike, H_alike, size_alike);
    const Real a = leaf.share * of_mean;
    return own - (a - leaf.shift_l2) * p * p / (q + a * flat);
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
inline Real vector_score(const VectorLeaf& leaf, const Sums& sums, Real* scratch) {
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
    if (leaf.most_shifted + 1 < leaf.n_shifted) {
        Real score{};
        for (int s = 0; s < kSides; ++s)
            score += sparse_score<Real>(leaf, sums, s, of_mean[s], rest[s], scratch);
        return score;
    }
    return leaf.smooth ? smooth_score<kSides, Real>(leaf, sums, of_mean, rest)
                       : ridge_score<kSides, Real>(leaf, sums, of_mean, rest);
}

}  // namespace
}  // namespace ordinal
