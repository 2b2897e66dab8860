// A criterion that only a test knows.
#pragma once

#include "criteria/balanced/leaf.hpp"
#include "criteria/limits.hpp"

namespace ordinal {

class BalancedCriterion {
  public:
    struct Input {};

    struct Prepared {
        BalancedLeaf own;
        const BalancedLeaf& leaf() const { return own; }
    };

    BalancedCriterion(const Input&, const double*, const GrowthLimits&) {}

    Prepared prepare(const double* sums) const { return {{0.0, sums[0]}}; }
    void split(const double*, const double*, const double*) {}
};

}  // namespace ordinal
