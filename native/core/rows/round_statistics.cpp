#include "rows/round_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "rows/gathered_rows.hpp"
#include "rows/logit_tables.hpp"
#include "rows/sum_chunks.hpp"
#include "simd/aligned.hpp"
#include "simd/dispatch.hpp"

namespace ordinal {
namespace {

// The lanes clip scores to their range around the thresholds. Beyond it every sigma is 0 or 1 and the loss is
// linear; its slope is the weight of the thresholds on the wrong side. This adds what the loss grows by
// there.
void add_loss_out_of_reach(const LogitRound& round, const LogitConstants& constants, std::int64_t begin,
                           std::int64_t n, BlockSums& sums) {
    const Counts counts = counts_of(round);
    const int last = round.n_thresholds;
    const auto weight_of = [&](int y, int first, int end) {
        if (counts == Counts::beside) return static_cast<double>(end > first);
        double total = 0.0;
        for (int k = first; k < end; ++k) total += cost_of(round, y, k);
        return total;
    };
    for (std::int64_t i = begin; i < begin + n; ++i) {
        const double f = round.raw64 ? round.raw64[i] : round.raw32[i];
        // Python checks the sums for NaN: an infinite score becomes one.
        if (std::isinf(f)) sums.threshold_gradient[0] = std::numeric_limits<double>::quiet_NaN();
        const double above = f - constants.center - constants.highest_score;
        const double below = constants.lowest_score - (f - constants.center);
        const int y = round.y[i];
        const double rise = above > 0.0   ? weight_of(y, y, last) * above
                            : below > 0.0 ? weight_of(y, 0, y) * below
                                          : 0.0;
        if (round.want_loss) sums.loss += rise * (round.weight ? round.weight[i] : 1.0f);
    }
}

// Cumulative link with logit = immediate threshold - log(1 - exp(-(theta_y - theta_{y-1}))): the last term
// depends on the weight of each inner class alone.
void add_gap_terms(const LogitRound& round, std::int64_t n_rows, RoundSums& total) {
    std::vector<double> class_weight(static_cast<std::size_t>(round.n_thresholds) + 1, 0.0);
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const std::int64_t row = round.rows ? round.rows[i] : i;
        const double factor = round.light && round.light[i] ? round.factor : 1.0;
        class_weight[static_cast<std::size_t>(round.y[row])] +=
            factor * (round.weight ? round.weight[row] : 1.0);
    }
    for (int k = 1; k < round.n_thresholds; ++k) {
        const std::size_t high = static_cast<std::size_t>(k);
        const double weight = class_weight[high];
        if (weight == 0.0) continue;
        const double gap = round.thresholds[k] - round.thresholds[k - 1];
        const double slope = -weight / std::expm1(gap);
        const double bend = weight / (-std::expm1(-gap) * std::expm1(gap));
        total.loss -= round.want_loss ? weight * std::log(-std::expm1(-gap)) : 0.0;
        total.threshold_gradient[high] += slope;
        total.threshold_gradient[high - 1] -= slope;
        total.threshold_hessian[high] += bend;
        total.threshold_hessian[high - 1] += bend;
        total.threshold_hessian_off[high - 1] -= bend;
    }
}

}  // namespace

RoundSums logit_statistics(const LogitRound& round, std::int64_t n_rows, int n_threads) {
    const int width = round.n_thresholds;
    const LogitTables tables(round);
    const LogitBlock block = active_instruction_set().logit_block;
    RoundSums total = sum_chunks(
        n_rows, kLanePass, width, n_threads, [&](std::int64_t begin, std::int64_t n, BlockSums& sums) {
            AlignedVector<float> lanes(lane_memory(2 * width));
            GatheredRows<float, float> gathered(round, round.rows ? kLaneBlock : 0);
            const auto add = [&](const LogitRound& some, std::int64_t first, std::int64_t n_some) {
                block(some, tables.constants, first, static_cast<int>(n_some), sums, lanes.data());
            };
            const auto add_lost = [&](const LogitRound& some, std::int64_t first, std::int64_t n_some) {
                if (sums.n_clipped > 0) add_loss_out_of_reach(some, tables.constants, first, n_some, sums);
            };
            for (std::int64_t at = 0; at < n; at += kLaneBlock) {
                const std::int64_t here = std::min<std::int64_t>(kLaneBlock, n - at);
                if (!round.rows) {
                    add(round, begin + at, here);
                    continue;
                }
                const LogitRound& some = gathered.take(begin + at, here);
                add(some, 0, here);
                add_lost(some, 0, here);
            }
            if (!round.rows) add_lost(round, begin, n);
        });
    if (round.loss == Loss::cumulative_link) add_gap_terms(round, n_rows, total);
    return total;
}

}  // namespace ordinal
