// Random numbers of rows, and which of these numbers are small.
#include "trees/draw.hpp"

#include <cstring>

#include "simd/masks.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {

void ORDINAL_PASTE(draw_numbers_, ORDINAL_ISA)(std::uint64_t key, std::int64_t first, std::int64_t n,
                                               std::uint64_t* numbers) {
    for (std::int64_t i = 0; i < n; ++i)
        numbers[i] = mixed(key + static_cast<std::uint64_t>(first + i + 1) * kGolden);
}

// Numbers of rows by the sum of |g h|, the largest first, and ties at random; returns how many rows have a
// Hessian, and a number below kNever.
std::int64_t ORDINAL_PASTE(number_by_size_, ORDINAL_ISA)(const float* row, int width, int n_gradients,
                                                         std::uint64_t key, std::int64_t first,
                                                         std::int64_t n, std::uint64_t* numbers) {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < n; ++i, row += width) {
        float size = 0.0f;
        bool any = false;
        for (int j = 0; j < n_gradients; ++j) {
            const float product = row[j] * row[n_gradients + j];
            size += product < 0.0f ? -product : product;
            any |= row[n_gradients + j] != 0.0f;
        }
        // Floats that are not negative have the order of their bits; what is no number comes first.
        std::uint32_t bits;
        std::memcpy(&bits, &size, sizeof bits);
        bits &= 0x7fffffffu;
        // One to one, so that no two rows have the same number.
        std::uint32_t tie = static_cast<std::uint32_t>(first + i) ^ static_cast<std::uint32_t>(key);
        tie = (tie ^ (tie >> 16)) * 0x7feb352du;
        tie = (tie ^ (tie >> 15)) * 0x846ca68bu;
        tie ^= tie >> 16;
        numbers[i] = any ? (std::uint64_t{0x7fffffffu - bits} << 32) | tie : kNever;
        found += any;
    }
    return found;
}

// Leaves out rows whose number by size is below the limit, or that have none.
void ORDINAL_PASTE(leave_out_, ORDINAL_ISA)(const std::uint64_t* by_size, std::int64_t n, std::uint64_t limit,
                                            std::uint64_t* numbers) {
    for (std::int64_t i = 0; i < n; ++i)
        numbers[i] = (by_size[i] < limit) | (by_size[i] == kNever) ? kNever : numbers[i];
}

// Returns how many numbers are below `low`; `between` takes those from there to below `high`.
std::int64_t ORDINAL_PASTE(count_below_, ORDINAL_ISA)(const std::uint64_t* numbers, std::int64_t n,
                                                      std::uint64_t low, std::uint64_t high,
                                                      std::uint64_t* between, std::int64_t* n_between) {
    std::int64_t below = 0, found = 0, i = 0;
#if defined(__AVX512F__)
    const __m512i lows = _mm512_set1_epi64(static_cast<long long>(low));
    const __m512i highs = _mm512_set1_epi64(static_cast<long long>(high));
    for (; i + 8 <= n; i += 8) {
        const __m512i some = _mm512_loadu_si512(numbers + i);
        const __mmask8 is_below = _mm512_cmplt_epu64_mask(some, lows);
        const __mmask8 is_between =
            static_cast<__mmask8>(_mm512_cmplt_epu64_mask(some, highs) & static_cast<__mmask8>(~is_below));
        below += n_set(is_below);
        const int n_here = n_set(is_between);
        if (is_between) _mm512_storeu_si512(between + found, _mm512_maskz_compress_epi64(is_between, some));
        found += n_here;
    }
#endif
    for (; i < n; ++i) {
        between[found] = numbers[i];
        below += numbers[i] < low;
        found += numbers[i] >= low && numbers[i] < high;
    }
    *n_between = found;
    return below;
}

// Returns how many numbers are below the limit; `rows` takes their places, counted from `first`.
std::int64_t ORDINAL_PASTE(list_below_, ORDINAL_ISA)(const std::uint64_t* numbers, std::int64_t n,
                                                     std::uint64_t limit, std::uint32_t first,
                                                     std::uint32_t* rows) {
    std::int64_t found = 0, i = 0;
#if defined(__AVX512F__) && defined(__AVX512VL__)
    const __m512i limits = _mm512_set1_epi64(static_cast<long long>(limit));
    __m256i here = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first)),
                                    _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    for (; i + 8 <= n; i += 8) {
        const __mmask8 is_below = _mm512_cmplt_epu64_mask(_mm512_loadu_si512(numbers + i), limits);
        const int n_here = n_set(is_below);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows + found),
                            _mm256_maskz_compress_epi32(is_below, here));
        found += n_here;
        here = _mm256_add_epi32(here, _mm256_set1_epi32(8));
    }
#endif
    for (; i < n; ++i) {
        rows[found] = first + static_cast<std::uint32_t>(i);
        found += numbers[i] < limit;
    }
    return found;
}

}  // namespace ordinal
