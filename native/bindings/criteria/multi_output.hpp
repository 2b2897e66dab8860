// The multi-output criterion: how many outputs, and which Hessian rows carry.
#pragma once

#include "bindings/growth.hpp"
#include "criteria/multi_output/criterion.hpp"

inline ordinal::MultiOutputCriterion::Input multi_output_input(const ordinal::Engine& engine,
                                                               const Growth& growth, int n_outputs,
                                                               const std::string& hessian, int first_hessian,
                                                               int max_outputs, bool restricted) {
    using ordinal::OutputHessian;
    require(hessian == "shared" || hessian == "diagonal" || hessian == "full",
            "hessian must be 'shared', 'diagonal' or 'full'");
    const auto kind = hessian == "shared"     ? OutputHessian::shared
                      : hessian == "diagonal" ? OutputHessian::diagonal
                                              : OutputHessian::full;
    const bool full = kind == OutputHessian::full;
    const int most = full ? ordinal::kMostFullOutputs : ordinal::kMostOutputs;
    require(n_outputs >= 1 && n_outputs <= most, "too many outputs");
    const int n_hessians = full                              ? n_outputs * (n_outputs + 1) / 2
                           : kind == OutputHessian::diagonal ? n_outputs
                                                             : 1;
    require(first_hessian >= n_outputs && first_hessian + n_hessians <= engine.width(),
            "the rows do not carry so many derivatives");
    require(max_outputs >= 1 && max_outputs <= n_outputs, "max_outputs must be between 1 and n_outputs");
    require(!full || (max_outputs == n_outputs && growth.limits.l2 > 0.0),
            "a full Hessian needs all outputs and a positive l2");
    ordinal::MultiOutputLeaf input;
    input.n_outputs = n_outputs;
    input.hessian = kind;
    input.first_hessian = first_hessian;
    input.most = max_outputs;
    input.restricted = restricted;
    return input;
}

inline void register_multi_output(nb::class_<ordinal::Engine>& engine) {
    engine.def(
        "grow_multi_output",
        [](ordinal::Engine& self, const Growth& growth, int n_outputs, const std::string& hessian,
           int first_hessian, int max_outputs, bool restricted) {
            return grow<ordinal::MultiOutputCriterion>(
                self,
                multi_output_input(self, growth, n_outputs, hessian, first_hessian, max_outputs, restricted),
                growth);
        },
        "growth"_a, "n_outputs"_a, "hessian"_a, "first_hessian"_a, "max_outputs"_a, "restricted"_a);
}
