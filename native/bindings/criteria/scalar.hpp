// The scalar criterion takes nothing beside the growth.
#pragma once

#include "bindings/growth.hpp"
#include "criteria/scalar/criterion.hpp"

inline void register_scalar(nb::class_<ordinal::Engine>& engine) {
    engine.def(
        "grow_scalar",
        [](ordinal::Engine& self, const Growth& growth) {
            return grow<ordinal::ScalarCriterion>(self, {}, growth);
        },
        "growth"_a);
}
