// The best split of one leaf along one feature: the joint gain of several candidates at a time.
//
// With A, r_A the system without the leaf and U = [L_a, L_b] the candidate's cross terms, the gain needs
// r_ab' S_ab^{-1} r_ab, S_ab = A - U diag(h)^{-1} U'. By Sherman, Morrison and Woodbury that takes the three
// numbers x = L_a' A^{-1} L_a, y = L_a.m, z = L_a.q and a 2 x 2 solve. Without cross terms all three are 0
// and the gain is the usual scalar one.
#include "trees/tasks.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

#if defined(__AVX512F__)
constexpr int kWide = 8;
#elif defined(__AVX2__)
constexpr int kWide = 4;
#elif defined(__GNUC__)
constexpr int kWide = 2;
#else
constexpr int kWide = 1;
#endif

#if defined(__GNUC__)
typedef double Doubles __attribute__((vector_size(8 * kWide)));
typedef long long Flags __attribute__((vector_size(8 * kWide)));
inline Doubles select(Flags mask, Doubles yes, Doubles no) { return mask ? yes : no; }
inline double lane(Doubles x, int i) { return x[i]; }
inline bool any(Flags mask) {
    long long all = 0;
    for (int i = 0; i < kWide; ++i) all |= mask[i];
    return all != 0;
}

// One entry of each of kWide rows.
inline Doubles column(const double* from, std::int64_t step) {
    Doubles entries;
    for (int i = 0; i < kWide; ++i) entries[i] = from[i * step];
    return entries;
}
#else
using Doubles = double;
using Flags = bool;
inline Doubles select(Flags mask, Doubles yes, Doubles no) { return mask ? yes : no; }
inline double lane(Doubles x, int) { return x; }
inline bool any(Flags mask) { return mask; }
inline Doubles column(const double* from, std::int64_t) { return *from; }
#endif

constexpr double kRounding = 1e-12;  // a gain below this share of the parent's score is no gain
constexpr double kSingular = 1e-11;  // determinant relative to its first term

// v' D^{-1} v for D = [[d11, d12], [d12, d22]]. Where D is singular along (1, 1) only the part across counts.
inline Doubles solve_two(Doubles d11, Doubles d12, Doubles d22, Doubles v1, Doubles v2, bool gauge) {
    const Doubles product = d11 * d22;
    const Doubles determinant = product - d12 * d12;
    const Flags regular = determinant > kSingular * product;
    const Doubles safe = select(regular, determinant, Doubles{} + 1.0);
    const Doubles full = (d22 * v1 * v1 - 2.0 * d12 * v1 * v2 + d11 * v2 * v2) / safe;
    const Doubles spread = d11 - 2.0 * d12 + d22;
    const Flags has_spread = spread > 1e-300;
    const Doubles across = (v1 - v2) * (v1 - v2) / select(has_spread, spread, Doubles{} + 1.0);
    const Doubles flat = select(has_spread, across, Doubles{});
    return gauge ? flat : select(regular, full, flat);
}

