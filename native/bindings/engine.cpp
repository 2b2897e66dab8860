// Registration of the histogram engine: arrays arrive checked (histogram_engine/), the core does the work.
#include "engine.hpp"

#include "bindings/growth.hpp"
#include "criteria/every_binding.hpp"
#include "trees/predictor.hpp"

namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 31;

ordinal::FeatureMatrix feature_matrix(const Features& X) {
    require(X.dtype() == nb::dtype<float>() || X.dtype() == nb::dtype<double>(),
            "X must hold float32 or float64");
    require(X.shape(0) < static_cast<std::size_t>(kMostRows), "X must have less than 2147483648 rows");
    ordinal::FeatureMatrix matrix;
    matrix.data = X.data();
    matrix.is_float32 = X.dtype() == nb::dtype<float>();
    matrix.n_rows = static_cast<std::int64_t>(X.shape(0));
    matrix.n_features = static_cast<int>(X.shape(1));
    matrix.row_step = X.stride(0);
    matrix.column_step = X.stride(1);
    return matrix;
}

// A bin is a byte, and the last one is that of missing values.
void require_cuts(const std::vector<std::vector<double>>& cuts, int n_features) {
    require(static_cast<std::int64_t>(cuts.size()) == n_features, "cuts must have one list for each feature");
    for (const std::vector<double>& feature : cuts) {
        require(feature.size() <= 254, "a feature has at most 254 cuts");
        for (std::size_t i = 0; i < feature.size(); ++i)
            require(i == 0 ? feature[i] == feature[i] : feature[i - 1] < feature[i], "cuts must increase");
    }
}

// scores and value have one axis more where a leaf has several values.
void predict(Features X, Vector<std::int64_t> first_node, Vector<std::int32_t> feature,
             Vector<double> threshold, Vector<std::int32_t> left, Vector<std::uint8_t> missing_left,
             std::optional<Matrix<std::uint64_t>> categories,
             nb::ndarray<const double, nb::c_contig, nb::device::cpu> value,
             nb::ndarray<double, nb::c_contig, nb::device::cpu> scores,
             std::optional<OutputMatrix<std::int32_t>> leaves, int n_threads) {
    const std::size_t n_nodes = feature.size();
    const std::size_t n_outputs = scores.ndim() == 2 ? scores.shape(1) : 1;
    require(threshold.size() == n_nodes && left.size() == n_nodes && missing_left.size() == n_nodes &&
                value.size() == n_nodes * n_outputs,
            "arrays over nodes must have one size");
    require(!categories || (categories->shape(0) == n_nodes && categories->shape(1) == ordinal::kSetWords),
            "categories must have one set for each node");
    require(first_node.size() >= 1 && first_node(0) >= 0 &&
                first_node(first_node.size() - 1) <= static_cast<std::int64_t>(n_nodes),
            "first_node must be among the nodes");
    for (std::size_t t = 1; t < first_node.size(); ++t)
        require(first_node(t - 1) < first_node(t), "every tree must have a node");
    require(scores.ndim() >= 1 && scores.shape(0) == X.shape(0), "scores must have one entry for each row");
    require(!leaves || (leaves->shape(0) == X.shape(0) && leaves->shape(1) + 1 == first_node.size()),
            "leaves must have one entry for each row and tree");
    const ordinal::Ensemble ensemble{static_cast<int>(first_node.size()) - 1,
                                     first_node.data(),
                                     feature.data(),
                                     threshold.data(),
                                     left.data(),
                                     missing_left.data(),
                                     categories ? categories->data() : nullptr,
                                     static_cast<int>(n_outputs),
                                     value.data()};
    const ordinal::FeatureMatrix matrix = feature_matrix(X);
    nb::gil_scoped_release release;
    ordinal::predict(matrix, ensemble, scores.data(), leaves ? leaves->data() : nullptr, n_threads);
}

void add_tree_vectors(OutputMatrix<const std::int32_t> leaves, Vector<std::int64_t> first,
                      Matrix<double> values, OutputMatrix<double> scores, int n_threads) {
    ordinal::LeafTable table;
    table.leaves = leaves.data();
    table.n_rows = static_cast<std::int64_t>(leaves.shape(0));
    table.n_trees = static_cast<int>(leaves.shape(1));
    table.first = first.data();
    table.values = values.data();
    table.n_outputs = static_cast<int>(values.shape(1));
    require(first.size() == leaves.shape(1) + 1 && scores.shape(0) == leaves.shape(0) &&
                scores.shape(1) == values.shape(1) &&
                first.data()[leaves.shape(1)] == static_cast<std::int64_t>(values.shape(0)),
            "leaves, values and scores must belong together");
    bool inside = false;
    {
        nb::gil_scoped_release release;
        inside = ordinal::add_tree_vectors(table, scores.data(), n_threads);
    }
    require(inside, "a row is in a leaf that its tree does not have");
}

}  // namespace

