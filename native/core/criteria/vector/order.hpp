// Categories along the direction in which their steps of all thresholds differ most.
#pragma once

#include "criteria/limits.hpp"
#include "criteria/principal_order.hpp"
#include "criteria/vector/leaf.hpp"

namespace ordinal {
namespace {

// The curvature is that of the ridge (value.hpp), also where shifts are smooth or few.
inline void category_keys(const VectorLeaf& leaf, const GrowthLimits&, const CategoryBins& bins) {
    const int d = leaf.n_shifted, n = leaf.n_groups;
    double *const diagonal = bins.scratch, *const across = diagonal + d;
    double of_mean = leaf.l2, flat = 0.0, q = 0.0;
    for (int i = d; i < n; ++i) of_mean += bins.parent[n + leaf.columns[i]];
    for (int i = 0; i < d; ++i) {
        const double H = bins.parent[n + leaf.columns[i]];
        diagonal[i] = 1.0 / ((H > 0.0 ? H : 0.0) + leaf.shift_l2 * leaf.sizes[i]);
        across[i] = leaf.sizes[i] * diagonal[i];
        flat += leaf.sizes[i] * across[i];
        q += H * across[i];
    }
    const double a = leaf.share * of_mean;
    const auto gradient = [&](const double* sums, int i) {
        double rest = 0.0;
        for (int j = d; j < n; ++j) rest += sums[leaf.columns[j]];
        return sums[leaf.columns[i]] + leaf.share * leaf.sizes[i] * rest;
    };
    const auto hessian = [&](const double* sums, int i) { return sums[n + leaf.columns[i]]; };
    principal_keys(bins, d, gradient, hessian, {diagonal, across, (a - leaf.shift_l2) / (q + a * flat)},
                   across + d);
}

}  // namespace
}  // namespace ordinal
