#include "rows/leaf_sums.hpp"

#include <algorithm>

#include "rows/gathered_rows.hpp"
#include "rows/leaf_chunks.hpp"
#include "rows/logit_tables.hpp"
#include "rows/round_statistics.hpp"
#include "simd/aligned.hpp"
#include "simd/dispatch.hpp"

namespace ordinal {

LeafSums logit_leaf_sums(const LogitRound& round, const std::int32_t* leaves, int n_leaves,
                         std::int64_t n_rows, int n_threads) {
    const LogitTables tables(round);
    const LeafBlock block = active_instruction_set().leaf_block;
    return sum_leaf_chunks(n_rows, n_leaves, round.n_thresholds + 2, n_threads,
                           [&](std::int64_t begin, std::int64_t n, double* sums) {
                               AlignedVector<LeafRows> rows(1);
                               std::int32_t some_leaves[kLaneBlock];
                               GatheredRows<float, float> gathered(round, round.rows ? kLaneBlock : 0);
                               for (std::int64_t at = begin; at < begin + n; at += kLaneBlock) {
                                   const int here =
                                       static_cast<int>(std::min<std::int64_t>(kLaneBlock, begin + n - at));
                                   if (round.rows)
                                       block(gathered.take_known(at, here, leaves, some_leaves),
                                             tables.constants, some_leaves, 0, here, rows.front(), sums);
                                   else
                                       block(round, tables.constants, leaves, at, here, rows.front(), sums);
                               }
                           });
}

LeafSums link_leaf_sums(const LinkRound& round, const std::int32_t* leaves, int n_leaves, std::int64_t n_rows,
                        int n_threads) {
    const std::size_t columns = static_cast<std::size_t>(round.n_thresholds);
    const int width = round.n_thresholds + 2;
    return sum_leaf_chunks(
        n_rows, n_leaves, width, n_threads, [&](std::int64_t begin, std::int64_t n, double* sums) {
            // The row kernel writes the cross terms of a few rows at a time; its other results are not used.
            std::vector<double> cross(kLaneBlock * columns), unused(2 * kLaneBlock);
            std::int32_t some_leaves[kLaneBlock];
            GatheredRows<double, double> gathered(round, round.rows ? kLaneBlock : 0);
            for (std::int64_t at = begin; at < begin + n; at += kLaneBlock) {
                const std::int64_t here = std::min<std::int64_t>(kLaneBlock, begin + n - at);
                const std::int32_t* of_rows = round.rows ? some_leaves : leaves + at;
                LinkRound part = round;
                if (round.rows) {
                    part = gathered.take_known(at, here, leaves, some_leaves);
                } else {
                    part.raw32 = round.raw32 ? round.raw32 + at : nullptr;
                    part.raw64 = round.raw64 ? round.raw64 + at : nullptr;
                    part.y = round.y + at;
                    part.weight = round.weight ? round.weight + at : nullptr;
                    part.gradient = round.gradient + at;
                    part.hessian = round.hessian + at;
                }
                const double *gradient = part.gradient, *hessian = part.hessian;
                part.want_loss = false;
                part.cross = cross.data();
                part.gradient = unused.data();
                part.hessian = unused.data() + kLaneBlock;
                link_statistics(part, here, 1);
                for (std::int64_t i = 0; i < here; ++i) {
                    double* leaf = sums + static_cast<std::int64_t>(of_rows[i]) * width;
                    leaf[0] += gradient[i];
                    leaf[1] += hessian[i];
                    const double* row = cross.data() + static_cast<std::size_t>(i) * columns;
                    for (std::size_t k = 0; k < columns; ++k) leaf[2 + k] += row[k];
                }
            }
        });
}

std::vector<double> leaf_counts(const std::int32_t* leaves, int n_leaves, std::int64_t n_rows,
                                int n_threads) {
    return sum_leaf_chunks(
        n_rows, n_leaves, 1, n_threads,
        [&](std::int64_t begin, std::int64_t n, double* sums) {
            for (std::int64_t i = begin; i < begin + n; ++i) sums[leaves[i]] += 1.0;
        },
        kLeafCounts.row_ns);
}

}  // namespace ordinal
