// The joint criterion: a split is worth what the best step of all leaf weights and thresholds together gains.
//
// Leaves enter through S = V - sum_j L_j L_j' / h_j and r = u - sum_j G_j L_j / h_j, h_j = H_j + l2, which a
// split changes by rank three. Without cross terms (n_cross = 0) this is the scalar criterion of any booster.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/tasks.hpp"

namespace ordinal {

struct GrowthLimits {
    int max_leaves = 31;
    int max_depth = 1 << 20;
    double min_samples_leaf = 20.0;
    double min_child_weight = 1e-3;
    double l2 = 0.0;
    double min_gain = 0.0;
};

// Where the thresholds stand: first and second derivatives over the rows that the tree is grown on.
struct ThresholdState {
    int n = 0;
    const double* gradient = nullptr;     // u (n,)
    const double* hessian = nullptr;      // V (n, n)
    const std::int32_t* group = nullptr;  // (n,) thresholds with the same number move together; -1 stays
    // The cross terms of all are L = W' carried, W (n_carried, n), of columns that rows and leaves carry.
    int first_carried = kCross;
    int n_carried = 0;
    const double* weights = nullptr;
};

// What the candidates of one leaf are judged with, in terms of the n_carried numbers that they carry.
struct LeafTerms {
    std::vector<double> inverse, m, q;
    double r_A_q = 0.0, pm = 0.0, pq = 0.0;
    double parent_score = 0.0;
    bool gauge = false;
};

class JointCriterion {
  public:
    // root: sums over all rows of the tree (row_width,).
    JointCriterion(const ThresholdState& thresholds, const double* root, double l2);

    LeafTerms terms(const double* leaf) const;

    // Replaces a leaf by its two children.
    void split(const double* parent, const double* left, const double* right);

    int first_carried() const { return first_carried_; }
    int n_carried() const { return n_carried_; }

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
