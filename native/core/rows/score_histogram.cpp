#include "rows/score_histogram.hpp"

#include <algorithm>

#include "threads/parallel.hpp"

namespace ordinal {
namespace {

constexpr std::int64_t kChunk = 1 << 17;  // rows, about 0.1 ms

// Two tables alternate: consecutive additions to one bin would wait for each other.
template <bool weighted>
void fill(const double* scores, const double* weight, std::int64_t n, const ScoreBins& bins, double* tables) {
    const double last = bins.n_bins - 1;
    for (std::int64_t i = 0; i < n; ++i) {
        const double place = std::clamp((scores[i] - bins.low) * bins.per_unit, 0.0, last);
        double* bin = tables + 2 * (static_cast<int>(place) + (i & 1) * bins.n_bins);
        const double w = weighted ? weight[i] : 1.0;
        bin[0] += w;
        bin[1] += w * scores[i];
    }
}

}  // namespace

std::vector<double> score_histogram(const double* scores, const double* weight, std::int64_t n_rows,
                                    const ScoreBins& bins, int n_threads) {
    const std::size_t n_bins = static_cast<std::size_t>(bins.n_bins), size = 4 * n_bins;
    const std::int64_t n_chunks = (n_rows + kChunk - 1) / kChunk;
    std::vector<double> chunks(static_cast<std::size_t>(n_chunks) * size, 0.0);
    parallel_blocks("score histogram", n_chunks, n_threads, [&](std::int64_t c) {
        const std::int64_t begin = c * kChunk, n = std::min(kChunk, n_rows - begin);
        double* tables = chunks.data() + static_cast<std::size_t>(c) * size;
        if (weight)
            fill<true>(scores + begin, weight + begin, n, bins, tables);
        else
            fill<false>(scores + begin, nullptr, n, bins, tables);
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
