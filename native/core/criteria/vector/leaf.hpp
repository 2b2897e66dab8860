// Columns of a row: the derivatives of each threshold's loss in the score, first all gradients, then all
// Hessians.
#pragma once

#include <cstdint>

namespace ordinal {

constexpr int kMostShifted = 511;  // thresholds whose columns fit into a row

struct VectorLeaf {
    double parent_score = 0.0;  // twice the leaf's value
    double hessian = 0.0;       // sum over the thresholds
    int n_thresholds = 0;
    int n_shifted = 0;                      // thresholds that take a shift, at least one
    const std::int32_t* columns = nullptr;  // (n_thresholds,) their numbers, then those of the others
    double l2 = 0.0;
    double shift_l2 = 1.0;
    bool smooth = false;
};

}  // namespace ordinal
