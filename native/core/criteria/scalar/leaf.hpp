// Columns of a row: gradient and Hessian of the score.
#pragma once

namespace ordinal {

constexpr int kGradient = 0;
constexpr int kHessian = 1;

struct ScalarLeaf {
    double parent_score = 0.0;  // G^2 / h
};

}  // namespace ordinal
