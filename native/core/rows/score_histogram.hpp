// Histogram of the scores: how much weight lies where.
#pragma once

#include <cstdint>
#include <vector>

namespace ordinal {

// n_bins equal bins from `low`, `per_unit` of them to a unit of the score; rows beyond the range count in
// the first or the last bin.
struct ScoreBins {
    double low = 0.0;
    double per_unit = 1.0;
    int n_bins = 1;
};

// n of the rows; null for all. Those that are light, if any is, count by a factor.
struct SomeRows {
    const std::uint32_t* rows = nullptr;
    std::int64_t n = 0;
    const std::uint8_t* light = nullptr;  // (n,) or null
    double factor = 1.0;
};

// Returns (2, n_bins): the weight of the rows in each bin, and their weighted sum of scores. weight may be
// null. The same bytes for any number of threads.
std::vector<double> score_histogram(const double* scores, const double* weight, const SomeRows& rows,
                                    const ScoreBins& bins, int n_threads);

}  // namespace ordinal
