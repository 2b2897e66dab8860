// Memory that the processor does not foresee. An address beyond an array does no harm.
#pragma once

namespace ordinal {

#if defined(__GNUC__)
static inline void fetch(const void* address) { __builtin_prefetch(address, 0, 2); }
#else
static inline void fetch(const void*) {}
#endif

}  // namespace ordinal
