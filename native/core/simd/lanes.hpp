// Vectors of float32 lanes and the few functions that the kernels need of them.
//
// Written with the vector extension of GCC and Clang, so that one text serves every instruction set; other
// compilers get one lane. Included only by files that are compiled once for each instruction set: everything
// is in an unnamed namespace and nothing from the standard library is instantiated, because an inline
// function compiled with AVX-512 must never be the copy that the linker keeps for everyone.
#pragma once

#include <cstdint>
#include <cstring>

// Clang has it too, and calls itself GCC. ORDINAL_ONE_LANE leaves it out, so that what other compilers get
// can be tested.
#if defined(__GNUC__) && !defined(ORDINAL_ONE_LANE)
#define ORDINAL_VECTORS
#endif

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ordinal {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#elif defined(ORDINAL_VECTORS)
constexpr int kLanes = 4;
#else
constexpr int kLanes = 1;
#endif

#if defined(ORDINAL_VECTORS)
typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef std::int32_t Ints __attribute__((vector_size(4 * kLanes)));
using Mask = Ints;

inline Floats select(Mask mask, Floats yes, Floats no) { return mask ? yes : no; }
inline Ints select(Mask mask, Ints yes, Ints no) { return mask ? yes : no; }
inline Floats to_floats(Ints x) { return __builtin_convertvector(x, Floats); }
inline float lane(Floats x, int i) { return x[i]; }
#else
using Floats = float;
using Ints = std::int32_t;
using Mask = bool;

inline Floats select(Mask mask, Floats yes, Floats no) { return mask ? yes : no; }
inline Ints select(Mask mask, Ints yes, Ints no) { return mask ? yes : no; }
inline Floats to_floats(Ints x) { return static_cast<Floats>(x); }
inline float lane(Floats x, int) { return x; }
#endif

template <class To, class From>
inline To reinterpret(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits are reinterpreted, not converted");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

inline Floats load(const float* from) {
    Floats x;
    std::memcpy(&x, from, sizeof x);
    return x;
}

inline Ints load(const std::int32_t* from) {
    Ints x;
    std::memcpy(&x, from, sizeof x);
    return x;
}

// table[index], lane by lane.
inline Floats lookup(const float* table, Ints index) {
#if defined(__AVX512F__)
    return reinterpret<Floats>(_mm512_i32gather_ps(reinterpret<__m512i>(index), table, 4));
#elif defined(__AVX2__)
    return reinterpret<Floats>(_mm256_i32gather_ps(table, reinterpret<__m256i>(index), 4));
#elif defined(ORDINAL_VECTORS)
    Floats found;
    for (int i = 0; i < kLanes; ++i) found[i] = table[index[i]];
    return found;
#else
    return table[index];
#endif
}

inline void store(float* to, Floats x) { std::memcpy(to, &x, sizeof x); }
inline void store(std::int32_t* to, Ints x) { std::memcpy(to, &x, sizeof x); }

inline Floats all(float x) { return Floats{} + x; }
inline Ints all(std::int32_t x) { return Ints{} + x; }

// Sums over rows have 16 lanes everywhere, in so many vectors: row i goes to lane i % 16 of them, so that
// every instruction set adds in the same order.
constexpr int kParts = 16 / kLanes;
inline int part_of(int row) { return row / kLanes % kParts; }

// The sum of the parts, `step` vectors apart.
inline float sum(const Floats* parts, int step = 1) {
    float total = 0.0f;
    for (int part = 0; part < kParts; ++part)
        for (int i = 0; i < kLanes; ++i) total += lane(parts[part * step], i);
    return total;
}

inline bool any_lane(Mask mask) {
    const Floats marked = to_floats(select(mask, all(1), Ints{}));
    bool found = false;
    for (int i = 0; i < kLanes; ++i) found |= lane(marked, i) != 0.0f;
    return found;
}

inline Floats clamp(Floats x, float low, float high) {
    x = select(x < low, all(low), x);
    return select(x > high, all(high), x);
}

// The hardware's approximations differ between processors; a division does not.
inline Floats reciprocal(Floats x) { return 1.0f / x; }

// |x| <= 87. Adding 1.5 * 2^23 rounds to the nearest integer, found again in the low bits; the logarithm of
// 2 comes in two pieces, the first of them short enough that its multiples are exact.
inline Floats exp(Floats x) {
    constexpr float kRound = 12582912.0f;
    const Floats shifted = x * 1.44269504088896f + kRound;
    const Floats whole = shifted - kRound;
    const Floats r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    Floats p = all(1.0f / 5040);
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const Ints power = reinterpret<Ints>(shifted) - (0x4b400000 - 127);  // the bits of kRound
    return p * reinterpret<Floats>(power << 23);
}

// Scores relative to `center`, held within [lowest, highest]; returns how many were not. A plain loop: the
// compiler makes vectors of it.
template <class Raw>
int load_scores(float* scores, const Raw* raw, int n, double center, float lowest, float highest) {
    int clipped = 0;
    const Raw shift = static_cast<Raw>(center);
#pragma omp simd reduction(+ : clipped)
    for (int i = 0; i < n; ++i) {
        const float score = static_cast<float>(raw[i] - shift);
        const float inside = score < lowest ? lowest : (score > highest ? highest : score);
        clipped += inside != score;
        scores[i] = inside;
    }
    return clipped;
}

// log(m 2^e) for m in [1, 2), by the series of artanh around 1; `missing` is 1 - m 2^e, exact where small.
inline Floats log_product(Floats m, Ints e, Floats missing) {
    const Mask high = m > 1.41421356f;
    m = select(high, 0.5f * m, m);
    e = select(high, e + 1, e);
    const Mask near = missing < 0.25f;
    const Floats s = select(near, -missing, m - 1.0f) / select(near, 2.0f - missing, m + 1.0f);
    const Floats s2 = s * s;
    const Floats series = 2.0f + s2 * (2.0f / 3 + s2 * (2.0f / 5 + s2 * (2.0f / 7 + s2 * (2.0f / 9))));
    return s * series + select(near, Floats{}, to_floats(e) * 0.693147180559945f);
}

}  // namespace
}  // namespace ordinal
