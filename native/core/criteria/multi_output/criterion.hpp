// The multi-output criterion (Zhang and Jung, GBDT-MO): a leaf moves every output, or the few worth most.
#pragma once

#include "criteria/limits.hpp"
#include "criteria/multi_output/value.hpp"

namespace ordinal {

class MultiOutputCriterion {
  public:
    using Input = MultiOutputLeaf;  // all but the parent's score; l2 is that of the limits

    struct Prepared {
        MultiOutputLeaf own;
        const MultiOutputLeaf& leaf() const { return own; }
    };

    MultiOutputCriterion(const Input& input, const double*, const GrowthLimits& limits) : common_(input) {
        common_.l2 = limits.l2;
    }

    Prepared prepare(const double* sums) const {
        Prepared prepared{common_};
        prepared.own.parent_score =
            multi_output_score<1, double>(common_, [&](int, int c) { return sums[c]; });
        return prepared;
    }

    void split(const double*, const double*, const double*) {}

  private:
    MultiOutputLeaf common_;
};

}  // namespace ordinal
