#include "trees/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "criteria/every_criterion.hpp"
#include "criteria/list.hpp"
#include "simd/dispatch.hpp"
#include "trees/grower.hpp"
#include "trees/split.hpp"

namespace ordinal {
namespace {

constexpr std::int64_t kBlockRows = 1 << 14;
constexpr int kStrideUnit = 8;

// The largest float32 that is not above x: for float32 values v, v <= x and v <= down(x) are the same.
float round_down(double x) {
    const float nearest = static_cast<float>(x);
    return nearest > x ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
}

template <class Value>
std::vector<Value> padded_cuts(const std::vector<double>& cuts) {
    std::vector<Value> padded(256, std::numeric_limits<Value>::infinity());
    for (std::size_t i = 0; i < cuts.size(); ++i)
        padded[i] = sizeof(Value) == sizeof(float) ? round_down(cuts[i]) : static_cast<Value>(cuts[i]);
    return padded;
}

}  // namespace

Engine::Engine(std::int64_t n_rows, const std::vector<std::vector<double>>& cuts, int n_threads,
               bool in_float64, const std::vector<std::int32_t>& by_category, CategoryRules rules)
    : pool_(std::make_shared<Pool>(n_threads)), in_float64_(in_float64) {
    pool_of_thread() = pool_;
    data_.n_rows = n_rows;
    data_.n_features = static_cast<int>(cuts.size());
    data_.stride = (data_.n_features + kStrideUnit - 1) / kStrideUnit * kStrideUnit;
    row_bins_.resize(static_cast<std::size_t>(n_rows * data_.stride));
    column_bins_.resize(static_cast<std::size_t>(n_rows * data_.n_features + kPadding));
    if (!by_category.empty()) {
        by_category_.assign(cuts.size(), 0);
        for (const std::int32_t feature : by_category) by_category_[static_cast<std::size_t>(feature)] = 1;
        data_.by_category = by_category_.data();
        data_.categories = rules;
    }
    recut(cuts);
}

void Engine::recut(const std::vector<std::vector<double>>& cuts) {
    // Until rows are binned by these cuts, all are in the first bin, which exists.
    if (!cuts_.empty()) {
        std::fill(row_bins_.begin(), row_bins_.end(), std::uint8_t{0});
        std::fill(column_bins_.begin(), column_bins_.end(), std::uint8_t{0});
    }
    cuts_ = cuts;
    n_bins_.clear();
    for (const std::vector<double>& feature : cuts)
        n_bins_.push_back(static_cast<std::int32_t>(feature.size()) + 1);
    data_.rows = row_bins_.data();
    data_.columns = column_bins_.data();
    data_.n_bins = n_bins_.data();
    histograms_ = std::make_unique<LeafHistograms>(data_, *pool_, in_float64_);
}

void Engine::bin(std::int64_t first_row, const FeatureMatrix& X) {
    std::vector<std::vector<float>> narrow;
    std::vector<std::vector<double>> wide;
    for (const std::vector<double>& feature : cuts_) {
        if (X.is_float32)
            narrow.push_back(padded_cuts<float>(feature));
        else
            wide.push_back(padded_cuts<double>(feature));
    }
    const BinColumn bin_column = active_instruction_set().bin_column;
    const std::int64_t block_rows = 1 << 12;
    const std::int64_t n_blocks = (X.n_rows + block_rows - 1) / block_rows;
    pool_->run("bin", n_blocks, X.n_rows * X.n_features > (1 << 14), [&](std::int64_t block) {
        for (int f = 0; f < X.n_features; ++f) {
            BinTask task;
            task.is_float32 = X.is_float32;
            const std::int64_t start = f * X.column_step;
            task.values = X.is_float32 ? static_cast<const void*>(static_cast<const float*>(X.data) + start)
                                       : static_cast<const void*>(static_cast<const double*>(X.data) + start);
            task.step = X.row_step;
            task.begin = block * block_rows;
            task.end = std::min(X.n_rows, task.begin + block_rows);
            task.cuts = X.is_float32 ? static_cast<const void*>(narrow[static_cast<std::size_t>(f)].data())
                                     : static_cast<const void*>(wide[static_cast<std::size_t>(f)].data());
            task.column = column_bins_.data() + f * data_.n_rows + first_row;
            task.rows = row_bins_.data() + first_row * data_.stride + f;
            task.stride = data_.stride;
            bin_column(task);
        }
    });
}

float* Engine::statistics(int n_columns, int n_behind) {
    const RowLayout layout{n_columns, n_behind};
    if (!(layout == layout_) || statistics_.empty()) {
        layout_ = layout;
        const int width = layout.width();
        statistics_.assign(static_cast<std::size_t>(data_.n_rows * width), 0.0f);
        for (std::int64_t i = 0; i < data_.n_rows; ++i)
            statistics_[static_cast<std::size_t>(i * width + layout.count())] = 1.0f;
    }
    return statistics_.data();
}

template <class Criterion>
Tree Engine::grow(const typename Criterion::Input& input, const GrowthLimits& limits,
                  const FeatureRules& rules, const std::vector<std::int32_t>& features,
                  const std::uint32_t* rows, std::int64_t n_rows, std::int32_t* leaf_of_row) {
    histograms_->begin(statistics_.data(), layout_, features, rows, n_rows);
    Tree tree = Grower<Criterion>(*histograms_, input, limits, rules).grow(rows, n_rows);
    note_leaves(tree, rows, leaf_of_row);
    return tree;
}

#define ORDINAL_GROW(folder, Name)                                                                     \
    template Tree Engine::grow<Name##Criterion>(const Name##Criterion::Input&, const GrowthLimits&,    \
                                                const FeatureRules&, const std::vector<std::int32_t>&, \
                                                const std::uint32_t*, std::int64_t, std::int32_t*);
