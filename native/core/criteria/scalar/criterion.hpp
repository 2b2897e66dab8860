// The scalar criterion: leaves move the score, and do not depend on each other.
#pragma once

#include "criteria/limits.hpp"
#include "criteria/scalar/leaf.hpp"

namespace ordinal {

class ScalarCriterion {
  public:
    struct Input {};

    struct Prepared {
        ScalarLeaf own;
        const ScalarLeaf& leaf() const { return own; }
    };

    ScalarCriterion(const Input&, const double*, const GrowthLimits& limits) : l2_(limits.l2) {}

    Prepared prepare(const double* sums) const {
        const double h = sums[kHessian] + l2_;
        return {{h > 0.0 ? sums[kGradient] * sums[kGradient] / h : 0.0}};
    }

    void split(const double*, const double*, const double*) {}

  private:
    double l2_;
};

}  // namespace ordinal
