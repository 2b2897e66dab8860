#include "trees/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "criteria/every_criterion.hpp"
#include "criteria/list.hpp"
#include "simd/dispatch.hpp"
#include "trees/grower.hpp"
#include "trees/split.hpp"

namespace ordinal {
namespace {

constexpr int kStrideUnit = 8;
constexpr std::int32_t kUnknown = -1;  // leaf of a row
constexpr int kFewest = 4;             // columns: a row has a multiple of them

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
    if (!cuts_.empty()) std::fill(column_bins_.begin(), column_bins_.end(), std::uint8_t{0});
    cuts_ = cuts;
    n_bins_.clear();
    for (const std::vector<double>& feature : cuts)
        n_bins_.push_back(static_cast<std::int32_t>(feature.size()) + 1);
    planes_ = std::make_unique<Planes>(n_bins_);
    data_.planes = planes_.get();
    data_.stride = (planes_->n_planes() + kStrideUnit - 1) / kStrideUnit * kStrideUnit;
    row_bins_.assign(static_cast<std::size_t>(data_.n_rows * data_.stride), 0);
    data_.rows = row_bins_.data();
    data_.columns = column_bins_.data();
    data_.n_bins = n_bins_.data();
    histograms_ = std::make_unique<HistogramStore>(data_, *pool_, in_float64_);
    partition_ = std::make_unique<RowPartition>(data_, *pool_);
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
    const std::int64_t n_blocks = (X.n_rows + kBinBlock - 1) / kBinBlock;
    pool_->run("bin", n_blocks, X.n_rows * X.n_features > kWorthValues, [&](std::int64_t block) {
        for (int f = 0; f < X.n_features; ++f) {
            BinTask task;
            task.is_float32 = X.is_float32;
            const std::int64_t start = f * X.column_step;
            task.values = X.is_float32 ? static_cast<const void*>(static_cast<const float*>(X.data) + start)
                                       : static_cast<const void*>(static_cast<const double*>(X.data) + start);
            task.step = X.row_step;
            task.begin = block * kBinBlock;
            task.end = std::min(X.n_rows, task.begin + kBinBlock);
            task.cuts = X.is_float32 ? static_cast<const void*>(narrow[static_cast<std::size_t>(f)].data())
                                     : static_cast<const void*>(wide[static_cast<std::size_t>(f)].data());
            task.column = column_bins_.data() + f * data_.n_rows + first_row;
            const Place& place = planes_->of(f);
            task.rows = row_bins_.data() + first_row * data_.stride + place.plane;
            task.stride = data_.stride;
            task.code_step = place.step;
            task.missing = place.missing;
            task.is_first = place.is_first;
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
    partition_->begin(rows, n_rows);
    histograms_->begin(statistics_.data(), layout_, rules.n_gradients, features, rows, n_rows);
    Tree tree = Grower<Criterion>(*histograms_, *partition_, input, limits, rules).grow(rows, n_rows);
    if (rows)
        pool_->run("note leaves", (data_.n_rows + kEngineBlock - 1) / kEngineBlock,
                   data_.n_rows >= kEngineBlock, [&](std::int64_t block) {
                       const std::int64_t begin = block * kEngineBlock;
                       std::fill(leaf_of_row + begin,
                                 leaf_of_row + std::min(data_.n_rows, begin + kEngineBlock), kUnknown);
                   });
    note_leaves(tree, leaf_of_row);
    if (rows) find_leaves(tree, leaf_of_row);
    return tree;
}

#define ORDINAL_GROW(folder, Name)                                                                     \
    template Tree Engine::grow<Name##Criterion>(const Name##Criterion::Input&, const GrowthLimits&,    \
                                                const FeatureRules&, const std::vector<std::int32_t>&, \
                                                const std::uint32_t*, std::int64_t, std::int32_t*);
ORDINAL_CRITERIA(ORDINAL_GROW)
#undef ORDINAL_GROW

// The rows of the tree, which lie in its leaves.
void Engine::note_leaves(const Tree& tree, std::int32_t* leaf_of_row) {
    pool_->run("note leaves", static_cast<std::int64_t>(tree.nodes.size()), data_.n_rows >= kEngineBlock,
               [&](std::int64_t index) {
                   const TreeNode& node = tree.nodes[static_cast<std::size_t>(index)];
                   if (node.feature >= 0) return;
                   for (std::int64_t i = node.begin; i < node.end; ++i)
                       leaf_of_row[partition_->rows()[static_cast<std::size_t>(i)]] =
                           static_cast<std::int32_t>(index);
               });
}

// The rows outside of the sample. Those of a block are parted at one node after the other, as they lie in the
// first-level cache.
void Engine::find_leaves(const Tree& tree, std::int32_t* leaf_of_row) {
    const ListUnknown list_unknown = active_instruction_set().list_unknown;
    const std::size_t room = static_cast<std::size_t>(kEngineBlock + kPastList);
    std::vector<std::uint32_t> lists(2 * room * static_cast<std::size_t>(pool_->n_threads()));
    pool_->run("find leaves", (data_.n_rows + kEngineBlock - 1) / kEngineBlock, data_.n_rows >= kEngineBlock,
               [&](std::int64_t block, int thread) {
                   std::uint32_t* rows = lists.data() + 2 * room * static_cast<std::size_t>(thread);
                   const std::int64_t begin = block * kEngineBlock;
                   const std::int64_t n =
                       list_unknown(leaf_of_row + begin, std::min(kEngineBlock, data_.n_rows - begin),
                                    static_cast<std::uint32_t>(begin), rows);
                   pass_down(tree, rows, rows + room, n, leaf_of_row);
               });
}

// right: room for the rows.
void Engine::pass_down(const Tree& tree, std::uint32_t* rows, std::uint32_t* right, std::int64_t n,
                       std::int32_t* leaf_of_row) const {
    const PartitionRows partition_rows = active_instruction_set().partition_rows;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges(tree.nodes.size());
    ranges[0] = {0, n};
    for (std::size_t index = 0; index < tree.nodes.size(); ++index) {
        const auto [begin, end] = ranges[index];
        const TreeNode& node = tree.nodes[index];
        if (begin == end) continue;
        if (node.feature < 0) {
            for (std::int64_t i = begin; i < end; ++i)
                leaf_of_row[rows[i]] = static_cast<std::int32_t>(index);
            continue;
        }
        const std::int64_t n_left = partition_rows({data_.columns + node.feature * data_.n_rows, rows + begin,
                                                    rows + begin, right, end - begin, node.split});
        std::copy(right, right + (end - begin - n_left), rows + begin + n_left);
        const std::size_t left = static_cast<std::size_t>(node.left);
        ranges[left] = {begin, begin + n_left};
        ranges[left + 1] = {begin + n_left, end};
    }
}

// Calls work(row, before) for the rows of a sample that are light, which lie far apart in memory: their
// columns, and where these are kept meanwhile.
template <class Work>
void Engine::over_light(const std::uint32_t* rows, const std::uint8_t* light, std::int64_t n,
                        const Work& work) {
    constexpr std::int64_t kAhead = 16;
    const std::int64_t width = layout_.width();
    before_.resize(static_cast<std::size_t>(n * width));
    pool_->run("weigh rows", (n + kListBlock - 1) / kListBlock, n >= kEngineBlock, [&](std::int64_t block) {
        std::uint32_t listed[kListBlock + 1];
        std::int64_t n_light = 0;
        for (std::int64_t i = block * kListBlock; i < std::min(n, (block + 1) * kListBlock); ++i) {
            listed[n_light] = rows[i];
            n_light += light[i];
        }
        float* before = before_.data() + block * kListBlock * width;
        for (std::int64_t i = 0; i < n_light; ++i, before += width) {
            fetch(statistics_.data() + std::int64_t{listed[std::min(i + kAhead, n_light - 1)]} * width);
            work(statistics_.data() + std::int64_t{listed[i]} * width, before);
        }
    });
}

void Engine::weigh(const std::uint32_t* rows, const std::uint8_t* light, std::int64_t n, float factor) {
    over_light(rows, light, n, [&](float* row, float* before) {
        for (int c = 0; c < layout_.width(); c += kFewest)
            for (int i = c; i < c + kFewest; ++i) {
                before[i] = row[i];
                row[i] *= factor;
            }
        row[layout_.count()] = 1.0f;
    });
}

void Engine::unweigh(const std::uint32_t* rows, const std::uint8_t* light, std::int64_t n) {
    over_light(rows, light, n, [&](float* row, const float* before) {
        for (int c = 0; c < layout_.width(); c += kFewest)
            for (int i = c; i < c + kFewest; ++i) row[i] = before[i];
    });
}

std::vector<double> Engine::leaf_sums(const std::int32_t* leaf_of_row, int n_leaves,
                                      const std::uint32_t* rows, std::int64_t n_rows) {
    // Blocks depend on the number of rows alone, and are added in order: the same sums for any thread count.
    const std::int64_t block_rows = std::max<std::int64_t>(kEngineBlock, n_rows / 64 + 1);
    const std::int64_t n_blocks = (n_rows + block_rows - 1) / block_rows;
    const std::size_t size = static_cast<std::size_t>(n_leaves) * static_cast<std::size_t>(width());
    std::vector<double> blocks(static_cast<std::size_t>(n_blocks) * size, 0.0);
    const SumByLeaf sum = active_instruction_set().sum_by_leaf;
    pool_->run("sum by leaf", n_blocks, true, [&](std::int64_t block) {
        SumTask task{statistics_.data(),
                     width(),
                     Units{},
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
