// Categories by the score's Newton step.
#pragma once

#include "criteria/high_order/leaf.hpp"
#include "criteria/scalar/order.hpp"

namespace ordinal {
namespace {

inline void category_keys(const HighOrderLeaf&, const GrowthLimits&, const CategoryBins& bins) {
    keys_of_score(bins);
}

}  // namespace
}  // namespace ordinal
