// Bins of a feature of categories, which have no order of their own: each criterion gives them one for a
// leaf. Also compiled once for each instruction set: see simd/lanes.hpp.
#pragma once

#include <cstdint>

namespace ordinal {

struct CategoryRules {
    double min_rows = 1.0;  // a category of fewer rows in a leaf goes where the leaf's missing values go
};

// Numbers that an order may put aside.
constexpr std::int64_t order_memory(int width) { return std::int64_t{256} * (width + 2) + 5 * width; }

// The categories of one leaf that have rows enough.
struct CategoryBins {
    const double* histogram;  // (bins, width)
    int width;
    const std::uint8_t* at;  // (n,) their bins
    int n;
    const double* parent;  // sums of the leaf (width,)
    int count;             // the column of the count
    double* scratch;       // order_memory(width) numbers
    double* keys;          // (n,) for the order to fill: categories with low keys go to the one side

    const double* bin(int i) const { return histogram + std::int64_t{at[i]} * width; }
};

}  // namespace ordinal
