// The vector criterion: groups of thresholds and the penalty of their shifts.
#pragma once

#include <algorithm>

#include "bindings/growth.hpp"
#include "criteria/vector/criterion.hpp"

inline void register_vector(nb::class_<ordinal::Engine>& engine) {
    engine.def(
        "grow_vector",
        [](ordinal::Engine& self, const Growth& growth, Vector<std::int32_t> sizes, Vector<bool> active,
           double shift_l2, bool smooth, int max_shifts) {
            const int n = static_cast<int>(active.size());
            require(2 * n < self.width(), "the rows do not carry so many groups");
            require(static_cast<int>(sizes.size()) == n &&
                        std::all_of(sizes.data(), sizes.data() + n, [](int size) { return size > 0; }),
                    "each group must have a threshold");
            require(std::any_of(active.data(), active.data() + n, [](bool one) { return one; }),
                    "one group must take a shift");
            require(shift_l2 > 0.0, "shift_l2 must be positive");
            require(max_shifts > 0, "max_shifts must be positive");
            return grow<ordinal::VectorCriterion>(
                self, {n, sizes.data(), active.data(), shift_l2, smooth, max_shifts}, growth);
        },
        "growth"_a, "sizes"_a.noconvert(), "active"_a.noconvert(), "shift_l2"_a, "smooth"_a,
        "max_shifts"_a = ordinal::kMostGroups);
}
