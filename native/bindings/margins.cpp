// Registration of the kernels over margins: arrays arrive checked (ordinal_objectives/rows/margins.py).
#include "rows/margins.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "arrays.hpp"
#include "sums.hpp"

using namespace nb::literals;

namespace {

// float scores: the vector lanes of the logit link. double scores: any link.
template <class Real>
nb::dict margin_statistics(OutputMatrix<const Real> scores, std::optional<Vector<std::int32_t>> score_of,
                           Vector<std::int32_t> y, Vector<double> thresholds,
                           std::optional<Vector<Real>> weight, std::optional<Output<Real>> gradient,
                           std::optional<Output<Real>> hessian, std::optional<OutputRows<float>> columns,
                           int held, std::optional<Vector<std::int32_t>> group, int n_groups,
                           std::optional<Vector<std::int32_t>> leaves,
                           std::optional<OutputMatrix<double>> leaf_sums, int loss, int link, bool majorized,
                           bool want_loss, bool sorted, double limit, int n_threads,
                           std::optional<Costs<Real>> costs) {
    ordinal::MarginRound<Real> round;
    round.scores = scores.data();
    round.n_scores = static_cast<int>(scores.shape(0));
    round.score_of = score_of ? score_of->data() : nullptr;
    round.n_rows = static_cast<std::int64_t>(scores.shape(1));
    round.y = y.data();
    round.weight = weight ? weight->data() : nullptr;
    round.thresholds = thresholds.data();
    round.n_thresholds = static_cast<int>(thresholds.size());
    round.loss = static_cast<ordinal::Loss>(loss);
    round.costs = costs ? costs->data() : nullptr;
    round.link = static_cast<ordinal::Link>(link);
    round.majorized = majorized;
    round.want_loss = want_loss;
    round.sorted = sorted;
    round.limit = limit;
    round.gradient = gradient ? gradient->data() : nullptr;
    round.hessian = hessian ? hessian->data() : nullptr;
    round.columns = columns ? columns->data() : nullptr;
    round.columns_step = columns ? columns->stride(0) : 0;
    round.held = static_cast<ordinal::Columns>(held);
    round.group = group ? group->data() : nullptr;
    round.n_groups = n_groups;
    ordinal::RoundSums sums;
    {
        nb::gil_scoped_release release;
        if (leaves) {
            const auto result = ordinal::margin_leaf_sums(round, leaves->data(),
                                                          static_cast<int>(leaf_sums->shape(0)), n_threads);
            std::copy(result.begin(), result.end(), leaf_sums->data());
        } else {
            sums = ordinal::margin_statistics(round, n_threads);
        }
    }
    return as_dict(sums);
}

template <class Real>
void add_leaf_vectors(OutputMatrix<const Real> scores, Vector<std::int32_t> leaves,
                      OutputMatrix<const Real> values, OutputMatrix<Real> sums, int n_threads) {
    nb::gil_scoped_release release;
    ordinal::add_leaf_vectors(scores.data(), leaves.data(), values.data(),
                              static_cast<std::int64_t>(scores.shape(1)), static_cast<int>(scores.shape(0)),
                              static_cast<int>(values.shape(1)), sums.data(), n_threads);
}

}  // namespace

void define_margins(nb::module_& m) {
    const auto define = [&](auto statistics, auto add) {
        m.def("margin_statistics", statistics, "scores"_a.noconvert(), "score_of"_a.noconvert().none(),
              "y"_a.noconvert(), "thresholds"_a.noconvert(), "sample_weight"_a.noconvert().none(),
              "gradient"_a.noconvert().none(), "hessian"_a.noconvert().none(), "columns"_a.noconvert().none(),
              "held"_a, "group"_a.noconvert().none(), "n_groups"_a, "leaves"_a.noconvert().none(),
              "leaf_sums"_a.noconvert().none(), "loss"_a, "link"_a, "majorized"_a, "want_loss"_a, "sorted"_a,
              "limit"_a, "n_threads"_a, "costs"_a.noconvert().none() = nb::none());
        m.def("add_leaf_vectors", add, "scores"_a.noconvert(), "leaves"_a.noconvert(), "values"_a.noconvert(),
              "sums"_a.noconvert(), "n_threads"_a);
    };
    define(&margin_statistics<float>, &add_leaf_vectors<float>);
    define(&margin_statistics<double>, &add_leaf_vectors<double>);
}
