// Registration of the leaf kernels: arrays and leaf numbers arrive checked (ordinal_objectives/rows).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>

#include "arrays.hpp"
#include "rows/leaf_sums.hpp"
#include "rows/score_histogram.hpp"

using namespace nb::literals;

namespace {

template <class Raw, class Real>
void leaf_sums(Vector<Raw> raw, Vector<std::int32_t> y, Vector<double> thresholds,
               std::optional<Vector<Real>> weight, Output<Real> gradient, Output<Real> hessian,
               Vector<std::int32_t> leaves, OutputMatrix<double> sums, int loss, int link, bool majorized,
               double limit, int n_threads, std::optional<Costs<Real>> costs,
               std::optional<Vector<std::uint32_t>> rows) {
    auto round = make_round<Raw, Real>(raw, y, thresholds, weight, gradient, hessian, std::nullopt, loss,
                                       link, majorized, false, limit, costs);
    round.rows = rows ? rows->data() : nullptr;
    const auto n_rows = static_cast<std::int64_t>(rows ? rows->size() : raw.size());
    const auto n_leaves = static_cast<int>(sums.shape(0));
    nb::gil_scoped_release release;
    ordinal::LeafSums result;
    if constexpr (sizeof(Real) == sizeof(float))
        result = ordinal::logit_leaf_sums(round, leaves.data(), n_leaves, n_rows, n_threads);
    else
        result = ordinal::link_leaf_sums(round, leaves.data(), n_leaves, n_rows, n_threads);
    std::copy(result.begin(), result.end(), sums.data());
}

template <class Real>
std::pair<double, double> match_leaves(Vector<Real> before, Vector<Real> after, Vector<double> sorted_values,
                                       Vector<std::int32_t> order, Output<std::int32_t> leaves,
                                       int n_threads) {
    nb::gil_scoped_release release;
    const ordinal::LeafMatch match = ordinal::match_leaves(
        before.data(), after.data(), static_cast<std::int64_t>(before.size()), sorted_values.data(),
        order.data(), static_cast<int>(order.size()), leaves.data(), n_threads);
    return {match.worst_error, match.largest_score};
}

void add_leaf_values(Vector<double> raw, Vector<std::int32_t> leaves, Vector<double> values,
                     Output<double> sums, int n_threads) {
    nb::gil_scoped_release release;
    ordinal::add_leaf_values(raw.data(), leaves.data(), values.data(), static_cast<std::int64_t>(raw.size()),
                             sums.data(), n_threads);
}

void leaf_counts(Vector<std::int32_t> leaves, Output<double> counts, int n_threads) {
    nb::gil_scoped_release release;
    const std::vector<double> result = ordinal::leaf_counts(
        leaves.data(), static_cast<int>(counts.size()), static_cast<std::int64_t>(leaves.size()), n_threads);
    std::copy(result.begin(), result.end(), counts.data());
}

void score_histogram(Vector<double> scores, std::optional<Vector<double>> weight, double low, double per_unit,
                     OutputMatrix<double> sums, int n_threads, std::optional<Vector<std::uint32_t>> rows,
                     std::optional<Vector<std::uint8_t>> light, double factor) {
    const ordinal::ScoreBins bins{low, per_unit, static_cast<int>(sums.shape(1))};
    const ordinal::SomeRows some{rows ? rows->data() : nullptr,
                                 static_cast<std::int64_t>(rows ? rows->size() : scores.size()),
                                 light ? light->data() : nullptr, factor};
    nb::gil_scoped_release release;
    const std::vector<double> result =
        ordinal::score_histogram(scores.data(), weight ? weight->data() : nullptr, some, bins, n_threads);
    std::copy(result.begin(), result.end(), sums.data());
}

}  // namespace

void define_leaves(nb::module_& m) {
    const auto define_sums = [&](auto function) {
        m.def("leaf_sums", function, "raw_prediction"_a.noconvert(), "y"_a.noconvert(),
              "thresholds"_a.noconvert(), "sample_weight"_a.noconvert().none(), "gradient"_a.noconvert(),
              "hessian"_a.noconvert(), "leaves"_a.noconvert(), "sums"_a.noconvert(), "loss"_a, "link"_a,
              "majorized"_a, "limit"_a, "n_threads"_a, "costs"_a.noconvert().none() = nb::none(),
              "rows"_a.noconvert().none() = nb::none());
    };
    define_sums(&leaf_sums<float, float>);
    define_sums(&leaf_sums<double, float>);
    define_sums(&leaf_sums<float, double>);
    define_sums(&leaf_sums<double, double>);
    const auto define_match = [&](auto function) {
        m.def("match_leaves", function, "before"_a.noconvert(), "after"_a.noconvert(),
              "sorted_values"_a.noconvert(), "order"_a.noconvert(), "leaves"_a.noconvert(), "n_threads"_a);
    };
    define_match(&match_leaves<float>);
    define_match(&match_leaves<double>);
    m.def("add_leaf_values", &add_leaf_values, "raw_prediction"_a.noconvert(), "leaves"_a.noconvert(),
          "values"_a.noconvert(), "sums"_a.noconvert(), "n_threads"_a);
    m.def("leaf_counts", &leaf_counts, "leaves"_a.noconvert(), "counts"_a.noconvert(), "n_threads"_a);
    m.def("score_histogram", &score_histogram, "scores"_a.noconvert(), "sample_weight"_a.noconvert().none(),
          "low"_a, "per_unit"_a, "sums"_a.noconvert(), "n_threads"_a,
          "rows"_a.noconvert().none() = nb::none(), "light"_a.noconvert().none() = nb::none(),
          "factor"_a = 1.0);
}