void register_engine(nb::module_& m) {
    nb::class_<Growth>(m, "Growth")
        .def(
            "__init__",
            [](Growth* self, const std::vector<std::int32_t>& features,
               std::optional<Vector<std::uint32_t>> rows, Output<std::int32_t> leaf_of_row, int max_leaves,
               int max_depth, double min_samples_leaf, double min_child_weight, double l2, double min_gain,
               double max_features, std::uint64_t seed, const std::vector<std::vector<std::int32_t>>& groups,
               const std::vector<std::int8_t>& signs, int n_gradients, double category_noise) {
                new (self) Growth{
                    features,
                    rows,
                    leaf_of_row,
                    {max_leaves, max_depth, min_samples_leaf, min_child_weight, l2, min_gain, category_noise},
                    {max_features, seed, groups, signs, n_gradients}};
            },
            "features"_a, "rows"_a.noconvert().none(), "leaf_of_row"_a.noconvert(), "max_leaves"_a,
            "max_depth"_a, "min_samples_leaf"_a, "min_child_weight"_a, "l2"_a, "min_gain"_a,
            "max_features"_a = 1.0, "seed"_a = 0, "groups"_a = std::vector<std::vector<std::int32_t>>{},
            "signs"_a = std::vector<std::int8_t>{}, "n_gradients"_a = 1, "category_noise"_a = 0.0);
    nb::class_<ordinal::Engine> engine(m, "Engine");
    engine
        .def(
            "__init__",
            [](ordinal::Engine* self, std::int64_t n_rows, const std::vector<std::vector<double>>& cuts,
               int n_threads, bool in_float64, const std::vector<std::int32_t>& by_category,
               double min_category_rows) {
                require(n_rows >= 0 && n_rows < kMostRows, "X must have less than 2147483648 rows");
                require_cuts(cuts, static_cast<int>(cuts.size()));
                for (const std::int32_t feature : by_category)
                    require(feature >= 0 && feature < static_cast<int>(cuts.size()),
                            "features of categories must be among those of X");
                require(min_category_rows >= 1.0, "min_category_rows must be at least 1");
                nb::gil_scoped_release release;
                new (self)
                    ordinal::Engine(n_rows, cuts, n_threads, in_float64, by_category, {min_category_rows});
            },
            "n_rows"_a.noconvert(), "cuts"_a, "n_threads"_a, "in_float64"_a = false,
            "by_category"_a = std::vector<std::int32_t>(), "min_category_rows"_a = 1.0)
        .def(
            "recut",
            [](ordinal::Engine& self, const std::vector<std::vector<double>>& cuts) {
                require_cuts(cuts, self.n_features());
                self.recut(cuts);
            },
            "cuts"_a)
        .def(
            "bin",
            [](ordinal::Engine& self, std::int64_t first_row, Features X) {
                const ordinal::FeatureMatrix matrix = feature_matrix(X);
                require(matrix.n_features == self.n_features() && first_row >= 0 &&
                            first_row <= self.n_rows() - matrix.n_rows,
                        "X must be rows that the engine was made for");
                nb::gil_scoped_release release;
                self.bin(first_row, matrix);
            },
            "first_row"_a, "X"_a.noconvert())
        .def_prop_ro("width", &ordinal::Engine::width)
        .def(
            "statistics",
            [](nb::handle_t<ordinal::Engine> self, int n_columns, int n_behind) {
                auto& engine = nb::cast<ordinal::Engine&>(self);
                float* data = engine.statistics(n_columns, n_behind);
                return nb::ndarray<nb::numpy, float>(
                    data,
                    {static_cast<std::size_t>(engine.n_rows()), static_cast<std::size_t>(engine.width())},
                    self);
            },
            "n_columns"_a, "n_behind"_a = 0)
        .def(
            "weigh",
            [](ordinal::Engine& self, Vector<std::uint32_t> rows, Vector<std::uint8_t> light, float factor) {
                require(rows.size() == light.size(), "rows and light must have one size");
                self.weigh(rows.data(), light.data(), static_cast<std::int64_t>(rows.size()), factor);
            },
            "rows"_a.noconvert(), "light"_a.noconvert(), "factor"_a)
        .def(
            "unweigh",
            [](ordinal::Engine& self, Vector<std::uint32_t> rows, Vector<std::uint8_t> light) {
                self.unweigh(rows.data(), light.data(), static_cast<std::int64_t>(rows.size()));
            },
            "rows"_a.noconvert(), "light"_a.noconvert())
        .def(
            "leaf_sums",
            [](ordinal::Engine& self, Vector<std::int32_t> leaf_of_row, int n_leaves,
               std::optional<Vector<std::uint32_t>> rows) {
                require(static_cast<std::int64_t>(leaf_of_row.size()) == self.n_rows(),
                        "leaf_of_row must have one entry for each row");
                std::vector<double> sums;
                {
                    nb::gil_scoped_release release;
                    sums = self.leaf_sums(leaf_of_row.data(), n_leaves, rows ? rows->data() : nullptr,
                                          rows ? static_cast<std::int64_t>(rows->size()) : self.n_rows());
                }
                return as_array(std::move(sums),
                                {static_cast<std::size_t>(n_leaves), static_cast<std::size_t>(self.width())});
            },
            "leaf_of_row"_a.noconvert(), "n_leaves"_a, "rows"_a.noconvert().none());
#define ORDINAL_REGISTER(folder, Name) register_##folder(engine);
    ORDINAL_CRITERIA(ORDINAL_REGISTER)
#undef ORDINAL_REGISTER
    m.attr("max_joint_classes") = ordinal::kMostCross + 1;
    m.attr("max_vector_classes") = ordinal::kMostGroups + 1;
    m.attr("max_outputs") = ordinal::kMostOutputs;
    m.attr("max_full_outputs") = ordinal::kMostFullOutputs;
    m.def("predict", &predict, "X"_a.noconvert(), "first_node"_a.noconvert(), "feature"_a.noconvert(),
          "threshold"_a.noconvert(), "left"_a.noconvert(), "missing_left"_a.noconvert(),
          "categories"_a.noconvert().none(), "value"_a.noconvert(), "scores"_a.noconvert(),
          "leaves"_a.noconvert().none(), "n_threads"_a);
    m.def("add_tree_vectors", &add_tree_vectors, "leaves"_a.noconvert(), "first"_a.noconvert(),
          "values"_a.noconvert(), "scores"_a.noconvert(), "n_threads"_a);
}
