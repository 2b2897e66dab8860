// Categories as they come.
#pragma once

#include "criteria/balanced/leaf.hpp"
#include "criteria/category_bins.hpp"
#include "criteria/limits.hpp"

namespace ordinal {
namespace {

inline void category_keys(const BalancedLeaf&, const GrowthLimits&, const CategoryBins& bins) {
    for (int b = 0; b < bins.n; ++b) bins.keys[b] = b;
}

}  // namespace
}  // namespace ordinal
