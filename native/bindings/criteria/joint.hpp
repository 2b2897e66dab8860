// The joint criterion: sums over thresholds, and the cross terms that rows carry.
#pragma once

#include "bindings/growth.hpp"
#include "criteria/joint/criterion.hpp"

inline ordinal::JointCriterion::Input joint_input(const ordinal::Engine& engine,
                                                  const Vector<double>& gradient,
                                                  const Matrix<double>& hessian,
                                                  const Vector<std::int32_t>& group, int first_carried,
                                                  const Matrix<double>& weights) {
    const std::size_t n = gradient.size();
    require(hessian.shape(0) == n && hessian.shape(1) == n && group.size() == n && weights.shape(1) == n,
            "sums over thresholds must have one size");
    require(first_carried >= 0 && first_carried + static_cast<int>(weights.shape(0)) <= engine.width(),
            "the rows do not carry so many cross terms");
    ordinal::JointCriterion::Input input;
    input.n = static_cast<int>(n);
    input.gradient = gradient.data();
    input.hessian = hessian.data();
    input.group = group.data();
    input.first_carried = first_carried;
    input.n_carried = static_cast<int>(weights.shape(0));
    input.weights = weights.data();
    return input;
}

inline void register_joint(nb::class_<ordinal::Engine>& engine) {
    engine.def(
        "grow_joint",
        [](ordinal::Engine& self, const Growth& growth, Vector<double> gradient, Matrix<double> hessian,
           Vector<std::int32_t> group, int first_carried, Matrix<double> weights) {
            const auto input = joint_input(self, gradient, hessian, group, first_carried, weights);
            return grow<ordinal::JointCriterion>(self, input, growth);
        },
        "growth"_a, "threshold_gradient"_a.noconvert(), "threshold_hessian"_a.noconvert(),
        "group"_a.noconvert(), "first_carried"_a, "weights"_a.noconvert());
}
