// The trees of a forest, added up: for all rows, and for each row those that were not grown on it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "threads/parallel.hpp"

namespace ordinal {

struct ForestSums {
    double* total;        // (n_rows,)
    double* out_of_bag;   // (n_rows,)
    std::int64_t* n_out;  // (n_rows,) trees in out_of_bag
};

// value: of each node. outside: n_outside rows that the tree was not grown on.
inline void add_tree_of_forest(const std::int32_t* leaf_of_row, const double* value, std::int64_t n_rows,
                               const std::uint32_t* outside, std::int64_t n_outside, const ForestSums& sums,
                               int n_threads) {
    const auto over = [&](std::int64_t n, const auto& add) {
        parallel_rows("add to forest", n, kForestSums, n_threads,
                      [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                          for (std::int64_t i = begin; i < end; ++i) add(i);
                      });
    };
    over(n_rows, [&](std::int64_t row) { sums.total[row] += value[leaf_of_row[row]]; });
    over(n_outside, [&](std::int64_t i) {
        sums.out_of_bag[outside[i]] += value[leaf_of_row[outside[i]]];
        sums.n_out[outside[i]] += 1;
    });
}

}  // namespace ordinal
