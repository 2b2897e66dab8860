// What the joint step needs of the leaves of one tree: the leaf of each row, and sums over the rows of a
// leaf.
#pragma once

#include <cstdint>
#include <vector>

#include "rows/round.hpp"

namespace ordinal {

// One row a leaf, n_thresholds + 2 numbers each: the sums of gradient, of Hessian, and of the cross terms.
using LeafSums = std::vector<double>;

// `round` as it was passed to logit_statistics or link_statistics, whose gradients and Hessians are read.
// `leaves` holds numbers in [0, n_leaves). n_rows: of round.rows, if these are given. The same bytes for any
// number of threads.
LeafSums logit_leaf_sums(const LogitRound& round, const std::int32_t* leaves, int n_leaves,
                         std::int64_t n_rows, int n_threads);
LeafSums link_leaf_sums(const LinkRound& round, const std::int32_t* leaves, int n_leaves, std::int64_t n_rows,
                        int n_threads);

// Number of rows of each leaf.
std::vector<double> leaf_counts(const std::int32_t* leaves, int n_leaves, std::int64_t n_rows, int n_threads);

// How far the rows' steps were from the leaf values that were found for them, and the largest score.
struct LeafMatch {
    double worst_error = 0.0;
    double largest_score = 0.0;
};

// Finds each row's leaf from the change of its score: leaves[i] = order[j] where sorted_values[j] is nearest
// to after[i] - before[i].
template <class Real>
LeafMatch match_leaves(const Real* before, const Real* after, std::int64_t n_rows,
                       const double* sorted_values, const std::int32_t* order, int n_leaves,
                       std::int32_t* leaves, int n_threads);

// sums[i] = raw[i] + values[leaves[i]]
void add_leaf_values(const double* raw, const std::int32_t* leaves, const double* values, std::int64_t n_rows,
                     double* sums, int n_threads);

}  // namespace ordinal
