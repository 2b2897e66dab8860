// The best split of one leaf along one feature: several candidates at a time, by any criterion.
#include "criteria/every_gain.hpp"
#include "criteria/every_order.hpp"
#include "simd/doubles.hpp"
#include "trees/row_layout.hpp"
#include "trees/tasks.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

constexpr double kRounding = 1e-12;  // a gain below this share of the parent's score is no gain

#if defined(__AVX512F__)
// Columns 0..7 of eight rows.
inline void transpose(const __m512d* row, Doubles* column) {
    for (int odd = 0; odd < 2; ++odd) {
        __m512d pair[4];
        for (int i = 0; i < 4; ++i)
            pair[i] = odd ? _mm512_unpackhi_pd(row[2 * i], row[2 * i + 1])
                          : _mm512_unpacklo_pd(row[2 * i], row[2 * i + 1]);
        const __m512d a = _mm512_shuffle_f64x2(pair[0], pair[1], 0x88);
        const __m512d b = _mm512_shuffle_f64x2(pair[2], pair[3], 0x88);
        const __m512d c = _mm512_shuffle_f64x2(pair[0], pair[1], 0xdd);
        const __m512d d = _mm512_shuffle_f64x2(pair[2], pair[3], 0xdd);
        column[odd] = _mm512_shuffle_f64x2(a, b, 0x88);
        column[odd + 2] = _mm512_shuffle_f64x2(c, d, 0x88);
        column[odd + 4] = _mm512_shuffle_f64x2(a, b, 0xdd);
        column[odd + 6] = _mm512_shuffle_f64x2(c, d, 0xdd);
    }
}
#endif

// Cumulative sums of n <= kWide bins, those numbered `at`: they start from `sums`, which takes the last of
// them. Lane i of left[c] is column c of the sum through bin at[i].
inline void left_sums(const double* bins, const std::uint8_t* at, int n, int width, double* sums,
                      Doubles* left) {
#if defined(__AVX512F__)
    for (int c = 0; c < width; c += 8) {
        const __mmask8 columns = c + 8 <= width ? 0xff : 0x0f;  // widths are multiples of four
        __m512d sum = _mm512_maskz_loadu_pd(columns, sums + c), running[8];
        for (int i = 0; i < 8; ++i) {
            const double* bin = bins + static_cast<std::int64_t>(at[i]) * width + c;
            if (i < n) sum = _mm512_add_pd(sum, _mm512_maskz_loadu_pd(columns, bin));
            running[i] = sum;
        }
        _mm512_mask_storeu_pd(sums + c, columns, sum);
        transpose(running, left + c);
    }
#else
    for (int c = 0; c < width; c += 4) {
        double sum[4] = {sums[c], sums[c + 1], sums[c + 2], sums[c + 3]}, running[4 * kWide];
        for (int i = 0; i < kWide; ++i)
            for (int j = 0; j < 4; ++j) {
                if (i < n) sum[j] += bins[static_cast<std::int64_t>(at[i]) * width + c + j];
                running[4 * i + j] = sum[j];
            }
        for (int j = 0; j < 4; ++j) {
            sums[c + j] = sum[j];
            left[c + j] = column(running + j, 4);
        }
    }
#endif
}

// Takes the best of n candidates, at the bins `at`, if it beats the best so far. Usually none does, which one
// comparison of all candidates finds.
inline void take_best(Doubles gain, int n, const std::uint8_t* at, bool missing_left, Candidate& best) {
    if (!any(gain > best.gain * (1.0 + kTie))) return;
    for (int i = 0; i < n; ++i)
        if (lane(gain, i) > best.gain * (1.0 + kTie)) best = {lane(gain, i), {at[i], missing_left}};
}

