// Bits of the masks that vector comparisons return.
#pragma once

namespace ordinal {

// How many bits are set. GCC 12 may put a mask aside as one or two bytes and count the bits of four, where
// calls stand between, as those of the sanitizer of threads: it has to move the mask into a register of
// numbers first.
static inline int n_set(unsigned mask) {
#if defined(__GNUC__)
    asm("" : "+r"(mask));
    return __builtin_popcount(mask);
#else
    int n = 0;
    for (; mask; mask &= mask - 1) ++n;
    return n;
#endif
}

}  // namespace ordinal
