// Random numbers of rows by their place: the same for any number of threads, whoever asks for them.
#pragma once

#include <cstdint>

namespace ordinal {

// SplitMix64. `static`, since a file that is compiled for several instruction sets uses it.
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
static inline std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

constexpr std::uint64_t kNever = ~std::uint64_t{0};  // of rows that are not drawn

// Numbers of a batch; lists of them may be written as many beyond their end.
constexpr std::int64_t kBatch = 256;
constexpr std::int64_t kBeyond = 8;

// Numbers of rows first, first + 1, ...: no two are equal.
using DrawNumbers = void (*)(std::uint64_t key, std::int64_t first, std::int64_t n, std::uint64_t* numbers);
using NumberBySize = std::int64_t (*)(const float* row, int width, int n_gradients, std::uint64_t key,
                                      std::int64_t first, std::int64_t n, std::uint64_t* numbers);
using LeaveOut = void (*)(const std::uint64_t* by_size, std::int64_t n, std::uint64_t limit,
                          std::uint64_t* numbers);
using CountBelow = std::int64_t (*)(const std::uint64_t* numbers, std::int64_t n, std::uint64_t low,
                                    std::uint64_t high, std::uint64_t* between, std::int64_t* n_between);
using ListBelow = std::int64_t (*)(const std::uint64_t* numbers, std::int64_t n, std::uint64_t limit,
                                   std::uint32_t first, std::uint32_t* rows);

#define ORDINAL_DRAW_ENTRIES(isa)                                                                        \
    void draw_numbers_##isa(std::uint64_t, std::int64_t, std::int64_t, std::uint64_t*);                  \
    std::int64_t number_by_size_##isa(const float*, int, int, std::uint64_t, std::int64_t, std::int64_t, \
                                      std::uint64_t*);                                                   \
    void leave_out_##isa(const std::uint64_t*, std::int64_t, std::uint64_t, std::uint64_t*);             \
    std::int64_t count_below_##isa(const std::uint64_t*, std::int64_t, std::uint64_t, std::uint64_t,     \
                                   std::uint64_t*, std::int64_t*);                                       \
    std::int64_t list_below_##isa(const std::uint64_t*, std::int64_t, std::uint64_t, std::uint32_t,      \
                                  std::uint32_t*);
ORDINAL_DRAW_ENTRIES(baseline)
ORDINAL_DRAW_ENTRIES(avx2)
ORDINAL_DRAW_ENTRIES(avx512)
#undef ORDINAL_DRAW_ENTRIES

}  // namespace ordinal
