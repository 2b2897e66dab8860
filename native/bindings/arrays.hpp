// Arrays from Python, and the round that they describe.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>

#include "rows/round.hpp"

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutputMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Rows with any distance between them; within a row the numbers are next to each other.
template <class T>
using OutputRows = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

template <class T>
using Costs = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Raw, class Real>
ordinal::Round<Real, Real> make_round(const Vector<Raw>& raw, const Vector<std::int32_t>& y,
                                      const Vector<double>& thresholds,
                                      const std::optional<Vector<Real>>& weight, const Output<Real>& gradient,
                                      const Output<Real>& hessian,
                                      const std::optional<OutputRows<Real>>& cross, int loss, int link,
                                      bool majorized, bool want_loss, double limit,
                                      const std::optional<Costs<Real>>& costs) {
    ordinal::Round<Real, Real> round;
    if constexpr (sizeof(Raw) == sizeof(float))
        round.raw32 = raw.data();
    else
        round.raw64 = raw.data();
    round.y = y.data();
    round.weight = weight ? weight->data() : nullptr;
    round.thresholds = thresholds.data();
    round.n_thresholds = static_cast<int>(thresholds.size());
    round.loss = static_cast<ordinal::Loss>(loss);
    round.costs = costs ? costs->data() : nullptr;
    round.link = static_cast<ordinal::Link>(link);
    round.majorized = majorized;
    round.want_loss = want_loss;
    round.limit = limit;
    round.gradient = gradient.data();
    round.hessian = hessian.data();
    round.cross = cross ? cross->data() : nullptr;
    round.cross_step = cross ? cross->stride(0) : 0;
    return round;
}
