// The high-order criterion: a split is worth what the Taylor polynomial of the loss, of order three or four
// in the leaf weights and of order two in the thresholds, falls by at the step of that order.
//
// Thresholds and Newton weights are those of the joint step. Without thresholds it is the scalar criterion's.
#pragma once

#include "criteria/high_order/leaf.hpp"
#include "criteria/high_order/step.hpp"
#include "criteria/joint/criterion.hpp"

namespace ordinal {

class HighOrderCriterion {
  public:
    struct Input {
        JointCriterion::Input thresholds;  // n = 0: they stay
        int third = 3;                     // the column
        int order = 3;
    };

    struct Prepared {
        JointCriterion::Prepared joint;
        HighOrderLeaf own;
        const HighOrderLeaf& leaf() const { return own; }
    };

    HighOrderCriterion(const Input& input, const double* root, const GrowthLimits& limits)
        : joint_(input.thresholds, root, limits), third_(input.third), order_(input.order), l2_(limits.l2) {}

    Prepared prepare(const double* sums) const {
        Prepared prepared{joint_.prepare(sums), {}};
        HighOrderLeaf& own = prepared.own;
        own.joint = prepared.joint.leaf();
        own.parent_score = own.joint.parent_score;
        own.third = third_;
        own.order = order_;
        const double h = sums[kHessian] + l2_;
        if (h > 0.0) {
            const double newton = own.joint.shift - sums[kGradient] / h;
            own.raised = newton * newton * h *
                         (order_ > 3 ? raised_leaf<4>(newton, h, sums) : raised_leaf<3>(newton, h, sums));
        }
        return prepared;
    }

    void split(const double* parent, const double* left, const double* right) {
        joint_.split(parent, left, right);
    }

  private:
    template <int kOrder>
    double raised_leaf(double newton, double h, const double* sums) const {
        const auto step =
            long_step<kOrder>(newton, 1.0 / h, sums[third_], kOrder > 3 ? sums[third_ + 1] : 0.0);
        return raised<kOrder>(step, step.above / step.below);
    }

    JointCriterion joint_;
    int third_, order_;
    double l2_;
};

}  // namespace ordinal