// Whether the Newton steps of the score on both sides of candidates keep the order that is asked for.
inline Flags in_order(const ScanTask& task, const Doubles* left) {
    Doubles g = Doubles{}, h = Doubles{}, all_g = Doubles{}, all_h = Doubles{};
    for (int c = 0; c < task.n_gradients; ++c) {
        const int of_hessian = task.n_gradients + c;
        g += left[c];
        h += left[of_hessian];
        all_g += task.parent[c];
        all_h += task.parent[of_hessian];
    }
    // -g / (h + l2) on the left and on the right, without a division.
    const Doubles l2 = Doubles{} + task.limits->l2;
    const Doubles rise = g * (all_h - h + l2) - (all_g - g) * (h + l2);
    return task.sign > 0 ? rise >= Doubles{} : rise <= Doubles{};
}

// left: column c holds entry c of kWide candidates' left sums.
template <class Leaf>
inline Doubles allowed_gains(const ScanTask& task, const Leaf& leaf, const Doubles* left, Doubles* scratch) {
    const Doubles n_a = left[task.count];
    const Doubles n_b = task.parent[task.count] - n_a;
    Flags enough = (n_a >= task.limits->min_samples_leaf) & (n_b >= task.limits->min_samples_leaf);
    if (task.sign != 0) enough = enough & in_order(task, left);
    return select(enough, gains(leaf, *task.limits, task.parent, left, scratch), Doubles{});
}

static_assert(kWide <= kMostWide, "the memory of a scan has room");

// The bins of a feature in the order in which they go left one after the other, and those that stay together.
struct Order {
    std::uint8_t at[kMissing + kWide] = {};
    int n = 0;
    int last = 0;           // all bins are on the left with this one
    const double* missing;  // sums of those that stay together
    bool any_missing;
};

// Bins in their own order. A bin without rows gives the same split as the bin before it, so wide rows skip
// it; the first bin is never skipped, since missing values alone may go left.
inline void own_order(const ScanTask& task, Order& order) {
    const std::int64_t width = task.width;
    order.missing = task.histogram + task.n_bins * width;
    order.any_missing = order.missing[task.count] > 0.0;
    // All bins on the left side are a split only if missing values go right.
    const int last_bin = order.any_missing ? task.n_bins : task.n_bins - 1;
    order.n = last_bin;
    order.last = task.n_bins - 1;
    for (int bin = 0; bin < kMissing; ++bin) order.at[bin] = static_cast<std::uint8_t>(bin);
    if (is_wide(task.width)) {
        order.n = 0;
        for (int bin = 0; bin < last_bin; ++bin) {
            order.at[order.n] = static_cast<std::uint8_t>(bin);
            order.n += bin == 0 || task.histogram[bin * width + task.count] > 0.0;
        }
    }
}

// Sorts bins by key, of equal keys the lower bin first.
inline void sort_bins(std::uint8_t* at, double* keys, int n) {
    const int steps[] = {57, 23, 10, 4, 1};
    for (const int step : steps)
        for (int i = step; i < n; ++i) {
            const double key = keys[i];
            const std::uint8_t bin = at[i];
            int j = i;
            for (; j >= step && (keys[j - step] > key || (keys[j - step] == key && at[j - step] > bin));
                 j -= step) {
                keys[j] = keys[j - step];
                at[j] = at[j - step];
            }
            keys[j] = key;
            at[j] = bin;
        }
}

// Bins of categories in the criterion's order. Those of few rows stay together, with the missing values.
template <class Leaf>
inline void category_order(const ScanTask& task, const Leaf& leaf, double* memory, Order& order) {
    const std::int64_t width = task.width;
    double *const keys = memory, *const together = memory + kMissing;
    for (int c = 0; c < width; ++c) together[c] = task.histogram[task.n_bins * width + c];
    int n = 0;
    for (int bin = 0; bin < task.n_bins; ++bin) {
        const double* sums = task.histogram + bin * width;
        if (sums[task.count] >= task.categories->min_rows) {
            order.at[n++] = static_cast<std::uint8_t>(bin);
        } else if (sums[task.count] > 0.0) {
            for (int c = 0; c < width; ++c) together[c] += sums[c];
        }
    }
    order.missing = together;
    order.any_missing = together[task.count] > 0.0;
    if (n == 0) return;
    category_keys(leaf, *task.limits,
                  CategoryBins{task.histogram, task.width, order.at, n, task.parent, task.count,
                               together + width, keys});
    sort_bins(order.at, keys, n);
    order.n = order.any_missing ? n : n - 1;
    order.last = order.at[n - 1];
}

