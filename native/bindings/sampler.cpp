// Registration of what draws rows. Arrays that it returns are its own, and hold until it draws again.
#include "trees/row_sampler.hpp"

#include "bindings/engine.hpp"
#include "bindings/growth.hpp"
#include "trees/out_of_bag.hpp"

namespace {

using Sampler = ordinal::RowSampler;
using Handle = nb::handle_t<Sampler>;

template <class T>
nb::ndarray<nb::numpy, const T> view(const std::vector<T>& values, nb::handle owner) {
    return {values.data(), {values.size()}, owner};
}

void add_tree_of_forest(Vector<std::int32_t> leaf_of_row, Vector<double> value, Vector<std::uint32_t> outside,
                        Output<double> total, Output<double> out_of_bag, Output<std::int64_t> n_out,
                        int n_threads) {
    const std::size_t n = leaf_of_row.size();
    require(total.size() == n && out_of_bag.size() == n && n_out.size() == n,
            "sums must have one entry for each row");
    nb::gil_scoped_release release;
    ordinal::add_tree_of_forest(leaf_of_row.data(), value.data(), static_cast<std::int64_t>(n),
                                outside.data(), static_cast<std::int64_t>(outside.size()),
                                {total.data(), out_of_bag.data(), n_out.data()}, n_threads);
}

}  // namespace

void register_sampler(nb::module_& m) {
    nb::class_<Sampler>(m, "RowSampler")
        .def(
            "__init__",
            [](Sampler* self, std::int64_t n_rows, std::optional<Vector<double>> weight) {
                require(!weight || static_cast<std::int64_t>(weight->size()) == n_rows,
                        "sample_weight must have one entry for each row");
                new (self) Sampler(n_rows, weight ? weight->data() : nullptr);
            },
            "n_rows"_a, "sample_weight"_a.noconvert().none())
        .def_prop_ro("n_eligible", &Sampler::n_eligible)
        .def(
            "draw",
            [](Handle self, std::int64_t n_drawn, std::uint64_t seed, std::uint64_t iteration,
               int n_threads) {
                auto& sampler = nb::cast<Sampler&>(self);
                require(n_drawn >= 1 && n_drawn <= sampler.n_eligible(),
                        "there are not so many rows to draw");
                {
                    nb::gil_scoped_release release;
                    sampler.draw(n_drawn, seed, iteration, n_threads);
                }
                return nb::make_tuple(view(sampler.rows(), self), view(sampler.outside(), self));
            },
            "n_drawn"_a, "seed"_a, "iteration"_a, "n_threads"_a)
        .def(
            "draw_by_gradients",
            [](Handle self, Matrix<float> columns, int n_gradients, double top_rate, double other_rate,
               std::uint64_t seed, std::uint64_t iteration, int n_threads) -> std::optional<nb::tuple> {
                auto& sampler = nb::cast<Sampler&>(self);
                const int width = static_cast<int>(columns.shape(1));
                require(static_cast<std::int64_t>(columns.shape(0)) == sampler.n_rows() && n_gradients >= 1 &&
                            2 * n_gradients <= width,
                        "columns must hold gradients and as many Hessians of each row");
                double factor = 0.0;
                {
                    nb::gil_scoped_release release;
                    factor = sampler.draw_by_gradients(columns.data(), width, n_gradients, top_rate,
                                                       other_rate, seed, iteration, n_threads);
                }
                if (factor == 0.0) return std::nullopt;
                return nb::make_tuple(view(sampler.rows(), self), view(sampler.light(), self), factor);
            },
            "columns"_a.noconvert(), "n_gradients"_a, "top_rate"_a, "other_rate"_a, "seed"_a, "iteration"_a,
            "n_threads"_a);
    m.def("add_tree_of_forest", &add_tree_of_forest, "leaf_of_row"_a.noconvert(), "value"_a.noconvert(),
          "outside"_a.noconvert(), "total"_a.noconvert(), "out_of_bag"_a.noconvert(), "n_out"_a.noconvert(),
          "n_threads"_a);
}
