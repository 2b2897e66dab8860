// Scores and leaves of raw feature rows.
#pragma once

#include <cstdint>

#include "trees/engine.hpp"

namespace ordinal {

// Trees one after the other; children are next to each other (right = left + 1) and follow their parent.
struct Ensemble {
    int n_trees = 0;
    const std::int64_t* first_node = nullptr;  // (n_trees + 1,)
    const std::int32_t* feature = nullptr;     // -1 in a leaf
    const double* threshold = nullptr;         // values up to it go left
    const std::int32_t* left = nullptr;        // counted within the tree
    const std::uint8_t* missing_left = nullptr;
    // (n_nodes, kSetWords) categories that go left, empty where a threshold says so; null if they all are
    // empty.
    const std::uint64_t* categories = nullptr;
    int n_outputs = 1;
    const double* value = nullptr;  // (n_nodes, n_outputs), of a leaf
};

// scores (n_rows, n_outputs) is added to; leaves (n_rows, n_trees) or null takes the node of each tree.
void predict(const FeatureMatrix& X, const Ensemble& ensemble, double* scores, std::int32_t* leaves,
             int n_threads);

// What the leaves of some trees add, where the leaf of every row and tree is known.
struct LeafTable {
    const std::int32_t* leaves = nullptr;  // (n_rows, n_trees)
    std::int64_t n_rows = 0;
    int n_trees = 0;
    const std::int64_t* first = nullptr;  // (n_trees + 1,) rows of `values` that belong to a tree
    const double* values = nullptr;       // (first[n_trees], n_outputs)
    int n_outputs = 1;
};

// scores (n_rows, n_outputs) is added to. Returns false if a leaf number is out of
// range; the scores are wrong then.
bool add_tree_vectors(const LeafTable& table, double* scores, int n_threads);

}  // namespace ordinal