// What the best of the ordered splits of n categories is expected to gain where they mean nothing, beyond a
// split of two, by noise of variance 1: n / pi for the larger n normal numbers, parted by their sign.
inline double gain_by_chance(int n) {
    constexpr double kPi = 3.14159265358979323846;
    return n > 2 ? (n - 2) / kPi : 0.0;
}

// The set of bins that go left. What stays together goes where most rows go if there is no row of it.
inline Split split_by_category(const ScanTask& task, const Order& order, Split best) {
    best.by_category = true;
    std::uint64_t listed[kSetWords] = {};
    double n_left = 0.0;
    const int n = order.any_missing ? order.n : order.n + 1;
    for (int i = 0, left = 1; i < n; ++i) {
        const int bin = order.at[i];
        const std::uint64_t bit = std::uint64_t{1} << (bin & 63);
        listed[bin >> 6] |= bit;
        if (left) best.left[bin >> 6] |= bit;
        if (left) n_left += task.histogram[std::int64_t{bin} * task.width + task.count];
        left = left && bin != best.last_left;
    }
    if (!order.any_missing) best.missing_left = 2.0 * n_left >= task.parent[task.count];
    if (best.missing_left)
        for (int i = 0; i < kSetWords; ++i) best.left[i] |= ~listed[i];
    best.last_left = 0;
    return best;
}

template <class Leaf>
Candidate scan(const ScanTask& task, const Leaf& leaf) {
    const std::int64_t width = task.width;
    Doubles* const scratch = static_cast<Doubles*>(task.scratch);
    Doubles *const left = scratch + kMostScratch, *const with_missing = left + width + kColumnsBeyond;
    double* const sums = reinterpret_cast<double*>(with_missing + width);
    for (int c = 0; c < width; ++c) sums[c] = 0.0;
    Order order;
    if (task.categories)
        category_order(task, leaf, sums + width, order);
    else
        own_order(task, order);
    Candidate best{kRounding * leaf.parent_score, {-1, false}};
    for (int first = 0; first < order.n; first += kWide) {
        const int n = order.n - first < kWide ? order.n - first : kWide;
        const std::uint8_t* at = order.at + first;
        left_sums(task.histogram, at, n, task.width, sums, left);
        take_best(allowed_gains(task, leaf, left, scratch), n, at, false, best);
        if (!order.any_missing) continue;
        for (int c = 0; c < task.used; ++c) with_missing[c] = left[c] + order.missing[c];
        const int n_both = at[n - 1] != order.last ? n : n - 1;
        take_best(allowed_gains(task, leaf, with_missing, scratch), n_both, at, true, best);
    }
    if (best.split.last_left < 0) return {0.0, {-1, false}};
    if (task.categories) {
        const int n = order.any_missing ? order.n : order.n + 1;
        best.gain -= task.limits->category_noise * gain_by_chance(n);
        if (best.gain <= 0.0) return {0.0, {-1, false}};
        best.split = split_by_category(task, order, best.split);
    }
    return best;
}

}  // namespace

#define ORDINAL_SCAN(folder, Name)                                                                         \
    Candidate ORDINAL_PASTE(scan_##folder##_, ORDINAL_ISA)(const ScanTask& task, const Name##Leaf& leaf) { \
        return scan(task, leaf);                                                                           \
    }
ORDINAL_CRITERIA(ORDINAL_SCAN)
#undef ORDINAL_SCAN

}  // namespace ordinal
