#include <algorithm>
#include <cmath>

#include "leaf_sums.hpp"
#include "parallel.hpp"

namespace ordinal {
namespace {

constexpr std::int64_t kChunk = 8192;

// How many of n ascending numbers are below x. No branch depends on x, so rows overlap in the processor.
inline int count_below(const double* numbers, int n, double x) {
    const double* first = numbers;
    while (n > 0) {
        const int half = (n + 1) / 2;
        first += first[half - 1] < x ? half : 0;
        n -= half;
    }
    return static_cast<int>(first - numbers);
}

template <class Body>
void over_chunks(std::int64_t n_rows, int n_threads, const Body& body) {
    parallel_blocks((n_rows + kChunk - 1) / kChunk, n_threads,
                    [&](std::int64_t c) { body(c, c * kChunk, std::min(n_rows, (c + 1) * kChunk)); });
}

}  // namespace

template <class Real>
LeafMatch match_leaves(const Real* before, const Real* after, std::int64_t n_rows,
                       const double* sorted_values, const std::int32_t* order, int n_leaves,
                       std::int32_t* leaves, int n_threads) {
    std::vector<double> middles(static_cast<std::size_t>(n_leaves) - 1);
    for (std::size_t j = 0; j < middles.size(); ++j)
        middles[j] = 0.5 * (sorted_values[j] + sorted_values[j + 1]);
    std::vector<LeafMatch> matches(static_cast<std::size_t>((n_rows + kChunk - 1) / kChunk));
    over_chunks(n_rows, n_threads, [&](std::int64_t c, std::int64_t begin, std::int64_t end) {
        LeafMatch match;
        for (std::int64_t i = begin; i < end; ++i) {
            const double now = static_cast<double>(after[i]);
            const double step = now - static_cast<double>(before[i]);
            const int j = count_below(middles.data(), n_leaves - 1, step);
            leaves[i] = order[j];
            match.worst_error = std::max(match.worst_error, std::abs(step - sorted_values[j]));
            match.largest_score = std::max(match.largest_score, std::abs(now));
        }
        matches[static_cast<std::size_t>(c)] = match;
    });
    LeafMatch worst;
    for (const LeafMatch& match : matches) {
        worst.worst_error = std::max(worst.worst_error, match.worst_error);
        worst.largest_score = std::max(worst.largest_score, match.largest_score);
    }
    return worst;
}

template LeafMatch match_leaves<float>(const float*, const float*, std::int64_t, const double*,
                                       const std::int32_t*, int, std::int32_t*, int);
template LeafMatch match_leaves<double>(const double*, const double*, std::int64_t, const double*,
                                        const std::int32_t*, int, std::int32_t*, int);

void add_leaf_values(const double* raw, const std::int32_t* leaves, const double* values, std::int64_t n_rows,
                     double* sums, int n_threads) {
    over_chunks(n_rows, n_threads, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) sums[i] = raw[i] + values[leaves[i]];
    });
}

}  // namespace ordinal
