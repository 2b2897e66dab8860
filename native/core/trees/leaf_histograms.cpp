#include "trees/leaf_histograms.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "simd/dispatch.hpp"

namespace ordinal {
namespace {

constexpr int kGroup = 32;  // features whose float32 histograms one thread fills together
constexpr std::int64_t kPartitionBlock = 1 << 15;

}  // namespace

LeafHistograms::LeafHistograms(const BinnedData& data, Pool& pool, bool in_float64)
    : data_(data), pool_(pool), in_float64_(in_float64) {
    for (int f = 0; f < data_.n_features; ++f) n_most_slots_ += data_.n_bins[f] + 1;
    offsets_.resize(static_cast<std::size_t>(data_.n_features));
    buffer_.resize(static_cast<std::size_t>(data_.n_rows));
}

void LeafHistograms::begin(const float* statistics, RowLayout layout,
                           const std::vector<std::int32_t>& features, const std::uint32_t* rows,
                           std::int64_t n) {
    statistics_ = statistics;
    if (layout.width() != layout_.width()) {
        spare_.clear();
        parts_.clear();
    }
    layout_ = layout;
    features_ = &features;
    consecutive_ = features.back() - features.front() + 1 == static_cast<std::int32_t>(features.size());
    // Of the features that pass together; those that were drawn may lie far apart.
    n_slots_ = 0;
    for (const std::int32_t feature : features) {
        offsets_[static_cast<std::size_t>(feature)] = n_slots_;
        n_slots_ += data_.n_bins[feature] + 1;
    }
    // Each thread fills the same places for one group after the other, so that its cache keeps them.
    const int groups = std::min(n_groups(), groups_of_part(n_parts(n)));
    scratch_step_ =
        static_cast<std::int64_t>(features.size() / static_cast<std::size_t>(groups) + 1) * kSlots;
    const std::size_t n_places = static_cast<std::size_t>(scratch_step_ * pool_.n_threads());
    own_step_ = keeps(0) ? 0 : together(kFewToRead) * std::int64_t{kSlots} * layout_.width();
    own_.resize(static_cast<std::size_t>(2 * own_step_ * pool_.n_threads()));
    scan_step_ = kMostWide * (kMostScratch + kColumnsBeyond + 3 * layout_.width());
    scan_.resize(static_cast<std::size_t>(scan_step_ * pool_.n_threads()));
    scratch_.reserve(kHugePage / sizeof(float));
    scratch_.resize(n_places * static_cast<std::size_t>(slice_width(layout_.width())), 0.0f);

    rows_.resize(static_cast<std::size_t>(n));
    pool_.run((n + kPartitionBlock - 1) / kPartitionBlock, n >= kWorthRows, [&](std::int64_t block) {
        const std::int64_t end = std::min(n, (block + 1) * kPartitionBlock);
        for (std::int64_t i = block * kPartitionBlock; i < end; ++i)
            rows_[static_cast<std::size_t>(i)] = rows ? rows[i] : static_cast<std::uint32_t>(i);
    });
}

std::unique_ptr<Histogram> LeafHistograms::take() {
    if (!spare_.empty()) {
        std::unique_ptr<Histogram> histogram = std::move(spare_.back());
        spare_.pop_back();
        return histogram;
    }
    return std::make_unique<Histogram>(static_cast<std::size_t>(n_most_slots_ * layout_.width()));
}

void LeafHistograms::give_back(std::unique_ptr<Histogram> histogram) {
    if (histogram) spare_.push_back(std::move(histogram));
}

int LeafHistograms::n_groups() const {
    const int n_features = static_cast<int>(features_->size());
    const int rounds = (n_features + kGroup * pool_.n_threads() - 1) / (kGroup * pool_.n_threads());
    return std::min(n_features, rounds * pool_.n_threads());
}

// As few as fill their places in the cache, or keep all threads busy.
int LeafHistograms::groups_of_part(int parts) const {
    const int n_features = static_cast<int>(features_->size());
    const int fitting = (n_features + kGroup - 1) / kGroup;
    return std::min(n_features, std::max(fitting, (pool_.n_threads() + parts - 1) / parts));
}

void LeafHistograms::build_parts(const std::unique_ptr<Histogram>& kept, const std::uint32_t* rows,
                                 std::int64_t n) {
    const int parts = n_parts(n);
    if (!kept || parts == 1) return;
    while (static_cast<int>(parts_.size()) < parts - 1) parts_.push_back(take());
    const int groups = groups_of_part(parts);
    const std::int64_t n_features = static_cast<std::int64_t>(features_->size());
    pool_.run(std::int64_t{parts} * groups, true, [&](std::int64_t piece, int thread) {
        const std::int64_t part = piece / groups, group = piece % groups;
        const std::int64_t begin = part * n / parts, end = (part + 1) * n / parts;
        HistogramTask task = task_of(rows, begin, end, static_cast<int>(group * n_features / groups),
                                     static_cast<int>((group + 1) * n_features / groups), thread);
        task.histogram = part ? parts_[static_cast<std::size_t>(part) - 1]->data() : kept->data();
        active_instruction_set().build_histogram(task);
    });
}

HistogramTask LeafHistograms::task_of(const std::uint32_t* rows, std::int64_t begin, std::int64_t end,
                                      int first, int last, int thread) {
    HistogramTask task;
    task.bins = data_.rows;
    task.stride = data_.stride;
    task.statistics = statistics_;
    task.width = layout_.width();
    task.rows = rows;
    task.begin = begin;
    task.end = end;
    task.features = features_->data() + first;
    task.n_features = last - first;
    task.consecutive = consecutive_;
    task.n_bins = data_.n_bins;
    task.offsets = offsets_.data();
    task.first_bin = 0;
    task.scratch = scratch_of(thread);
    task.histogram = nullptr;
    task.in_float64 = in_float64_;
    return task;
}

Bins LeafHistograms::build(const std::unique_ptr<Histogram>& kept, const std::uint32_t* rows, std::int64_t n,
                           int first, int last, int thread, int side) {
    const std::int32_t* features = features_->data() + first;
    Bins bins;
    if (kept)
        bins.data = kept->data();
    else
        bins = {own_.data() + (2 * thread + side) * own_step_, offsets_[static_cast<std::size_t>(*features)]};
    if (kept && n_parts(n) > 1) {
        for (int f = first; f < last; ++f) join(bins, (*features_)[static_cast<std::size_t>(f)], n_parts(n));
        return bins;
    }
    HistogramTask task = task_of(rows, 0, n, first, last, thread);
    task.first_bin = bins.first;
    task.histogram = bins.data;
    active_instruction_set().build_histogram(task);
    return bins;
}

void LeafHistograms::join(Bins bins, std::int32_t feature, int parts) const {
    const std::int64_t at = offsets_[static_cast<std::size_t>(feature)] * layout_.width();
    const std::int64_t n = std::int64_t{data_.n_bins[feature] + 1} * layout_.width();
    for (int part = 1; part < parts; ++part) {
        const double* from = parts_[static_cast<std::size_t>(part) - 1]->data() + at;
        for (std::int64_t k = 0; k < n; ++k) bins.data[at + k] += from[k];
    }
}

void LeafHistograms::subtract(Bins from, Bins part, std::int32_t feature) const {
    const std::int64_t at = offsets_[static_cast<std::size_t>(feature)], width = layout_.width();
    active_instruction_set().subtract_bins({from.data + (at - from.first) * width,
                                            part.data + (at - part.first) * width, data_.n_bins[feature] + 1,
                                            layout_.width(), layout_.count()});
}

const double* LeafHistograms::bins_of(Bins bins, std::int32_t feature) const {
    return bins.data + (offsets_[static_cast<std::size_t>(feature)] - bins.first) * layout_.width();
}

std::vector<double> LeafHistograms::sums(Bins bins, std::int32_t feature) const {
    return left_sums(bins, feature, {data_.n_bins[feature] - 1, true});
}

std::vector<double> LeafHistograms::left_sums(Bins bins, std::int32_t feature, const Split& split) const {
    const int width = layout_.width();
    std::vector<double> sums(static_cast<std::size_t>(width), 0.0);
    const double* bin = bins_of(bins, feature);
    const int n_bins = data_.n_bins[feature];
    for (int b = 0; b <= n_bins; ++b) {  // that of the missing values is the last
        if (!goes_left(split, b < n_bins ? b : kMissing)) continue;
        for (int c = 0; c < width; ++c) sums[static_cast<std::size_t>(c)] += bin[b * width + c];
    }
    return sums;
}

std::vector<double> LeafHistograms::sums(const std::uint32_t* rows, std::int64_t n) const {
    std::vector<double> sums(static_cast<std::size_t>(layout_.width()), 0.0);
    active_instruction_set().sum_by_leaf({statistics_, layout_.width(), nullptr, rows, 0, n, sums.data()});
    return sums;
}

bool LeafHistograms::any_missing(const std::uint32_t* rows, std::int64_t n, std::int32_t feature) const {
    const std::uint8_t* column = data_.columns + feature * data_.n_rows;
    return std::any_of(rows, rows + n, [&](std::uint32_t row) { return column[row] == kMissing; });
}

std::int64_t LeafHistograms::partition(const TreeNode& node) {
    const std::uint8_t* column = data_.columns + node.feature * data_.n_rows;
    std::uint32_t* rows = rows_.data() + node.begin;
    const std::int64_t n = node.end - node.begin;
    const std::int64_t n_blocks = (n + kPartitionBlock - 1) / kPartitionBlock;
    std::vector<std::int64_t> n_left(static_cast<std::size_t>(n_blocks) + 1, 0);
    const PartitionRows partition_rows = active_instruction_set().partition_rows;
    pool_.run(n_blocks, n >= kWorthRows, [&](std::int64_t block) {
        const std::int64_t begin = block * kPartitionBlock;
        PartitionTask task;
        task.column = column;
        task.rows = rows + begin;
        task.right = buffer_.data() + begin;
        task.n = std::min(n - begin, kPartitionBlock);
        task.split = node.split;
        n_left[static_cast<std::size_t>(block) + 1] = partition_rows(task);
    });
    std::int64_t total_left = 0;
    for (std::int64_t block = 0; block < n_blocks; ++block) {
        const std::int64_t count = n_left[static_cast<std::size_t>(block) + 1];
        std::memmove(rows + total_left, rows + block * kPartitionBlock,
                     static_cast<std::size_t>(count) * sizeof *rows);
        total_left += count;
    }
    // What is on the left of all blocks before a block, then all rows before it without these.
    std::partial_sum(n_left.begin(), n_left.end(), n_left.begin());
    pool_.run(n_blocks, n >= kWorthRows, [&](std::int64_t block) {
        const std::int64_t begin = block * kPartitionBlock, end = std::min(n, begin + kPartitionBlock);
        const std::int64_t* before = n_left.data() + block;
        std::memcpy(rows + total_left + (begin - before[0]), buffer_.data() + begin,
                    static_cast<std::size_t>((end - begin) - (before[1] - before[0])) * sizeof *rows);
    });
    return total_left;
}

}  // namespace ordinal
