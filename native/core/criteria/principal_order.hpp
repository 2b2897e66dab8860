// An order of categories where leaves have several values. No order is exact then. But the steps that
// categories want spread most along one direction, and along it leaves have one value, for which the order is
// exact.
//
// In an unnamed namespace because order.hpp is compiled once for each instruction set.
#pragma once

#include "criteria/category_bins.hpp"

namespace ordinal {
namespace {

constexpr int kMostTurns = 16;
constexpr double kTurned = 1e-3;  // of the largest entry

// The inverse curvature of a leaf of d values: a diagonal less a matrix of rank one.
struct InverseCurvature {
    const double* diagonal;
    const double* across;
    double share;

    void times(int d, const double* x, double* product) const {
        double along = 0.0;
        for (int k = 0; k < d; ++k) along += across[k] * x[k];
        for (int k = 0; k < d; ++k) product[k] = diagonal[k] * x[k] - share * along * across[k];
    }
};

// Gradients of the categories beyond those at the leaf's own step.
struct Deviations {
    int n, d;
    double* rest;   // (d, n)
    double* share;  // (n,) of the leaf's Hessians
    double* along;  // (n,)

    // The length of a category's step, squared.
    double length(int b, const InverseCurvature& inverse) const {
        double sum = 0.0;
        for (int k = 0; k < d; ++k) sum += rest[k * n + b] * rest[k * n + b] * inverse.diagonal[k];
        return sum / share[b];
    }

    void project(const double* direction) const {
        for (int b = 0; b < n; ++b) along[b] = 0.0;
        for (int k = 0; k < d; ++k)
            for (int b = 0; b < n; ++b) along[b] += direction[k] * rest[k * n + b];
    }

    // sum_b rest_b rest_b' direction / share_b
    void spread(const double* direction, double* product) const {
        project(direction);
        for (int b = 0; b < n; ++b) along[b] /= share[b];
        for (int k = 0; k < d; ++k) {
            double sum = 0.0;
            for (int b = 0; b < n; ++b) sum += along[b] * rest[k * n + b];
            product[k] = sum;
        }
    }
};

// Makes the largest entry 1; false if there is none.
inline bool normalize(double* x, int d) {
    double largest = 0.0;
    for (int k = 0; k < d; ++k)
        if (x[k] > largest || -x[k] > (largest < 0.0 ? -largest : largest)) largest = x[k];
    if (!(largest > 1e-300 || largest < -1e-300)) return false;
    for (int k = 0; k < d; ++k) x[k] /= largest;
    return true;
}

// The first principal direction of the categories' steps, by the power method; false if they do not differ.
// buffer: 2 d numbers.
inline bool principal_direction(const Deviations& of, const InverseCurvature& inverse, double* direction,
                                double* buffer) {
    double *const gradient = buffer, *const next = buffer + of.d;
    int longest = 0;
    double most = -1.0;
    for (int b = 0; b < of.n; ++b) {
        const double length = of.length(b, inverse);
        if (length > most) longest = b;
        most = length > most ? length : most;
    }
    for (int k = 0; k < of.d; ++k) gradient[k] = of.rest[k * of.n + longest];
    inverse.times(of.d, gradient, direction);
    if (!normalize(direction, of.d)) return false;
    for (int turn = 0; turn < kMostTurns && of.d > 1; ++turn) {
        of.spread(direction, gradient);
        inverse.times(of.d, gradient, next);
        if (!normalize(next, of.d)) return false;
        bool settled = true;
        for (int k = 0; k < of.d; ++k) {
            const double change = next[k] - direction[k];
            settled = settled && change < kTurned && change > -kTurned;
            direction[k] = next[k];
        }
        if (settled) break;
    }
    return true;
}

// gradient(sums, k), hessian(sums, k): of value k of d, from the sums of a bin or of the leaf.
template <class Gradient, class Hessian>
inline void principal_keys(const CategoryBins& bins, int d, const Gradient& gradient, const Hessian& hessian,
                           const InverseCurvature& inverse, double* scratch) {
    const int n = bins.n;
    double *const rest = scratch, *const share = rest + n * d, *const along = share + n,
                  *const direction = along + n;
    double total = 0.0;
    for (int k = 0; k < d; ++k) total += hessian(bins.parent, k);
    for (int b = 0; b < n; ++b) share[b] = 0.0;
    for (int k = 0; k < d; ++k) {
        const double H = hessian(bins.parent, k), step = H > 0.0 ? gradient(bins.parent, k) / H : 0.0;
        for (int b = 0; b < n; ++b) {
            const double h = hessian(bins.bin(b), k);
            rest[k * n + b] = gradient(bins.bin(b), k) - h * step;
            share[b] += h;
        }
    }
    for (int b = 0; b < n; ++b) {
        share[b] = total > 0.0 ? share[b] / total : 0.0;
        if (!(share[b] > 1e-12)) share[b] = 1e-12;
    }
    const Deviations of{n, d, rest, share, along};
    if (!principal_direction(of, inverse, direction, direction + d)) {
        for (int b = 0; b < n; ++b) bins.keys[b] = 0.0;
        return;
    }
    of.project(direction);
    for (int b = 0; b < n; ++b) {
        double H = 0.0;
        for (int k = 0; k < d; ++k) H += direction[k] * direction[k] * hessian(bins.bin(b), k);
        bins.keys[b] = H > 0.0 ? along[b] / H : 0.0;
    }
}

}  // namespace
}  // namespace ordinal
