// Memory that starts on a cache line, so that a row's vector never straddles two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace ordinal {

template <class T>
struct AlignedAllocator {
    using value_type = T;
    static constexpr std::align_val_t kLine{64};

    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}

    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }

    template <class U>
    bool operator==(const AlignedAllocator<U>&) const {
        return true;
    }
    template <class U>
    bool operator!=(const AlignedAllocator<U>&) const {
        return false;
    }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace ordinal
