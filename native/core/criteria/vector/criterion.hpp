// The vector criterion: leaves move the margin of every threshold, and know nothing of each other.
#pragma once

#include <cstdint>
#include <vector>

#include "criteria/limits.hpp"
#include "criteria/vector/value.hpp"

namespace ordinal {

class VectorCriterion {
  public:
    struct Input {
        int n_thresholds = 0;
        const bool* active = nullptr;  // (n_thresholds,) whether it takes a shift; one does
        double shift_l2 = 1.0;
        bool smooth = false;
    };

    struct Prepared {
        VectorLeaf own;
        const VectorLeaf& leaf() const { return own; }
    };

    VectorCriterion(const Input& input, const double*, const GrowthLimits& limits) : l2_(limits.l2) {
        for (const bool shifted : {true, false}) {
            for (int k = 0; k < input.n_thresholds; ++k)
                if (input.active[k] == shifted) columns_.push_back(k);
            if (shifted) n_shifted_ = static_cast<int>(columns_.size());
        }
        shift_l2_ = input.shift_l2;
        smooth_ = input.smooth;
    }

    Prepared prepare(const double* sums) const {
        Prepared prepared;
        VectorLeaf& leaf = prepared.own;
        leaf.n_thresholds = static_cast<int>(columns_.size());
        leaf.n_shifted = n_shifted_;
        leaf.columns = columns_.data();
        leaf.l2 = l2_;
        leaf.shift_l2 = shift_l2_;
        leaf.smooth = smooth_;
        for (int c = leaf.n_thresholds; c < 2 * leaf.n_thresholds; ++c) leaf.hessian += sums[c];
        if (leaf.hessian + l2_ > 0.0)
            leaf.parent_score = vector_score<1, double>(leaf, [&](int, int c) { return sums[c]; });
        return prepared;
    }

    void split(const double*, const double*, const double*) {}

  private:
    std::vector<std::int32_t> columns_;
    int n_shifted_ = 0;
    double l2_, shift_l2_ = 1.0;
    bool smooth_ = false;
};

}  // namespace ordinal
