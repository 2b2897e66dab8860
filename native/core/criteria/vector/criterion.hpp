// The vector criterion: leaves move the margin of every threshold, and do not depend on each other.
#pragma once

#include <cstdint>
#include <vector>

#include "criteria/limits.hpp"
#include "criteria/vector/value.hpp"

namespace ordinal {

class VectorCriterion {
  public:
    struct Input {
        int n_groups = 0;
        const std::int32_t* sizes = nullptr;  // (n_groups,) thresholds of each
        const bool* active = nullptr;         // (n_groups,) whether it takes a shift; one does
        double shift_l2 = 1.0;
        bool smooth = false;
        int most_shifted = kMostGroups;
    };

    struct Prepared {
        VectorLeaf own;
        const VectorLeaf& leaf() const { return own; }
    };

    VectorCriterion(const Input& input, const double*, const GrowthLimits& limits) {
        double n = 0.0;
        for (const bool shifted : {true, false})
            for (int k = 0; k < input.n_groups; ++k) {
                if (input.active[k] != shifted) continue;
                columns_.push_back(k);
                sizes_.push_back(input.sizes[k]);
                if (shifted) n += input.sizes[k];
                common_.n_shifted += shifted;
            }
        common_.n_groups = input.n_groups;
        common_.columns = columns_.data();
        common_.sizes = sizes_.data();
        common_.share = 1.0 / n;
        common_.l2 = limits.l2;
        common_.shift_l2 = input.shift_l2;
        common_.smooth = input.smooth;
        common_.most_shifted = input.most_shifted;
    }

    Prepared prepare(const double* sums) {
        Prepared prepared{common_};
        VectorLeaf& leaf = prepared.own;
        for (int c = leaf.n_groups; c < 2 * leaf.n_groups; ++c) leaf.hessian += sums[c];
        if (leaf.hessian + leaf.l2 > 0.0)
            leaf.parent_score =
                vector_score<1, double>(leaf, [&](int, int c) { return sums[c]; }, scratch_.data());
        return prepared;
    }

    void split(const double*, const double*, const double*) {}

  private:
    std::vector<std::int32_t> columns_;
    std::vector<double> sizes_;
    VectorLeaf common_;
    std::vector<double> scratch_ = std::vector<double>(kMostScratch);
};

}  // namespace ordinal
