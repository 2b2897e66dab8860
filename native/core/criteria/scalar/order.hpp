// Categories by the score's step, G / H: of all ways to part them, the best is between two of these.
#pragma once

#include "criteria/category_bins.hpp"
#include "criteria/limits.hpp"
#include "criteria/scalar/leaf.hpp"

namespace ordinal {
namespace {

inline void keys_of_score(const CategoryBins& bins) {
    for (int b = 0; b < bins.n; ++b) {
        const double* sums = bins.bin(b);
        bins.keys[b] = sums[kHessian] > 0.0 ? sums[kGradient] / sums[kHessian] : 0.0;
    }
}

inline void category_keys(const ScalarLeaf&, const GrowthLimits&, const CategoryBins& bins) {
    keys_of_score(bins);
}

}  // namespace
}  // namespace ordinal
