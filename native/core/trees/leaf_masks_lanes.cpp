// Leaves of a block of rows by masks, and what these leaves add to the scores.
#include "trees/leaf_masks.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {

void ORDINAL_PASTE(mask_leaves_, ORDINAL_ISA)(const NodeTest* tests, int n_tests, const double* block,
                                              std::uint64_t* reached) {
    for (int i = 0; i < kMaskRows; ++i) reached[i] = ~std::uint64_t{0};
    for (int t = 0; t < n_tests; ++t) {
        const NodeTest test = tests[t];
        const double* x = block + static_cast<std::int64_t>(test.feature) * kMaskRows;
        if (test.missing_left)
            for (int i = 0; i < kMaskRows; ++i)
                reached[i] &= x[i] > test.threshold ? test.kept : ~std::uint64_t{0};
        else
            for (int i = 0; i < kMaskRows; ++i)
                reached[i] &= x[i] <= test.threshold ? ~std::uint64_t{0} : test.kept;
    }
}

void ORDINAL_PASTE(add_values_, ORDINAL_ISA)(const double* values, int n_outputs, const std::int32_t* leaves,
                                             int n, double* scores) {
    if (n_outputs == 1) {
        for (int i = 0; i < n; ++i) scores[i] += values[leaves[i]];
        return;
    }
    for (int i = 0; i < n; ++i, scores += n_outputs) {
        const double* value = values + static_cast<std::int64_t>(leaves[i]) * n_outputs;
#pragma omp simd
        for (int k = 0; k < n_outputs; ++k) scores[k] += value[k];
    }
}

}  // namespace ordinal
