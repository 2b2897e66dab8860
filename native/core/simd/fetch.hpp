// Memory that the processor does not foresee. An address beyond an array does no harm.
#pragma once

#include <cstddef>

namespace ordinal {

#if defined(__GNUC__)
static inline void fetch(const void* address) { __builtin_prefetch(address, 0, 2); }
#else
static inline void fetch(const void*) {}
#endif

constexpr std::size_t kLine = 64;  // bytes

}  // namespace ordinal
