// Columns of a row: gradient and Hessian of the score, and the cross terms that are carried of it and the
// thresholds.
#pragma once

#include "criteria/scalar/leaf.hpp"

namespace ordinal {

constexpr int kCross = 2;
constexpr int kMostCross = 1000;

// With A, r_A the system of the thresholds without the leaf, in terms of the carried columns: L = W' carried.
struct JointLeaf {
    double parent_score = 0.0;  // G^2 / h + r' S^{-1} r
    int first_carried = kCross;
    int n_carried = 0;
    const double* inverse = nullptr;  // W A^{-1} W' (n_carried, n_carried)
    const double* m = nullptr;        // W A^{-1} L_p
    const double* q = nullptr;        // W A^{-1} r_A
    double r_A_q = 0.0, pm = 0.0, pq = 0.0;
    bool gauge = false;  // S is singular along the ones
    // Where S is singular, they select the step of the thresholds with sum 0 among the equally good ones.
    const double* ones = nullptr;       // W A^{-1} 1
    double ones_m = 0.0, ones_q = 0.0;  // 1' A^{-1} L_p, 1' A^{-1} r_A
    double inverse_ones_m = 0.0;
    double shift = 0.0;  // -L_p.delta / h of the leaf as it is
};

}  // namespace ordinal
