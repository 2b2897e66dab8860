// Columns of a row: the derivatives of the loss in the score, by groups of thresholds that are shifted
// together: first all gradients, then all Hessians. A group may be a single threshold.
#pragma once

#include <cstdint>

namespace ordinal {

constexpr int kMostGroups = 511;  // whose columns fit into a row

struct VectorLeaf {
    double parent_score = 0.0;  // twice the leaf's value
    double hessian = 0.0;       // sum over the thresholds
    int n_groups = 0;
    int n_shifted = 0;                      // groups that take a shift, at least one
    const std::int32_t* columns = nullptr;  // (n_groups,) their numbers, then those of the others
    const double* sizes = nullptr;          // (n_groups,) thresholds of each, in the order of `columns`
    double share = 1.0;                     // 1 / n, n thresholds take a shift
    double l2 = 0.0;
    double shift_l2 = 1.0;
    bool smooth = false;
    int most_shifted = kMostGroups;  // groups with a shift of their own; the others are shifted alike
};

}  // namespace ordinal
