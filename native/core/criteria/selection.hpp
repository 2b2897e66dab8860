// The largest of several values: their sum, and which they are. Templates over a number or a vector of
// candidates, in an unnamed namespace because gain.hpp is compiled once for each instruction set.
#pragma once

namespace ordinal {
namespace {

template <class Real>
inline Real larger(Real a, Real b) {
    return a > b ? a : b;
}

template <class Real>
inline Real smaller(Real a, Real b) {
    return a > b ? b : a;
}

// Keeps the largest values or the others, whichever are fewer, sorted.
template <class Real>
class Selection {
  public:
    // The sum of the `most` largest of n is asked for. kept: room for half of them.
    Selection(int n, int most, Real* kept)
        : of_largest_(most <= n - most), size_(of_largest_ ? most : n - most), kept_(kept) {
        for (int i = 0; i < size_; ++i) kept_[i] = Real{} + (of_largest_ ? -1.0 : kEnd);
    }

    void take(Real value) {
        total_ += value;
        if (of_largest_)
            for (int i = 0; i < size_; ++i) {
                const Real kept = kept_[i];
                kept_[i] = larger(kept, value);
                value = smaller(kept, value);
            }
        else
            for (int i = 0; i < size_; ++i) {
                const Real kept = kept_[i];
                kept_[i] = smaller(kept, value);
                value = larger(kept, value);
            }
    }

    Real sum() const {
        Real kept{};
        for (int i = 0; i < size_; ++i) kept += kept_[i];
        return of_largest_ ? kept : total_ - kept;
    }

    // Whether a value that was taken is among the largest, or their equal.
    auto chosen(Real value) const {
        if (size_ == 0) return value == value;
        return of_largest_ ? value >= kept_[size_ - 1] : value > kept_[size_ - 1];
    }

  private:
    static constexpr double kEnd = 1e300;
    const bool of_largest_;
    const int size_;
    Real total_{};
    Real* const kept_;
};

}  // namespace
}  // namespace ordinal
