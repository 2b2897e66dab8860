// Memory that starts on a cache line, so that a row's vector never straddles two, and lies on huge pages
// where it is large: gathered rows then miss the translation cache less, and the places of a histogram do
// not fall onto the same set of the second-level cache by chance.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ordinal {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

template <class T>
struct AlignedAllocator {
    using value_type = T;

    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}

    T* allocate(std::size_t n) {
        const std::size_t n_bytes = n * sizeof(T);
        void* memory = ::operator new(n_bytes, alignment(n_bytes));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        // Only whole pages: other memory may share the last one. If the system refuses, nothing is lost.
        if (n_bytes >= kHugePage) madvise(memory, n_bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* p, std::size_t n) { ::operator delete(p, alignment(n * sizeof(T))); }

    template <class U>
    bool operator==(const AlignedAllocator<U>&) const {
        return true;
    }
    template <class U>
    bool operator!=(const AlignedAllocator<U>&) const {
        return false;
    }

  private:
    static std::align_val_t alignment(std::size_t n_bytes) {
        return std::align_val_t{n_bytes >= kHugePage ? kHugePage : 64};
    }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace ordinal
