// The multi-output criterion (Zhang and Jung, GBDT-MO): a leaf moves every output, or the few worth most.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

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

    // A leaf of the newest split, or the root.
    Prepared prepare(const double* sums) {
        Prepared prepared{common_};
        const auto of_leaf = [&](int, int c) { return sums[c]; };
        if (moves_.empty()) {
            prepared.own.parent_score = multi_output_score<1, double>(common_, of_leaf, scratch_.data());
            return prepared;
        }
        int j = 0;
        each_output<1, double>(common_, of_leaf, [&](const double (&value)[1]) {
            if (moves_[j++]) prepared.own.parent_score += value[0];
        });
        return prepared;
    }

    // Restricted leaves keep the outputs that they share with their sibling, the first ones among equals.
    void split(const double*, const double* left, const double* right) {
        if (!common_.restricted || common_.most == common_.n_outputs) return;
        std::vector<double> worth;
        each_output<2, double>(
            common_, [&](int side, int c) { return side == 0 ? left[c] : right[c]; },
            [&](const double (&value)[2]) { worth.push_back(std::max(0.0, value[0] + value[1])); });
        std::vector<int> order(worth.size());
        std::iota(order.begin(), order.end(), 0);
        std::nth_element(order.begin(), order.begin() + common_.most, order.end(),
                         [&](int a, int b) { return worth[a] != worth[b] ? worth[a] > worth[b] : a < b; });
        moves_.assign(worth.size(), false);
        for (int i = 0; i < common_.most; ++i) moves_[order[i]] = true;
    }

  private:
    MultiOutputLeaf common_;
    std::vector<bool> moves_;  // outputs of the newest split's leaves; empty: each leaf moves its own
    std::vector<double> scratch_ = std::vector<double>(kMostScratch);
};

}  // namespace ordinal
