// Which rows go left at a split: the one place that says so, for growth, partition and prediction. Compiled
// once for each instruction set, so it uses nothing of the standard library.
#pragma once

#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace ordinal {

constexpr int kMissing = 255;  // the bin of a missing value

constexpr int kSetWords = 4;  // of a set of bins, one bit each

static inline bool holds(const std::uint64_t* set, int bin) { return set[bin >> 6] >> (bin & 63) & 1; }

// A split of bins.
struct Split {
    int last_left = 0;  // the last bin that goes left; -1: none
    bool missing_left = false;
    bool by_category = false;            // `left` alone says which bins go left, the missing one included
    std::uint64_t left[kSetWords] = {};  // a set of bins
};

static inline bool goes_left(const Split& split, int bin) {
    if (split.by_category) return holds(split.left, bin);
    return bin == kMissing ? split.missing_left : bin <= split.last_left;
}

// Splits of values, as a model holds them. A category is its number; whatever is none is missing.
static inline bool goes_left(double threshold, bool missing_left, double value) {
    return value <= threshold || (value != value && missing_left);
}
static inline bool goes_left(const std::uint64_t* set, double value) {
    return holds(set, value >= 0.0 && value < kMissing ? static_cast<int>(value) : kMissing);
}

#if defined(__AVX512F__)
// Of sixteen bins, one bit each.
static inline __mmask16 goes_left(const Split& split, __m512i bins) {
    if (split.by_category) {
        const __m512i words = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)split.left));
        const __m512i word = _mm512_permutexvar_epi32(_mm512_srli_epi32(bins, 5), words);
        const __m512i bit = _mm512_srlv_epi32(word, _mm512_and_epi32(bins, _mm512_set1_epi32(31)));
        return _mm512_test_epi32_mask(bit, _mm512_set1_epi32(1));
    }
    const __mmask16 below = _mm512_cmple_epi32_mask(bins, _mm512_set1_epi32(split.last_left));
    if (!split.missing_left) return below;
    return below | _mm512_cmpeq_epi32_mask(bins, _mm512_set1_epi32(kMissing));
}
#endif

}  // namespace ordinal
