// The value of leaves with several outputs: ordinal_objectives/leaves/vector.py, from sums.
//
// Templates over a number or a vector of candidates, in an unnamed namespace because gain.hpp is compiled
// once for each instruction set. One leaf, or the two sides of a split at once, which share divisions:
// `sums(side, c)` is the sum of column c. Values are doubled throughout: G^2 / (H + l) of an output.
#pragma once

#include "criteria/limits.hpp"
#include "criteria/multi_output/leaf.hpp"
#include "criteria/selection.hpp"

namespace ordinal {
namespace {

// Turns several H + l into their inverses by one division; 0 where there is no curvature. Differences of
// rounded sums may fall below 0.
template <int n, class Real>
inline void invert(Real (&D)[n]) {
    Real safe[n], product[n];  // of the first ones
    for (int i = 0; i < n; ++i) {
        safe[i] = D[i] > 0.0 ? D[i] : Real{} + 1.0;
        product[i] = i == 0 ? safe[0] : product[i - 1] * safe[i];
    }
    Real rest = 1.0 / product[n - 1];
    for (int i = n - 1; i >= 0; --i) {
        const Real inverse = i == 0 ? rest : rest * product[i - 1];
        rest *= safe[i];
        D[i] = D[i] > 0.0 ? inverse : Real{};
    }
}

// Calls take(column, times) for the columns that the Hessians of all outputs add up from.
template <class Take>
inline void each_curvature(const MultiOutputLeaf& leaf, const Take& take) {
    if (leaf.hessian == OutputHessian::shared) return take(leaf.first_hessian, double(leaf.n_outputs));
    for (int j = 0, c = leaf.first_hessian; j < leaf.n_outputs; ++j) {
        c += leaf.hessian == OutputHessian::full && j > 0 ? j : 0;
        take(c++, 1.0);
    }
}

// Calls take(values of the sides) for each output.
template <int kSides, class Real, class Sums, class Take>
inline void each_output(const MultiOutputLeaf& leaf, const Sums& sums, const Take& take) {
    constexpr int kTogether = 2;  // outputs whose sides share a division
    const bool shared = leaf.hessian == OutputHessian::shared;
    const int step = shared ? leaf.n_outputs : kTogether;
    for (int j = 0; j < leaf.n_outputs; j += step) {
        const int end = j + step < leaf.n_outputs ? j + step : leaf.n_outputs;
        Real inverse[kSides * kTogether];
        for (int i = 0; i < kTogether; ++i)
            for (int s = 0; s < kSides; ++s)
                inverse[kSides * i + s] = i == 0 || (!shared && j + i < end)
                                              ? sums(s, leaf.first_hessian + j + i) + leaf.l2
                                              : Real{};
        invert(inverse);
        for (int o = j; o < end; ++o) {
            Real value[kSides];
            for (int s = 0; s < kSides; ++s) {
                const Real G = sums(s, o);
                value[s] = G * G * inverse[shared ? s : kSides * (o - j) + s];
            }
            take(value);
        }
    }
}

// G' (H + l I)^-1 G by elimination, row by row of the lower triangle: M = L D. In exact numbers no pivot is
// below l.
template <class Real, class Sums>
inline Real full_score(const MultiOutputLeaf& leaf, const Sums& sums, int side, Real* scratch) {
    constexpr int kSize = kMostFullOutputs;
    static_assert(kSize * (kSize + 2) <= kMostScratch, "what is put aside has room");
    Real(*const M)[kSize] = reinterpret_cast<Real(*)[kSize]>(scratch);
    Real *const inverse = scratch + kSize * kSize, *const x = inverse + kSize;
    Real score{};
    int column = leaf.first_hessian;
    for (int i = 0; i < leaf.n_outputs; ++i) {
        Real g = sums(side, i);
        for (int j = 0; j < i; ++j) {
            Real entry = sums(side, column++);
            for (int k = 0; k < j; ++k) entry -= M[i][k] * M[j][k] * inverse[k];
            M[i][j] = entry;
            g -= entry * x[j];
        }
        Real pivot = sums(side, column++) + leaf.l2;
        for (int k = 0; k < i; ++k) pivot -= M[i][k] * M[i][k] * inverse[k];
        inverse[i] = 1.0 / larger(pivot, Real{} + leaf.l2);
        x[i] = g * inverse[i];
        score += g * x[i];
    }
    return score;
}

template <int kSides, class Real, class Sums>
inline Real multi_output_score(const MultiOutputLeaf& leaf, const Sums& sums, Real* scratch) {
    Real score{};
    if (leaf.hessian == OutputHessian::full) {
        for (int s = 0; s < kSides; ++s) score += full_score<Real>(leaf, sums, s, scratch);
        return score;
    }
    if (leaf.most == leaf.n_outputs) {
        each_output<kSides, Real>(leaf, sums, [&](const Real(&value)[kSides]) {
            for (int s = 0; s < kSides; ++s) score += value[s];
        });
        return score;
    }
    if (leaf.restricted) {
        Selection<Real> chosen(leaf.n_outputs, leaf.most, scratch);
        each_output<kSides, Real>(leaf, sums, [&](const Real(&value)[kSides]) {
            Real both = value[0];
            for (int s = 1; s < kSides; ++s) both += value[s];
            chosen.take(both);
        });
        return chosen.sum();
    }
    Selection<Real> first(leaf.n_outputs, leaf.most, scratch);
    Selection<Real> second(leaf.n_outputs, leaf.most, scratch + leaf.n_outputs);
    each_output<kSides, Real>(leaf, sums, [&](const Real(&value)[kSides]) {
        first.take(value[0]);
        if (kSides == 2) second.take(value[kSides - 1]);
    });
    return kSides == 2 ? first.sum() + second.sum() : first.sum();
}

}  // namespace
}  // namespace ordinal
