// What leaves with several outputs are worth: ordinal_objectives/leaves/multi_output.py in sums.
//
// Templates over a number or a vector of candidates, in an unnamed namespace because gain.hpp is compiled
// once for each instruction set. One leaf, or the two sides of a split at once, which share divisions:
// `sums(side, c)` is the sum of column c. Values are doubled throughout: G^2 / (H + l) of an output.
#pragma once

#include "criteria/multi_output/leaf.hpp"

namespace ordinal {
namespace {

template <class Real>
inline Real larger(Real a, Real b) {
    return a > b ? a : b;
}

template <class Real>
inline Real smaller(Real a, Real b) {
    return a > b ? b : a;
}

// 1 / (H + l) of the sides; 0 where that has no curvature. Rounded differences of sums may fall below 0.
template <class Real>
inline void inverse_curvature(const Real (&H)[1], double l2, Real (&inverse)[1]) {
    const Real D = H[0] + l2;
    inverse[0] = D > 0.0 ? 1.0 / D : Real{};
}

template <class Real>
inline void inverse_curvature(const Real (&H)[2], double l2, Real (&inverse)[2]) {
    const Real a = H[0] + l2, b = H[1] + l2;
    const Real both = 1.0 / ((a > 0.0 ? a : Real{} + 1.0) * (b > 0.0 ? b : Real{} + 1.0));
    inverse[0] = a > 0.0 ? (b > 0.0 ? b : Real{} + 1.0) * both : Real{};
    inverse[1] = b > 0.0 ? (a > 0.0 ? a : Real{} + 1.0) * both : Real{};
}

// Calls take(column, times) for the columns that the Hessians of all outputs add up from.
template <class Take>
inline void each_curvature(const MultiOutputLeaf& leaf, const Take& take) {
    if (leaf.hessian == OutputHessian::shared) return take(leaf.first_hessian, double(leaf.n_outputs));
    for (int j = 0, c = leaf.first_hessian; j < leaf.n_outputs; ++j) {
        c += leaf.hessian == OutputHessian::exact && j > 0 ? j : 0;
        take(c++, 1.0);
    }
}

// Calls take(values of the sides) for each output.
template <int kSides, class Real, class Sums, class Take>
inline void each_output(const MultiOutputLeaf& leaf, const Sums& sums, const Take& take) {
    Real H[kSides], inverse[kSides], value[kSides];
    const bool shared = leaf.hessian == OutputHessian::shared;
    for (int j = 0; j < leaf.n_outputs; ++j) {
        if (!shared || j == 0) {
            for (int s = 0; s < kSides; ++s) H[s] = sums(s, leaf.first_hessian + j);
            inverse_curvature(H, leaf.l2, inverse);
        }
        for (int s = 0; s < kSides; ++s) {
            const Real G = sums(s, j);
            value[s] = G * G * inverse[s];
        }
        take(value);
    }
}

// The largest of some values, or the smallest, in order: as few as need be.
template <class Real>
class Selection {
  public:
    // The sum of the `most` largest of n is asked for.
    Selection(int n, int most) : of_largest_(most <= n - most), size_(of_largest_ ? most : n - most) {
        for (int i = 0; i < size_; ++i) kept_[i] = Real{} + (of_largest_ ? -1.0 : kEnd);
    }

    void take(Real value) {
        total_ += value;
        if (of_largest_)
            for (int i = 0; i < size_; ++i) {
                const Real kept = kept_[i];
                kept_[i] = larger(kept, value);
                value = smaller(kept, value);
            }
        else
            for (int i = 0; i < size_; ++i) {
                const Real kept = kept_[i];
                kept_[i] = smaller(kept, value);
                value = larger(kept, value);
            }
    }

    Real sum() const {
        Real kept{};
        for (int i = 0; i < size_; ++i) kept += kept_[i];
        return of_largest_ ? kept : total_ - kept;
    }

  private:
    static constexpr double kEnd = 1e300;
    const bool of_largest_;
    const int size_;
    Real total_{};
    Real kept_[kMostOutputs / 2 + 1];
};

// G' (H + l I)^-1 G by elimination, row by row of the lower triangle: M = L D. In exact numbers no pivot is
// below l.
template <class Real, class Sums>
inline Real exact_score(const MultiOutputLeaf& leaf, const Sums& sums, int side) {
    constexpr int kSize = kMostExactOutputs;
    Real M[kSize][kSize], inverse[kSize], x[kSize], score{};
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
inline Real multi_output_score(const MultiOutputLeaf& leaf, const Sums& sums) {
    Real score{};
    if (leaf.hessian == OutputHessian::exact) {
        for (int s = 0; s < kSides; ++s) score += exact_score<Real>(leaf, sums, s);
        return score;
    }
    if (leaf.most == leaf.n_outputs) {
        each_output<kSides, Real>(leaf, sums, [&](const Real(&value)[kSides]) {
            for (int s = 0; s < kSides; ++s) score += value[s];
        });
        return score;
    }
    if (leaf.restricted) {
        Selection<Real> chosen(leaf.n_outputs, leaf.most);
        each_output<kSides, Real>(leaf, sums, [&](const Real(&value)[kSides]) {
            Real both = value[0];
            for (int s = 1; s < kSides; ++s) both += value[s];
            chosen.take(both);
        });
        return chosen.sum();
    }
    Selection<Real> first(leaf.n_outputs, leaf.most), second(first);
    each_output<kSides, Real>(leaf, sums, [&](const Real(&value)[kSides]) {
        first.take(value[0]);
        if (kSides == 2) second.take(value[kSides - 1]);
    });
    return kSides == 2 ? first.sum() + second.sum() : first.sum();
}

}  // namespace
}  // namespace ordinal
