// Which rows go left at a split: the one place that says so, for growth, partition and prediction. Compiled
// once for each instruction set, so it uses nothing of the standard library.
#pragma once

#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace ordinal {

constexpr int kMissing = 255;  // the bin of a missing value

// A split of bins.
struct Split {
    int last_left = 0;  // the last bin that goes left; -1: none
    bool missing_left = false;
};

static inline bool goes_left(const Split& split, int bin) {
    return bin == kMissing ? split.missing_left : bin <= split.last_left;
}

// A split of values, as a model holds it.
static inline bool goes_left(double threshold, bool missing_left, double value) {
    return value <= threshold || (value != value && missing_left);
}

#if defined(__AVX512F__)
// Of sixteen bins, one bit each.
static inline __mmask16 goes_left(const Split& split, __m512i bins) {
    const __mmask16 below = _mm512_cmple_epi32_mask(bins, _mm512_set1_epi32(split.last_left));
    if (!split.missing_left) return below;
    return below | _mm512_cmpeq_epi32_mask(bins, _mm512_set1_epi32(kMissing));
}
#endif

}  // namespace ordinal