// left: column c holds entry c of kWide candidates' left sums.
inline Doubles gains(const ScanTask& task, const Doubles* left) {
    const Doubles G_a = left[kGradient], H_a = left[kHessian];
    const Doubles G_b = task.parent[kGradient] - G_a, H_b = task.parent[kHessian] - H_a;
    const Doubles n_a = left[task.count];
    const Doubles n_b = task.parent[task.count] - n_a;
    const Doubles h_a = H_a + task.l2, h_b = H_b + task.l2;
    const Flags allowed = (n_a >= task.min_samples_leaf) & (n_b >= task.min_samples_leaf) &
                          (H_a >= task.min_child_weight) & (H_b >= task.min_child_weight) & (h_a > 0.0) &
                          (h_b > 0.0);
    const Doubles alpha = G_a / select(allowed, h_a, Doubles{} + 1.0);
    const Doubles beta = G_b / select(allowed, h_b, Doubles{} + 1.0);
    Doubles score = G_a * alpha + G_b * beta;
    if (task.n_carried > 0) {
        Doubles x{}, y{}, z{};
        const Doubles* carried = left + task.first_carried;
        for (int k = 0; k < task.n_carried; ++k) {
            const double* row = task.inverse + k * task.n_carried;
            Doubles half{};
            for (int l = 0; l < k; ++l) half += row[l] * carried[l];
            x += (2.0 * half + row[k] * carried[k]) * carried[k];
            y += task.m[k] * carried[k];
            z += task.q[k] * carried[k];
        }
        const Doubles m12 = y - x;
        const Doubles m22 = task.pm - 2.0 * y + x;
        const Doubles rest = task.pq - z;
        const Doubles v1 = z - alpha * x - beta * m12;
        const Doubles v2 = rest - alpha * m12 - beta * m22;
        score += task.r_A_q - 2.0 * (alpha * z + beta * rest) + alpha * alpha * x + 2.0 * alpha * beta * m12 +
                 beta * beta * m22 + solve_two(h_a - x, -m12, h_b - m22, v1, v2, task.gauge);
    }
    return select(allowed, 0.5 * (score - task.parent_score) - task.min_gain, Doubles{});
}

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

// Adds n <= kWide bins up one after the other, from `sums` on and into it; lane i of left[c] is column c of
// the sum through bin i.
inline void left_sums(const double* bins, int n, int width, double* sums, Doubles* left) {
#if defined(__AVX512F__)
    for (int c = 0; c < width; c += 8) {
        const __mmask8 columns = c + 8 <= width ? 0xff : 0x0f;  // widths are multiples of four
        __m512d sum = _mm512_maskz_loadu_pd(columns, sums + c), running[8];
        for (int i = 0; i < 8; ++i) {
            const double* bin = bins + static_cast<std::int64_t>(i) * width + c;
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
                if (i < n) sum[j] += bins[static_cast<std::int64_t>(i) * width + c + j];
                running[4 * i + j] = sum[j];
            }
        for (int j = 0; j < 4; ++j) {
            sums[c + j] = sum[j];
            left[c + j] = column(running + j, 4);
        }
    }
#endif
}

// Takes the best of n candidates, the first of them at bin `first`, if it beats the best so far. Nearly
// always none does, and one comparison of all says so.
inline void take_best(Doubles gain, int n, int first, bool missing_left, Candidate& best) {
    if (!any(gain > best.gain * (1.0 + kTie))) return;
    for (int i = 0; i < n; ++i)
        if (lane(gain, i) > best.gain * (1.0 + kTie)) best = {lane(gain, i), first + i, missing_left};
}

}  // namespace

Candidate ORDINAL_PASTE(scan_feature_, ORDINAL_ISA)(const ScanTask& task) {
    const int used = task.count + 1;
    const std::int64_t width = task.width;
    Doubles left[kMostColumns + 4], with_missing[kMostColumns];  // columns are filled eight by eight
    double sums[kMostColumns];
    for (int c = 0; c < width; ++c) sums[c] = 0.0;
    const double* missing = task.histogram + task.n_bins * width;
    const bool any_missing = missing[task.count] > 0.0;
    // The last bin alone on the left side is a split only if the missing values are the right side.
    const int n_candidates = any_missing ? task.n_bins : task.n_bins - 1;
    Candidate best{kRounding * task.parent_score, -1, false};
    for (int first = 0; first < n_candidates; first += kWide) {
        const int n = n_candidates - first < kWide ? n_candidates - first : kWide;
        left_sums(task.histogram + first * width, n, task.width, sums, left);
        take_best(gains(task, left), n, first, false, best);
        if (!any_missing) continue;
        for (int c = 0; c < used; ++c) with_missing[c] = left[c] + missing[c];
        const int n_both = n < task.n_bins - 1 - first ? n : task.n_bins - 1 - first;
        take_best(gains(task, with_missing), n_both, first, true, best);
    }
    return best.bin < 0 ? Candidate{0.0, -1, false} : best;
}

}  // namespace ordinal
