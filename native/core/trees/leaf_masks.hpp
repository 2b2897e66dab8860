// Leaves of raw rows without walks: every node of a tree is asked for all rows of a block, one after the
// other, and takes from each row that goes right the leaves on its left. The first leaf that is left is the
// row's (Lucchese et al., QuickScorer, SIGIR 2015).
#pragma once

#include <cstdint>

namespace ordinal {

constexpr int kMaskRows = 64;    // of a block
constexpr int kMaskLeaves = 64;  // a bit each, the leftmost first

struct NodeTest {
    double threshold;
    std::uint64_t kept;  // the leaves that a row on the right may still reach
    std::int32_t feature;
    std::int32_t missing_left;
};

// `block` has a column of kMaskRows values for each feature; `reached` takes each row's leaves.
using MaskLeaves = void (*)(const NodeTest* tests, int n_tests, const double* block, std::uint64_t* reached);
// Adds the values of each row's leaf to its scores, (n, n_outputs).
using AddValues = void (*)(const double* values, int n_outputs, const std::int32_t* leaves, int n,
                           double* scores);

#define ORDINAL_MASK_ENTRIES(isa)                                                \
    void mask_leaves_##isa(const NodeTest*, int, const double*, std::uint64_t*); \
    void add_values_##isa(const double*, int, const std::int32_t*, int, double*);
ORDINAL_MASK_ENTRIES(baseline)
ORDINAL_MASK_ENTRIES(avx2)
ORDINAL_MASK_ENTRIES(avx512)
#undef ORDINAL_MASK_ENTRIES

}  // namespace ordinal
