// Categories along the direction in which their steps of all outputs differ most, by the diagonals of the
// Hessians.
#pragma once

#include "criteria/limits.hpp"
#include "criteria/multi_output/leaf.hpp"
#include "criteria/principal_order.hpp"

namespace ordinal {
namespace {

inline void category_keys(const MultiOutputLeaf& leaf, const GrowthLimits&, const CategoryBins& bins) {
    const int d = leaf.n_outputs;
    const auto gradient = [](const double* sums, int k) { return sums[k]; };
    const auto hessian = [&](const double* sums, int k) {
        const int column = leaf.hessian == OutputHessian::shared ? 0
                           : leaf.hessian == OutputHessian::full ? k * (k + 3) / 2
                                                                 : k;
        return sums[leaf.first_hessian + column];
    };
    double *const diagonal = bins.scratch, *const across = diagonal + d;
    for (int k = 0; k < d; ++k) {
        const double H = hessian(bins.parent, k) + leaf.l2;
        diagonal[k] = H > 0.0 ? 1.0 / H : 0.0;
        across[k] = 0.0;
    }
    principal_keys(bins, d, gradient, hessian, {diagonal, across, 0.0}, across + d);
}

}  // namespace
}  // namespace ordinal
