// Categories by the score's step, as if the thresholds stayed.
#pragma once

#include "criteria/joint/leaf.hpp"
#include "criteria/scalar/order.hpp"

namespace ordinal {
namespace {

inline void category_keys(const JointLeaf&, const GrowthLimits&, const CategoryBins& bins) {
    keys_of_score(bins);
}

}  // namespace
}  // namespace ordinal
