// Columns of a row: the gradients of all outputs, then Hessians. These are one an output, one for all outputs
// (it may be the count, where every row's is 1), or the lower triangle of a matrix, row by row.
#pragma once

namespace ordinal {

constexpr int kMostOutputs = 511;     // whose columns fit into a row
constexpr int kMostFullOutputs = 32;  // with a matrix each

enum class OutputHessian { shared, diagonal, full };

struct MultiOutputLeaf {
    double parent_score = 0.0;  // twice the leaf's value
    int n_outputs = 1;
    OutputHessian hessian = OutputHessian::diagonal;
    int first_hessian = 1;    // its column
    int most = 1;             // outputs that a leaf moves, those worth most
    bool restricted = false;  // the two sides of a split move the same ones
    double l2 = 0.0;
};

}  // namespace ordinal
