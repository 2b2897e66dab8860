// Splits a block of a leaf's rows in two, keeping their order on both sides; lists rows whose leaf is not
// known.
#include "simd/masks.hpp"
#include "trees/tasks.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {

// Returns the number of left rows.
std::int64_t ORDINAL_PASTE(partition_rows_, ORDINAL_ISA)(const PartitionTask& task) {
    std::uint32_t* left = task.left;
    std::uint32_t* right = task.right;
    std::int64_t i = 0;
#if defined(__AVX512F__)
    // Whole vectors are stored: what is written beyond the rows kept has been read already. The processor
    // does not foresee what a vector gathers, so some of the bins are fetched ahead.
    constexpr std::int64_t kAhead = 256;
    const __m512i byte = _mm512_set1_epi32(0xff);
    for (; i + 16 <= task.n; i += 16) {
        for (int j = 0; j < 16 && i + kAhead + 16 <= task.n; j += 4)
            fetch(task.column + task.rows[i + kAhead + j]);
        const __m512i rows = _mm512_loadu_si512(task.rows + i);
        const __m512i bins = _mm512_and_epi32(_mm512_i32gather_epi32(rows, task.column, 1), byte);
        const __mmask16 to_left = goes_left(task.split, bins);
        const int n_left = n_set(to_left);
        _mm512_storeu_si512(left, _mm512_maskz_compress_epi32(to_left, rows));
        _mm512_storeu_si512(right, _mm512_maskz_compress_epi32(static_cast<__mmask16>(~to_left), rows));
        left += n_left;
        right += 16 - n_left;
    }
#endif
    for (; i < task.n; ++i) {
        const std::uint32_t row = task.rows[i];
        const bool to_left = goes_left(task.split, task.column[row]);
        *left = row;
        *right = row;
        left += to_left;
        right += !to_left;
    }
    return left - task.left;
}

// Returns how many of n rows have a leaf below 0; `rows` takes them, counted from `first`, and is written as
// many as kPastList beyond their end.
std::int64_t ORDINAL_PASTE(list_unknown_, ORDINAL_ISA)(const std::int32_t* leaf_of_row, std::int64_t n,
                                                       std::uint32_t first, std::uint32_t* rows) {
    std::int64_t found = 0, i = 0;
#if defined(__AVX512F__)
    __m512i here = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(first)),
                                    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    for (; i + 16 <= n; i += 16) {
        const __mmask16 unknown =
            _mm512_cmplt_epi32_mask(_mm512_loadu_si512(leaf_of_row + i), _mm512_setzero_si512());
        const int n_here = n_set(unknown);
        _mm512_storeu_si512(rows + found, _mm512_maskz_compress_epi32(unknown, here));
        found += n_here;
        here = _mm512_add_epi32(here, _mm512_set1_epi32(16));
    }
#endif
    for (; i < n; ++i) {
        rows[found] = first + static_cast<std::uint32_t>(i);
        found += leaf_of_row[i] < 0;
    }
    return found;
}

}  // namespace ordinal
