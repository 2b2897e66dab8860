// Some of the rows of a pass, side by side: those of a sample, which are added up like all rows.
#pragma once

#include <cstdint>
#include <vector>

#include "rows/round.hpp"

namespace ordinal {

// What is written of the rows themselves is forgotten.
template <class Weight, class Output>
class GatheredRows {
  public:
    // n rows of round.rows from place `begin` on.
    GatheredRows(const Round<Weight, Output>& round, std::int64_t begin, std::int64_t n)
        : round_(round), y_(size(n)), gradient_(size(n)), hessian_(size(n)) {
        const std::uint32_t* rows = round.rows + begin;
        round_.rows = nullptr;
        round_.gradient = gradient_.data();
        round_.hessian = hessian_.data();
        round_.y = gather(round.y, rows, y_);
        if (round.raw32) round_.raw32 = gather(round.raw32, rows, raw32_, n);
        if (round.raw64) round_.raw64 = gather(round.raw64, rows, raw64_, n);
        if (!round.weight && !round.light) return;
        weight_.assign(size(n), Weight{1});
        if (round.weight) gather(round.weight, rows, weight_);
        if (round.light)
            for (std::size_t i = 0; i < weight_.size(); ++i)
                if (round.light[begin + static_cast<std::int64_t>(i)])
                    weight_[i] = static_cast<Weight>(static_cast<double>(weight_[i]) * round.factor);
        round_.weight = weight_.data();
    }

    const Round<Weight, Output>& round() const { return round_; }

  private:
    static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

    template <class T>
    static const T* gather(const T* from, const std::uint32_t* rows, std::vector<T>& to) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[rows[i]];
        return to.data();
    }
    template <class T>
    static const T* gather(const T* from, const std::uint32_t* rows, std::vector<T>& to, std::int64_t n) {
        to.resize(size(n));
        return gather(from, rows, to);
    }

    Round<Weight, Output> round_;
    std::vector<std::int32_t> y_;
    std::vector<float> raw32_;
    std::vector<double> raw64_;
    std::vector<Weight> weight_;
    std::vector<Output> gradient_, hessian_;
};

}  // namespace ordinal
