#include "trees/row_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "simd/dispatch.hpp"
#include "threads/parallel.hpp"
#include "trees/draw.hpp"

namespace ordinal {
namespace {

constexpr double kDeviations = 4.0;      // half the range in which a limit is looked for
constexpr std::int64_t kGlanced = 4096;  // rows that tell where the limit of the gradients lies about

// What numbers are drawn for.
enum Stream : std::uint64_t { kRows, kOthers, kTies };

std::uint64_t key_of(std::uint64_t seed, std::uint64_t iteration, Stream stream) {
    return mixed(mixed(mixed(seed + kGolden) + iteration * kGolden) + stream);
}

// The number below which so large a share of all numbers lies.
std::uint64_t at_share(double share) {
    if (share <= 0.0) return 0;
    return share >= 1.0 ? kNever : static_cast<std::uint64_t>(std::ldexp(share, 64));
}

// Calls work(begin, n) for the batches of a block.
template <class Work>
void over_batches(std::int64_t block, std::int64_t n_rows, const Work& work) {
    const std::int64_t end = std::min(n_rows, (block + 1) * kDraw.rows);
    for (std::int64_t begin = block * kDraw.rows; begin < end; begin += kBatch)
        work(begin, std::min(kBatch, end - begin));
}

std::int64_t n_blocks(std::int64_t n_rows) { return kDraw.count(n_rows); }

// Where each block begins in a list of them all.
std::vector<std::int64_t> starts(const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> start(sizes.size() + 1, 0);
    std::partial_sum(sizes.begin(), sizes.end(), start.begin() + 1);
    return start;
}

}  // namespace

RowSampler::RowSampler(std::int64_t n_rows, const double* weight) : n_rows_(n_rows), n_eligible_(n_rows) {
    if (!weight) return;
    n_eligible_ = n_rows - std::count(weight, weight + n_rows, 0.0);
    if (n_eligible_ == n_rows) return;
    left_out_.resize(static_cast<std::size_t>(n_rows));
    std::transform(weight, weight + n_rows, left_out_.begin(), [](double one) { return one == 0.0; });
    std::int64_t n_before = 0;
    for (std::int64_t begin = 0; begin < n_rows; begin += kBatch) {
        const std::int64_t end = std::min(n_rows, begin + kBatch);
        n_before_.push_back(n_before);
        n_before += end - begin - std::count(weight + begin, weight + end, 0.0);
    }
}

template <class Work>
void RowSampler::over_eligible(std::int64_t begin, std::int64_t end, const Work& work) const {
    if (left_out_.empty()) return work(begin, end - begin, begin);
    std::int64_t place = n_before_[static_cast<std::size_t>(begin / kBatch)];
    const auto from = left_out_.begin();
    while ((begin = std::find(from + begin, from + end, 0) - from) < end) {
        const std::int64_t n = std::find(from + begin, from + end, 1) - from - begin;
        work(begin, n, place);
        begin += n;
        place += n;
    }
}

void RowSampler::draw_numbers(std::uint64_t key, std::int64_t begin, std::int64_t n,
                              std::uint64_t* numbers) const {
    const DrawNumbers draw = active_instruction_set().draw_numbers;
    if (!left_out_.empty()) std::fill(numbers, numbers + n, kNever);
    over_eligible(begin, begin + n, [&](std::int64_t first, std::int64_t n_here, std::int64_t place) {
        draw(key, place, n_here, numbers + (first - begin));
    });
}

// numbers(begin, n, buffer) returns those of some rows, of which n_below are to be below the limit.
template <class Numbers>
RowSampler::Limit RowSampler::limit_of(std::int64_t n_below, std::uint64_t low, std::uint64_t high,
                                       int n_threads, const Numbers& numbers) const {
    const CountBelow count = active_instruction_set().count_below;
    Limit limit;
    limit.below.assign(static_cast<std::size_t>(n_blocks(n_rows_)), 0);
    std::vector<std::vector<std::uint64_t>> between(limit.below.size());
    parallel_blocks(
        "draw", n_blocks(n_rows_), n_threads,
        [&](std::int64_t block) {
            std::uint64_t buffer[kBatch], found[kBatch + kBeyond];
            const std::size_t b = static_cast<std::size_t>(block);
            over_batches(block, n_rows_, [&](std::int64_t begin, std::int64_t n) {
                std::int64_t n_found = 0;
                limit.below[b] += count(numbers(begin, n, buffer), n, low, high, found, &n_found);
                between[b].insert(between[b].end(), found, found + n_found);
            });
        },
        kDraw.ns());
    std::vector<std::uint64_t> all;
    for (const auto& some : between) all.insert(all.end(), some.begin(), some.end());
    const std::int64_t place =
        n_below - std::accumulate(limit.below.begin(), limit.below.end(), std::int64_t{0});
    const std::int64_t n = static_cast<std::int64_t>(all.size());
    if ((place < 0 && low > 0) || (place > n && high < kNever))
        return limit_of(n_below, 0, kNever, n_threads, numbers);
    limit.number = high;
    if (place < n) {
        std::nth_element(all.begin(), all.begin() + place, all.end());
        limit.number = all[static_cast<std::size_t>(place)];
    }
    for (std::size_t b = 0; b < between.size(); ++b)
        limit.below[b] += std::count_if(between[b].begin(), between[b].end(),
                                        [&](std::uint64_t number) { return number < limit.number; });
    return limit;
}

// The same of n random numbers.
template <class Numbers>
RowSampler::Limit RowSampler::random_limit(std::int64_t n_below, std::int64_t n, int n_threads,
                                           const Numbers& numbers) const {
    const double share = static_cast<double>(n_below) / static_cast<double>(n);
    const double away = kDeviations * std::sqrt(share * (1.0 - share) / static_cast<double>(n));
    return limit_of(n_below, at_share(share - away), at_share(share + away), n_threads, numbers);
}

void RowSampler::draw(std::int64_t n_drawn, std::uint64_t seed, std::uint64_t iteration, int n_threads) {
    const InstructionSet& set = active_instruction_set();
    const std::uint64_t key = key_of(seed, iteration, kRows);
    const auto numbers = [&](std::int64_t begin, std::int64_t n, std::uint64_t* buffer) {
        draw_numbers(key, begin, n, buffer);
        return buffer;
    };
    const Limit limit = random_limit(n_drawn, n_eligible_, n_threads, numbers);
    const std::vector<std::int64_t> start = starts(limit.below);
    rows_.resize(static_cast<std::size_t>(n_drawn));
    outside_.resize(static_cast<std::size_t>(n_rows_ - n_drawn));
    parallel_blocks(
        "draw", n_blocks(n_rows_), n_threads,
        [&](std::int64_t block) {
            std::uint64_t buffer[kBatch];
            std::uint32_t found[kBatch + kBeyond];
            const std::int64_t before = start[static_cast<std::size_t>(block)];
            std::uint32_t *inside = rows_.data() + before,
                          *outside = outside_.data() + (block * kDraw.rows - before);
            over_batches(block, n_rows_, [&](std::int64_t begin, std::int64_t n) {
                numbers(begin, n, buffer);
                const auto list = [&](std::uint64_t below, std::uint32_t* to) {
                    const auto first = static_cast<std::uint32_t>(begin);
                    return std::copy(found, found + set.list_below(buffer, n, below, first, found), to);
                };
                inside = list(limit.number, inside);
                // What is not below the limit is below its complement in complements.
                for (std::int64_t i = 0; i < n; ++i) buffer[i] = ~buffer[i];
                outside = list(kNever - limit.number + 1, outside);
            });
        },
        kDraw.ns());
}

double RowSampler::draw_by_gradients(const float* columns, int width, int n_gradients, double top_rate,
                                     double other_rate, std::uint64_t seed, std::uint64_t iteration,
                                     int n_threads) {
    const InstructionSet& set = active_instruction_set();
    const std::uint64_t of_ties = key_of(seed, iteration, kTies),
                        of_others = key_of(seed, iteration, kOthers);
    by_size_.resize(static_cast<std::size_t>(n_rows_), kNever);
    std::vector<std::int64_t> with_hessian(static_cast<std::size_t>(n_blocks(n_rows_)), 0);
    parallel_blocks(
        "draw", n_blocks(n_rows_), n_threads,
        [&](std::int64_t block) {
            const std::int64_t begin = block * kDraw.rows, end = std::min(n_rows_, begin + kDraw.rows);
            over_eligible(begin, end, [&](std::int64_t first, std::int64_t n_here, std::int64_t place) {
                with_hessian[static_cast<std::size_t>(block)] +=
                    set.number_by_size(columns + first * width, width, n_gradients, of_ties, place, n_here,
                                       by_size_.data() + first);
            });
        },
        kDraw.ns());
    const std::int64_t n = std::accumulate(with_hessian.begin(), with_hessian.end(), std::int64_t{0});
    const auto share_of = [n](double rate) {
        return std::max<std::int64_t>(1, std::llrint(rate * static_cast<double>(n)));
    };
    const std::int64_t n_top = share_of(top_rate), n_others = share_of(other_rate);
    if (n_top + n_others >= n) return 0.0;

    // Some rows tell between which two of them the limit lies (R. Floyd and R. Rivest's SELECT).
    std::vector<std::uint64_t> some;
    for (std::int64_t i = 0; i < n_rows_; i += n_rows_ / kGlanced + 1)
        if (const std::uint64_t one = by_size_[static_cast<std::size_t>(i)]; one != kNever)
            some.push_back(one);
    std::sort(some.begin(), some.end());
    const double share = static_cast<double>(n_top) / static_cast<double>(n);
    const double middle = share * static_cast<double>(some.size());
    const double away = kDeviations * std::sqrt(middle * (1.0 - share)) + 2.0;
    const double last = static_cast<double>(some.size()) - 1.0;
    const std::uint64_t low = middle - away < 0.0 ? 0 : some[static_cast<std::size_t>(middle - away)];
    const std::uint64_t high = middle + away > last ? kNever : some[static_cast<std::size_t>(middle + away)];
    const Limit top =
        limit_of(n_top, low, high, n_threads, [&](std::int64_t begin, std::int64_t, std::uint64_t*) {
            return static_cast<const std::uint64_t*>(by_size_.data() + begin);
        });
    const auto numbers = [&](std::int64_t begin, std::int64_t n_here, std::uint64_t* buffer) {
        draw_numbers(of_others, begin, n_here, buffer);
        set.leave_out(by_size_.data() + begin, n_here, top.number, buffer);
        return buffer;
    };
    const Limit others = random_limit(n_others, n - n_top, n_threads, numbers);
    std::vector<std::int64_t> sizes(top.below.size());
    std::transform(top.below.begin(), top.below.end(), others.below.begin(), sizes.begin(), std::plus<>());
    const std::vector<std::int64_t> start = starts(sizes);
    rows_.resize(static_cast<std::size_t>(n_top + n_others));
    light_.resize(rows_.size());
    parallel_blocks(
        "draw", n_blocks(n_rows_), n_threads,
        [&](std::int64_t block) {
            std::uint64_t buffer[kBatch];
            std::uint32_t found[kBatch];
            std::uint8_t is_light[kBatch];
            std::size_t to = static_cast<std::size_t>(start[static_cast<std::size_t>(block)]);
            over_batches(block, n_rows_, [&](std::int64_t begin, std::int64_t n_here) {
                numbers(begin, n_here, buffer);
                std::size_t n_found = 0;
                for (std::int64_t i = 0; i < n_here; ++i) {
                    const bool is_other = buffer[i] < others.number;
                    found[n_found] = static_cast<std::uint32_t>(begin + i);
                    is_light[n_found] = is_other;
                    n_found += is_other | (by_size_[static_cast<std::size_t>(begin + i)] < top.number);
                }
                std::copy(found, found + n_found, rows_.data() + to);
                std::copy(is_light, is_light + n_found, light_.data() + to);
                to += n_found;
            });
        },
        kDraw.ns());
    return static_cast<double>(n - n_top) / static_cast<double>(n_others);
}

}  // namespace ordinal
