// The sums of a round as Python sees them.
#pragma once

#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "rows/round_statistics.hpp"

inline nb::dict as_dict(const ordinal::RoundSums& sums) {
    nb::dict result;
    result["threshold_gradient"] = sums.threshold_gradient;
    result["threshold_hessian"] = sums.threshold_hessian;
    result["threshold_hessian_off"] = sums.threshold_hessian_off;
    result["loss"] = sums.loss;
    result["n_clipped"] = sums.n_clipped;
    result["n_floored"] = sums.n_floored;
    return result;
}
