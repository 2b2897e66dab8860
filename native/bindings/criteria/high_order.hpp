// The high-order criterion: the joint one, and where rows carry higher derivatives.
#pragma once

#include "bindings/criteria/joint.hpp"
#include "bindings/growth.hpp"
#include "criteria/high_order/criterion.hpp"

inline void register_high_order(nb::class_<ordinal::Engine>& engine) {
    engine.def(
        "grow_high_order",
        [](ordinal::Engine& self, const Growth& growth, int order, int third, Vector<double> gradient,
           Matrix<double> hessian, Vector<std::int32_t> group, int first_carried, Matrix<double> weights) {
            require(order == 3 || order == 4, "order must be 3 or 4");
            require(third >= 0 && third + order - 2 <= self.width(),
                    "the rows do not carry so many derivatives");
            const auto input = joint_input(self, gradient, hessian, group, first_carried, weights);
            return grow<ordinal::HighOrderCriterion>(self, {input, third, order}, growth);
        },
        "growth"_a, "order"_a, "third"_a, "threshold_gradient"_a.noconvert(),
        "threshold_hessian"_a.noconvert(), "group"_a.noconvert(), "first_carried"_a, "weights"_a.noconvert());
}
