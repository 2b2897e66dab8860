// Some of the rows of a pass, side by side: those of a sample, which are added up like all rows.
#pragma once

#include <cstdint>
#include <vector>

#include "rows/round.hpp"

namespace ordinal {

template <class Weight, class Output>
class GatheredRows {
  public:
    // At most so many of round.rows at a time.
    GatheredRows(const Round<Weight, Output>& round, std::int64_t most)
        : all_(round),
          some_(round),
          y_(size(most)),
          raw32_(size(round.raw32 ? most : 0)),
          raw64_(size(round.raw64 ? most : 0)),
          weight_(size(round.weight || round.light ? most : 0), Weight{1}),
          derivatives_(size(2 * most)) {
        some_.rows = nullptr;
        some_.light = nullptr;
        some_.y = y_.data();
        if (round.raw32) some_.raw32 = raw32_.data();
        if (round.raw64) some_.raw64 = raw64_.data();
        if (!weight_.empty()) some_.weight = weight_.data();
        some_.gradient = derivatives_.data();
        some_.hessian = derivatives_.data() + most;
    }

    // Those from place `begin` on, which hold until the next call. What is written of them is forgotten.
    const Round<Weight, Output>& take(std::int64_t begin, std::int64_t n) {
        const std::uint32_t* rows = all_.rows + begin;
        gather(all_.y, rows, n, y_.data());
        if (all_.raw32) gather(all_.raw32, rows, n, raw32_.data());
        if (all_.raw64) gather(all_.raw64, rows, n, raw64_.data());
        if (all_.weight) gather(all_.weight, rows, n, weight_.data());
        if (all_.light) {
            const double counts[] = {1.0, all_.factor};  // looked up, since no branch could be foretold
            for (std::int64_t i = 0; i < n; ++i) {
                const double one = all_.weight ? static_cast<double>(weight_[size(i)]) : 1.0;
                weight_[size(i)] = static_cast<Weight>(one * counts[all_.light[begin + i]]);
            }
        }
        return some_;
    }

    // The same with gradients and Hessians, which are known, and the leaves.
    const Round<Weight, Output>& take_known(std::int64_t begin, std::int64_t n, const std::int32_t* leaves,
                                            std::int32_t* some_leaves) {
        const std::uint32_t* rows = all_.rows + begin;
        gather(all_.gradient, rows, n, some_.gradient);
        gather(all_.hessian, rows, n, some_.hessian);
        gather(leaves, rows, n, some_leaves);
        return take(begin, n);
    }

  private:
    static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

    template <class T>
    static void gather(const T* from, const std::uint32_t* rows, std::int64_t n, T* to) {
        for (std::int64_t i = 0; i < n; ++i) to[i] = from[rows[i]];
    }

    const Round<Weight, Output>& all_;
    Round<Weight, Output> some_;
    std::vector<std::int32_t> y_;
    std::vector<float> raw32_;
    std::vector<double> raw64_;
    std::vector<Weight> weight_;
    std::vector<Output> derivatives_;
};

}  // namespace ordinal
