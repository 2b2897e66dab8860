// The joint criterion: a split is worth what the best step of all leaf weights and thresholds together gains.
//
// Leaves enter through S = V - sum_j L_j L_j' / h_j and r = u - sum_j G_j L_j / h_j, h_j = H_j + l2, which a
// split changes by rank three.
#pragma once

#include <cstdint>
#include <vector>

#include "criteria/joint/leaf.hpp"
#include "criteria/limits.hpp"

namespace ordinal {

class JointCriterion {
  public:
    // Where the thresholds stand: first and second derivatives over the rows that the tree is grown on.
    struct Input {
        int n = 0;
        const double* gradient = nullptr;     // u (n,)
        const double* hessian = nullptr;      // V (n, n)
        const std::int32_t* group = nullptr;  // (n,) thresholds with the same number move together; -1 stays
        // The cross terms of all are L = W' carried, W (n_carried, n), of columns that rows and leaves carry.
        int first_carried = kCross;
        int n_carried = 0;
        const double* weights = nullptr;
    };

    // `own` points into the vectors, whose memory a move keeps.
    struct Prepared {
        JointLeaf own;
        std::vector<double> inverse, m, q, ones;

        Prepared() = default;
        Prepared(Prepared&&) = default;
        const JointLeaf& leaf() const { return own; }
    };

    // root: sums of the criterion's columns over all rows of the tree.
    JointCriterion(const Input& thresholds, const double* root, const GrowthLimits& limits);

    Prepared prepare(const double* sums) const;

    // Replaces a leaf by its two children.
    void split(const double* parent, const double* left, const double* right);

  private:
    void add_leaf(const double* leaf, double sign);
    std::vector<double> cross_terms(const double* leaf) const;

    int n_, first_carried_, n_carried_;
    const double* weights_;
    double l2_;
    double trace_ = 0.0;
    std::vector<std::int32_t> group_;
    int n_groups_ = 0;
    std::vector<double> S_, r_;
};

}  // namespace ordinal
