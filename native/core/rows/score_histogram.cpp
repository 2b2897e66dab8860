#include "rows/score_histogram.hpp"

#include <algorithm>

#include "threads/parallel.hpp"

namespace ordinal {
namespace {

constexpr std::int64_t kChunk = 1 << 17;  // rows, about 0.1 ms

// Two tables alternate: consecutive additions to one bin would wait for each other.
template <bool weighted, bool some>
void fill(const double* scores, const double* weight, const std::uint32_t* rows, std::int64_t begin,
          std::int64_t end, const ScoreBins& bins, double* tables) {
    const double last = bins.n_bins - 1;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = some ? rows[i] : i;
        const double place = std::clamp((scores[row] - bins.low) * bins.per_unit, 0.0, last);
        double* bin = tables + 2 * (static_cast<int>(place) + (i & 1) * bins.n_bins);
        const double w = weighted ? weight[row] : 1.0;
        bin[0] += w;
        bin[1] += w * scores[row];
    }
}

}  // namespace

std::vector<double> score_histogram(const double* scores, const double* weight, const std::uint32_t* rows,
                                    std::int64_t n_rows, const ScoreBins& bins, int n_threads) {
    const std::size_t n_bins = static_cast<std::size_t>(bins.n_bins), size = 4 * n_bins;
    const std::int64_t n_chunks = (n_rows + kChunk - 1) / kChunk;
    std::vector<double> chunks(static_cast<std::size_t>(n_chunks) * size, 0.0);
    parallel_blocks("score histogram", n_chunks, n_threads, [&](std::int64_t c) {
        double* tables = chunks.data() + static_cast<std::size_t>(c) * size;
        const auto run = [&](auto fill_chunk) {
            fill_chunk(scores, weight, rows, c * kChunk, std::min(n_rows, (c + 1) * kChunk), bins, tables);
        };
        if (weight)
            rows ? run(fill<true, true>) : run(fill<true, false>);
        else
            rows ? run(fill<false, true>) : run(fill<false, false>);
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
