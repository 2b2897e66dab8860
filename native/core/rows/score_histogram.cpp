#include "rows/score_histogram.hpp"

#include <algorithm>

#include "threads/parallel.hpp"

namespace ordinal {
namespace {

// Two tables alternate: consecutive additions to one bin would wait for each other.
template <bool weighted, bool some, bool light>
void fill(const double* scores, const double* weight, const SomeRows& rows, std::int64_t begin,
          std::int64_t end, const ScoreBins& bins, double* tables) {
    const double last = bins.n_bins - 1;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = some ? rows.rows[i] : i;
        const double place = std::clamp((scores[row] - bins.low) * bins.per_unit, 0.0, last);
        double* bin = tables + 2 * (static_cast<int>(place) + (i & 1) * bins.n_bins);
        double w = weighted ? weight[row] : 1.0;
        if (light && rows.light[i]) w *= rows.factor;
        bin[0] += w;
        bin[1] += w * scores[row];
    }
}

template <bool weighted>
auto pick(const SomeRows& rows) {
    if (rows.light) return fill<weighted, true, true>;
    return rows.rows ? fill<weighted, true, false> : fill<weighted, false, false>;
}

}  // namespace

std::vector<double> score_histogram(const double* scores, const double* weight, const SomeRows& rows,
                                    const ScoreBins& bins, int n_threads) {
    const std::size_t n_bins = static_cast<std::size_t>(bins.n_bins), size = 4 * n_bins;
    std::vector<double> chunks(static_cast<std::size_t>(kScoreHistogram.count(rows.n)) * size, 0.0);
    const auto fill_chunk = weight ? pick<true>(rows) : pick<false>(rows);
    parallel_rows("score histogram", rows.n, kScoreHistogram, n_threads,
                  [&](std::int64_t c, std::int64_t begin, std::int64_t end) {
                      fill_chunk(scores, weight, rows, begin, end, bins,
                                 chunks.data() + static_cast<std::size_t>(c) * size);
                  });
    std::vector<double> total(2 * n_bins, 0.0);
    for (std::size_t from = 0; from < chunks.size(); from += 2) {
        const std::size_t bin = from / 2 % n_bins;
        total[bin] += chunks[from];
        total[n_bins + bin] += chunks[from + 1];
    }
    return total;
}

}  // namespace ordinal
