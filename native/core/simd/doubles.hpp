// Vectors of float64, as many lanes as a register holds. Like lanes.hpp, only for files that are compiled
// once for each instruction set.
#pragma once

#include <cstdint>

#include "simd/lanes.hpp"

namespace ordinal {
namespace {

constexpr int kWide = kLanes > 1 ? kLanes / 2 : 1;

#if defined(ORDINAL_VECTORS)
typedef double Doubles __attribute__((vector_size(8 * kWide)));
typedef long long Flags __attribute__((vector_size(8 * kWide)));
inline Doubles select(Flags mask, Doubles yes, Doubles no) { return mask ? yes : no; }
inline double lane(Doubles x, int i) { return x[i]; }
inline bool any(Flags mask) {
    long long all = 0;
    for (int i = 0; i < kWide; ++i) all |= mask[i];
    return all != 0;
}

// One entry from each of kWide rows.
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

}  // namespace
}  // namespace ordinal
