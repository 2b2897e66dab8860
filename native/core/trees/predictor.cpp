#include "trees/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "simd/dispatch.hpp"
#include "threads/parallel.hpp"
#include "trees/split.hpp"

namespace ordinal {
namespace {

constexpr int kRows = kMaskRows;  // of a block; its values and a tree's nodes share the first-level cache
constexpr int kAtOnce = 16;       // rows that walk down a tree together, so that their loads overlap

// A leaf is its own child on both sides, so that rows which reach it early stay there.
struct Node {
    double threshold;      // of a set of categories its place
    std::int32_t feature;  // with the sign bit: a set of categories goes left
    std::int32_t left;     // with the sign bit: missing values go left
};

struct PackedTree {
    std::vector<Node> nodes;
    std::vector<std::uint64_t> sets;
    std::vector<double> values;
    std::vector<NodeTest> tests;                // empty where rows have to walk
    std::int32_t leaf_nodes[kMaskLeaves] = {};  // from left to right

    const std::uint64_t* set(const Node& node) const {
        return sets.data() + static_cast<std::size_t>(node.threshold);
    }
};

// Throws std::invalid_argument unless every walk from the root stays in the tree and ends in a leaf.
PackedTree pack(const Ensemble& ensemble, int tree, int n_features) {
    const std::int64_t first = ensemble.first_node[tree];
    const std::size_t size = static_cast<std::size_t>(ensemble.first_node[tree + 1] - first);
    PackedTree packed;
    packed.nodes.resize(size);
    const std::size_t n_outputs = static_cast<std::size_t>(ensemble.n_outputs);
    const double* values = ensemble.value + first * ensemble.n_outputs;
    packed.values.assign(values, values + size * n_outputs);
    constexpr std::int32_t kSign = std::numeric_limits<std::int32_t>::min();
    for (std::size_t i = 0; i < size; ++i) {
        const std::int64_t at = first + static_cast<std::int64_t>(i);
        if (ensemble.feature[at] < 0) {
            packed.nodes[i] = {std::numeric_limits<double>::infinity(), 0,
                               static_cast<std::int32_t>(i) | kSign};
        } else {
            const std::int32_t left = ensemble.left[at];
            if (ensemble.feature[at] >= n_features || left <= static_cast<std::int64_t>(i) ||
                left + std::int64_t{1} >= static_cast<std::int64_t>(size))
                throw std::invalid_argument("tree " + std::to_string(tree) +
                                            " is damaged: a node leads out of it, or reads no feature of X");
            packed.nodes[i] = {ensemble.threshold[at], ensemble.feature[at],
                               ensemble.missing_left[at] ? left | kSign : left};
            const std::uint64_t* set = ensemble.categories ? ensemble.categories + at * kSetWords : nullptr;
            if (set && std::any_of(set, set + kSetWords, [](std::uint64_t word) { return word != 0; })) {
                packed.nodes[i].threshold = static_cast<double>(packed.sets.size());
                packed.nodes[i].feature |= kSign;
                packed.sets.insert(packed.sets.end(), set, set + kSetWords);
            }
        }
    }
    return packed;
}

// Asks nodes in place of walks, if the tree has few leaves and no categories.
void ask_nodes(PackedTree& tree) {
    const std::vector<Node>& nodes = tree.nodes;
    if (nodes.size() >= 2 * kMaskLeaves || !tree.sets.empty()) return;
    const auto left_of = [&](std::size_t i) { return static_cast<std::size_t>(nodes[i].left & 0x7fffffff); };
    int n_leaves[2 * kMaskLeaves], first[2 * kMaskLeaves] = {};  // under each node
    for (std::size_t i = nodes.size(); i-- > 0;) {
        n_leaves[i] = left_of(i) == i ? 1 : n_leaves[left_of(i)] + n_leaves[left_of(i) + 1];
        if (n_leaves[i] > kMaskLeaves) return;  // of nodes that are no tree
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::size_t left = left_of(i);
        if (left == i) {
            tree.leaf_nodes[first[i]] = static_cast<std::int32_t>(i);
            continue;
        }
        first[left] = first[i];
        first[left + 1] = first[i] + n_leaves[left];
        const std::uint64_t on_left = ((std::uint64_t{1} << n_leaves[left]) - 1) << first[i];
        tree.tests.push_back({nodes[i].threshold, ~on_left, nodes[i].feature, nodes[i].left < 0});
    }
}

// A column of kRows values for each feature.
template <class Value>
void copy_rows(const FeatureMatrix& X, std::int64_t begin, int n, double* block) {
    const Value* data = static_cast<const Value*>(X.data);
    for (int i = 0; i < n; ++i)
        for (int f = 0; f < X.n_features; ++f)
            block[f * kRows + i] = static_cast<double>(data[(begin + i) * X.row_step + f * X.column_step]);
}

// Ends when all rows are in leaves: in a tree grown best first, most leaves are far above the deepest one.
template <bool kSets>
inline void walk(const PackedTree& tree, const double* block, std::int32_t* at) {
    const Node* nodes = tree.nodes.data();
    for (std::int32_t moved = 1; moved != 0;) {
        moved = 0;
        for (int i = 0; i < kAtOnce; ++i) {
            const Node& node = nodes[at[i]];
            const double x = block[(kSets ? node.feature & 0x7fffffff : node.feature) * kRows + i];
            const std::int32_t left = node.left & 0x7fffffff;
            const bool to_left = kSets && node.feature < 0 ? goes_left(tree.set(node), x)
                                                           : goes_left(node.threshold, node.left < 0, x);
            const std::int32_t next = left + !to_left;
            moved |= next ^ at[i];
            at[i] = next;
        }
    }
}

inline int first_bit(std::uint64_t mask) {
#if defined(__GNUC__)
    return __builtin_ctzll(mask);
#else
    int bit = 0;
    for (; !(mask & 1); mask >>= 1) ++bit;
    return bit;
#endif
}

// The leaves of the rows of a block.
void find_leaves(const PackedTree& tree, MaskLeaves mask_leaves, const double* block, int n,
                 std::int32_t* at) {
    if (!tree.tests.empty()) {
        std::uint64_t reached[kRows];
        mask_leaves(tree.tests.data(), static_cast<int>(tree.tests.size()), block, reached);
        for (int i = 0; i < n; ++i) at[i] = tree.leaf_nodes[first_bit(reached[i])];
        return;
    }
    std::fill(at, at + kRows, 0);
    for (int i = 0; i < n; i += kAtOnce) {
        if (tree.sets.empty())
            walk<false>(tree, block + i, at + i);
        else
            walk<true>(tree, block + i, at + i);
    }
}

}  // namespace

void predict(const FeatureMatrix& X, const Ensemble& ensemble, double* scores, std::int32_t* leaves,
             int n_threads) {
    std::vector<PackedTree> trees;
    trees.reserve(static_cast<std::size_t>(ensemble.n_trees));
    for (int t = 0; t < ensemble.n_trees; ++t) {
        trees.push_back(pack(ensemble, t, X.n_features));
        if (X.n_rows >= kRows) ask_nodes(trees.back());  // for fewer rows it does not pay
    }
    const MaskLeaves mask_leaves = active_instruction_set().mask_leaves;
    const AddValues add_values = active_instruction_set().add_values;
    const int n_outputs = ensemble.n_outputs;
    const std::int64_t block_rows = 16 * kRows;
    const std::int64_t n_blocks = (X.n_rows + block_rows - 1) / block_rows;
    n_threads = static_cast<int>(std::min<std::int64_t>(n_threads, std::max<std::int64_t>(n_blocks, 1)));
    const std::size_t block_size = static_cast<std::size_t>(kRows) * static_cast<std::size_t>(X.n_features);
    std::vector<double> blocks(static_cast<std::size_t>(n_threads) * block_size, 0.0);
    std::atomic<int> next_worker{0};
    parallel_blocks("predict", n_threads, n_threads, [&](std::int64_t) {
        // Each worker takes every n_threads-th block and keeps one buffer.
        const int worker = next_worker++;
        double* block = blocks.data() + static_cast<std::size_t>(worker) * block_size;
        for (std::int64_t b = worker; b < n_blocks; b += n_threads)
            for (std::int64_t begin = b * block_rows; begin < std::min(X.n_rows, (b + 1) * block_rows);
                 begin += kRows) {
                const int n = static_cast<int>(std::min<std::int64_t>(kRows, X.n_rows - begin));
                if (X.is_float32)
                    copy_rows<float>(X, begin, n, block);
                else
                    copy_rows<double>(X, begin, n, block);
                for (std::size_t t = 0; t < trees.size(); ++t) {
                    std::int32_t at[kRows];
                    find_leaves(trees[t], mask_leaves, block, n, at);
                    add_values(trees[t].values.data(), n_outputs, at, n, scores + begin * n_outputs);
                    if (leaves)
                        for (int i = 0; i < n; ++i)
                            leaves[(begin + i) * ensemble.n_trees + static_cast<std::int64_t>(t)] = at[i];
                }
            }
    });
}

bool add_tree_vectors(const LeafTable& table, double* scores, int n_threads) {
    constexpr std::int64_t kBlock = 256;
    std::atomic<bool> inside{true};
    parallel_blocks("add tree vectors", (table.n_rows + kBlock - 1) / kBlock, n_threads, [&](std::int64_t b) {
        const std::int64_t end = std::min(table.n_rows, (b + 1) * kBlock);
        for (std::int64_t i = b * kBlock; i < end; ++i) {
            double* score = scores + i * table.n_outputs;
            const std::int32_t* leaves = table.leaves + i * table.n_trees;
            for (int t = 0; t < table.n_trees; ++t) {
                const std::int64_t at = table.first[t] + leaves[t];
                if (leaves[t] < 0 || at >= table.first[t + 1]) {
                    inside = false;
                    return;
                }
                const double* value = table.values + at * table.n_outputs;
                for (int k = 0; k < table.n_outputs; ++k) score[k] += value[k];
            }
        }
    });
    return inside;
}

}  // namespace ordinal
