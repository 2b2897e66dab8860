// The best split of one leaf along one feature: several candidates at a time, by any criterion.
#include "criteria/every_gain.hpp"
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

// left: column c holds entry c of kWide candidates' left sums.
template <class Leaf>
inline Doubles allowed_gains(const ScanTask& task, const Leaf& leaf, const Doubles* left, Doubles* scratch) {
    const Doubles n_a = left[task.count];
    const Doubles n_b = task.parent[task.count] - n_a;
    const Flags enough = (n_a >= task.limits->min_samples_leaf) & (n_b >= task.limits->min_samples_leaf);
    return select(enough, gains(leaf, *task.limits, task.parent, left, scratch), Doubles{});
}

static_assert(kWide <= kMostWide, "the memory of a scan has room");

template <class Leaf>
Candidate scan(const ScanTask& task, const Leaf& leaf) {
    const std::int64_t width = task.width;
    Doubles* const scratch = static_cast<Doubles*>(task.scratch);
    Doubles *const left = scratch + kMostScratch, *const with_missing = left + width + kColumnsBeyond;
    double* const sums = reinterpret_cast<double*>(with_missing + width);
    for (int c = 0; c < width; ++c) sums[c] = 0.0;
    const double* missing = task.histogram + task.n_bins * width;
    const bool any_missing = missing[task.count] > 0.0;
    // All bins on the left side are a split only if missing values go right. A bin without rows gives the
    // same split as the bin before it, so wide rows skip it; the first bin is never skipped, since missing
    // values alone may go left.
    const int last_bin = any_missing ? task.n_bins : task.n_bins - 1;
    std::uint8_t at[kMissing + kWide] = {};
    int n_candidates = last_bin;
    for (int bin = 0; bin < kMissing; ++bin) at[bin] = static_cast<std::uint8_t>(bin);
    if (is_wide(task.width)) {
        n_candidates = 0;
        for (int bin = 0; bin < last_bin; ++bin) {
            at[n_candidates] = static_cast<std::uint8_t>(bin);
            n_candidates += bin == 0 || task.histogram[bin * width + task.count] > 0.0;
        }
    }
    Candidate best{kRounding * leaf.parent_score, {-1, false}};
    for (int first = 0; first < n_candidates; first += kWide) {
        const int n = n_candidates - first < kWide ? n_candidates - first : kWide;
        left_sums(task.histogram, at + first, n, task.width, sums, left);
        take_best(allowed_gains(task, leaf, left, scratch), n, at + first, false, best);
        if (!any_missing) continue;
        for (int c = 0; c < task.used; ++c) with_missing[c] = left[c] + missing[c];
        const int n_both = at[first + n - 1] < task.n_bins - 1 ? n : n - 1;
        take_best(allowed_gains(task, leaf, with_missing, scratch), n_both, at + first, true, best);
    }
    return best.split.last_left < 0 ? Candidate{0.0, {-1, false}} : best;
}

}  // namespace

#define ORDINAL_SCAN(folder, Name)                                                                         \
    Candidate ORDINAL_PASTE(scan_##folder##_, ORDINAL_ISA)(const ScanTask& task, const Name##Leaf& leaf) { \
        return scan(task, leaf);                                                                           \
    }
ORDINAL_CRITERIA(ORDINAL_SCAN)
#undef ORDINAL_SCAN

}  // namespace ordinal