ORDINAL_CRITERIA(ORDINAL_GROW)
#undef ORDINAL_GROW

void Engine::note_leaves(const Tree& tree, const std::uint32_t* rows, std::int32_t* leaf_of_row) {
    if (rows) {
        // Rows outside the sample are not in any leaf: all rows walk down the tree.
        const std::int64_t n_blocks = (data_.n_rows + kBlockRows - 1) / kBlockRows;
        pool_->run("find leaves", n_blocks, true, [&](std::int64_t block) {
            const std::int64_t end = std::min(data_.n_rows, (block + 1) * kBlockRows);
            for (std::int64_t i = block * kBlockRows; i < end; ++i) {
                const std::uint8_t* bins = data_.rows + i * data_.stride;
                std::int32_t node = 0;
                while (tree.nodes[static_cast<std::size_t>(node)].feature >= 0) {
                    const TreeNode& at = tree.nodes[static_cast<std::size_t>(node)];
                    node = at.left + !goes_left(at.split, bins[at.feature]);
                }
                leaf_of_row[i] = node;
            }
        });
        return;
    }
    pool_->run("note leaves", static_cast<std::int64_t>(tree.nodes.size()), data_.n_rows >= kBlockRows,
               [&](std::int64_t index) {
                   const TreeNode& node = tree.nodes[static_cast<std::size_t>(index)];
                   if (node.feature >= 0) return;
                   for (std::int64_t i = node.begin; i < node.end; ++i)
                       leaf_of_row[histograms_->rows()[static_cast<std::size_t>(i)]] =
                           static_cast<std::int32_t>(index);
               });
}

std::vector<double> Engine::leaf_sums(const std::int32_t* leaf_of_row, int n_leaves,
                                      const std::uint32_t* rows, std::int64_t n_rows) {
    // Blocks depend on the number of rows alone, and are added in order: the same sums for any thread count.
    const std::int64_t block_rows = std::max<std::int64_t>(kBlockRows, n_rows / 64 + 1);
    const std::int64_t n_blocks = (n_rows + block_rows - 1) / block_rows;
    const std::size_t size = static_cast<std::size_t>(n_leaves) * static_cast<std::size_t>(width());
    std::vector<double> blocks(static_cast<std::size_t>(n_blocks) * size, 0.0);
    const SumByLeaf sum = active_instruction_set().sum_by_leaf;
    pool_->run("sum by leaf", n_blocks, true, [&](std::int64_t block) {
        SumTask task{statistics_.data(),
                     width(),
                     leaf_of_row,
                     rows,
                     block * block_rows,
                     std::min(n_rows, (block + 1) * block_rows),
                     blocks.data() + static_cast<std::size_t>(block) * size};
        sum(task);
    });
    std::vector<double> sums(size, 0.0);
    for (std::int64_t block = 0; block < n_blocks; ++block)
        for (std::size_t k = 0; k < size; ++k) sums[k] += blocks[static_cast<std::size_t>(block) * size + k];
    return sums;
}

}  // namespace ordinal
