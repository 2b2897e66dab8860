// What every criterion's registration uses: arrays as Python passes them, and growing a tree.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "trees/engine.hpp"

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutputMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Features = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

template <class T>
nb::ndarray<nb::numpy, T> as_array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

// The set of bins that go left at each node, (n_nodes, kSetWords), empty where a bin is compared; None if no
// split is by a set.
inline nb::object categories_of(const ordinal::Tree& tree) {
    const std::size_t n = tree.nodes.size(), words = ordinal::kSetWords;
    std::vector<std::uint64_t> sets(n * words);
    bool any = false;
    for (std::size_t i = 0; i < n; ++i) {
        const ordinal::Split& split = tree.nodes[i].split;
        any |= split.by_category;
        for (std::size_t k = 0; split.by_category && k < words; ++k) sets[i * words + k] = split.left[k];
    }
    return any ? nb::cast(as_array(std::move(sets), {n, words})) : nb::none();
}

inline nb::dict as_dict(const ordinal::Tree& tree) {
    const std::size_t n = tree.nodes.size();
    std::vector<std::int32_t> feature(n), bin(n), left(n), parent(n);
    std::vector<std::uint8_t> missing_left(n);
    std::vector<double> gain(n);
    std::vector<std::int64_t> count(n);
    for (std::size_t i = 0; i < n; ++i) {
        const ordinal::TreeNode& node = tree.nodes[i];
        feature[i] = node.feature;
        bin[i] = node.split.last_left;
        left[i] = node.left;
        parent[i] = node.parent;
        missing_left[i] = node.split.missing_left;
        gain[i] = node.gain;
        count[i] = node.end - node.begin;
    }
    nb::dict result;
    result["feature"] = as_array(std::move(feature), {n});
    result["bin"] = as_array(std::move(bin), {n});
    result["left"] = as_array(std::move(left), {n});
    result["parent"] = as_array(std::move(parent), {n});
    result["missing_left"] = as_array(std::move(missing_left), {n});
    result["gain"] = as_array(std::move(gain), {n});
    result["count"] = as_array(std::move(count), {n});
    result["categories"] = categories_of(tree);
    return result;
}

// What growing by any criterion takes beside the criterion's own input.
struct Growth {
    std::vector<std::int32_t> features;
    std::optional<Vector<std::uint32_t>> rows;
    Output<std::int32_t> leaf_of_row;
    ordinal::GrowthLimits limits;
    ordinal::FeatureRules rules;
};

template <class Criterion>
nb::dict grow(ordinal::Engine& engine, const typename Criterion::Input& input, const Growth& growth) {
    require(static_cast<std::int64_t>(growth.leaf_of_row.size()) == engine.n_rows(),
            "leaf_of_row must have one entry for each row");
    for (const std::int32_t feature : growth.features)
        require(feature >= 0 && feature < engine.n_features(), "features must be among those of X");
    require(growth.rules.signs.empty() || static_cast<int>(growth.rules.signs.size()) == engine.n_features(),
            "signs must have one entry for each feature");
    require(growth.rules.n_gradients >= 1 && 2 * growth.rules.n_gradients <= engine.width(),
            "the rows must hold gradients and as many Hessians");
    const std::uint32_t* rows = growth.rows ? growth.rows->data() : nullptr;
    const std::int64_t n_rows =
        growth.rows ? static_cast<std::int64_t>(growth.rows->size()) : engine.n_rows();
    ordinal::Tree tree;
    {
        // Only pointers into arrays that the caller's frame keeps alive are used from here on.
        nb::gil_scoped_release release;
        tree = engine.grow<Criterion>(input, growth.limits, growth.rules, growth.features, rows, n_rows,
                                      growth.leaf_of_row.data());
    }
    return as_dict(tree);
}
