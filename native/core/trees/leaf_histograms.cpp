#include "trees/leaf_histograms.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "simd/dispatch.hpp"

namespace ordinal {
namespace {

constexpr int kGroup = 32;    // planes whose float32 histograms one thread fills together
constexpr int kRowsCost = 6;  // to read a row for a group of planes costs what so many planes do

// Whose turn it is among the blocks of a chain, which are added to one histogram in their order. On a cache
// line of its own.
struct alignas(64) Turn {
    std::atomic<std::int64_t> block{0};
};

}  // namespace

LeafHistograms::LeafHistograms(const BinnedData& data, Pool& pool, bool in_float64)
    : data_(data), pool_(pool), in_float64_(in_float64) {
    for (int f = 0; f < data_.n_features; ++f) n_most_slots_ += data_.n_bins[f] + 1;
    for (int p = 0; p < data_.planes->n_planes(); ++p) few_codes_ |= data_.planes->n_codes(p) < kMostCodes;
    offsets_.resize(static_cast<std::size_t>(data_.n_features));
    left_.resize(static_cast<std::size_t>(data_.n_rows));
    right_.resize(static_cast<std::size_t>(data_.n_rows));
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
    list_planes();
    // Of the features that pass together; those that were drawn may lie far apart.
    n_slots_ = 0;
    for (const std::int32_t feature : by_plane_) {
        offsets_[static_cast<std::size_t>(feature)] = n_slots_;
        n_slots_ += data_.n_bins[feature] + 1;
    }
    // Each thread fills the same places for one group after the other, so that its cache keeps them.
    const int groups = std::min(n_groups(), fewest_groups());
    scratch_step_ = std::int64_t{n_planes() / groups + 1} * kSlots;
    beside_.resize(few_codes_ ? static_cast<std::size_t>(n_most_slots_ * layout.width() * pool_.n_threads())
                              : 0);
    const std::size_t n_places = static_cast<std::size_t>(scratch_step_ * pool_.n_threads());
    own_step_ = keeps(0) ? 0 : together(kFewToRead) * std::int64_t{kSlots} * layout_.width();
    own_.resize(static_cast<std::size_t>(2 * own_step_ * pool_.n_threads()));
    scan_step_ = kMostWide * (kMostScratch + kColumnsBeyond + 3 * layout_.width());
    if (data_.by_category) scan_step_ += (category_memory(layout_.width()) + 7) / 8 * 8;
    scan_.resize(static_cast<std::size_t>(scan_step_ * pool_.n_threads()));
    scratch_.reserve(kHugePage / sizeof(float));
    scratch_.resize(n_places * static_cast<std::size_t>(slice_width(layout_.width())), 0.0f);

    rows_.resize(static_cast<std::size_t>(n));
    pool_.run("list rows", (n + kPartitionBlock - 1) / kPartitionBlock, n >= kWorthRows,
              [&](std::int64_t block) {
                  const std::int64_t end = std::min(n, (block + 1) * kPartitionBlock);
                  for (std::int64_t i = block * kPartitionBlock; i < end; ++i)
                      rows_[static_cast<std::size_t>(i)] = rows ? rows[i] : static_cast<std::uint32_t>(i);
              });
}

// The planes of the tree's features; of one that is shared those that were drawn.
void LeafHistograms::list_planes() {
    const Planes& all = *data_.planes;
    const std::vector<std::int32_t>& features = *features_;
    places_.resize(features.size());
    std::iota(places_.begin(), places_.end(), 0);
    const auto plane_of = [&](std::int32_t place) {
        return all.of(features[static_cast<std::size_t>(place)]).plane;
    };
    std::stable_sort(places_.begin(), places_.end(),
                     [&](std::int32_t a, std::int32_t b) { return plane_of(a) < plane_of(b); });
    by_plane_.clear();
    planes_.clear();
    for (const std::int32_t place : places_) {
        const std::int32_t column = plane_of(place), at = static_cast<std::int32_t>(by_plane_.size());
        if (planes_.empty() || planes_.back().column != column) {
            const bool shared = all.is_shared(column);
            planes_.push_back({column, all.n_codes(column) - !shared, at, at, shared});
        }
        by_plane_.push_back(features[static_cast<std::size_t>(place)]);
        ++planes_.back().last;
    }
    consecutive_ = planes_.back().column - planes_.front().column + 1 == n_planes();
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
    const int rounds = (n_planes() + kGroup * pool_.n_threads() - 1) / (kGroup * pool_.n_threads());
    return std::min(n_planes(), rounds * pool_.n_threads());
}

// As few as fill their places in the cache.
int LeafHistograms::fewest_groups() const { return std::min(n_planes(), (n_planes() + kGroup - 1) / kGroup); }

// Groups of planes with which the threads end soonest, of pieces that each read all of their rows.
int LeafHistograms::n_groups_of(std::int64_t n_pieces) const {
    const std::int64_t n_planes = this->n_planes(), threads = pool_.n_threads();
    const auto cost = [&](std::int64_t groups) {
        const std::int64_t in_turn = (n_pieces * groups + threads - 1) / threads;
        return in_turn * ((n_planes + groups - 1) / groups + kRowsCost);
    };
    std::int64_t best = fewest_groups();
    for (std::int64_t groups = best + 1; groups <= n_planes && groups <= threads; ++groups)
        if (cost(groups) < cost(best)) best = groups;
    return static_cast<int>(best);
}

void LeafHistograms::build_parts(const std::unique_ptr<Histogram>& kept, const std::uint32_t* rows,
                                 std::int64_t n) {
    const int parts = n_parts(n);
    if (!kept || parts == 1) return;
    while (static_cast<int>(parts_.size()) < parts - 1) parts_.push_back(take());
    const int width = layout_.width(), slice = slice_width(width), slices = width / slice;
    // The blocks of a part are added to its histogram in their order, whoever has added them up: the same
    // sums for any number of threads. Few threads take whole parts, whose histogram then stays in their
    // cache.
    const std::int64_t n_blocks = in_float64_ ? 1 : ((n + parts - 1) / parts + kFloatRows - 1) / kFloatRows;
    const std::int64_t n_taken = parts * slices >= pool_.n_threads() ? 1 : n_blocks;
    const std::int64_t n_planes = this->n_planes();
    const int groups = n_groups_of(parts * slices * n_taken);
    const std::int64_t n_chains = std::int64_t{parts} * slices * groups;
    std::vector<Turn> turns(static_cast<std::size_t>(n_chains));
    pool_.run("histogram in parts", n_taken * n_chains, true, [&](std::int64_t piece, int thread) {
        const std::int64_t chain = piece % n_chains, group = chain % groups;
        const std::int64_t part = chain / groups % parts, lane = chain / groups / parts * slice;
        const PlaneRange planes{static_cast<int>(group * n_planes / groups),
                                static_cast<int>((group + 1) * n_planes / groups)};
        HistogramTask task = task_of(rows, part * n / parts, (part + 1) * n / parts, planes, thread);
        task.histogram = part ? parts_[static_cast<std::size_t>(part) - 1]->data() : kept->data();
        task.lane = static_cast<int>(lane);
        const std::int64_t first = piece / n_chains;
        add_blocks(task, first, n_taken == 1 ? n_blocks : first + 1,
                   turns[static_cast<std::size_t>(chain)].block);
    });
}

void LeafHistograms::add_blocks(HistogramTask task, std::int64_t first, std::int64_t last,
                                std::atomic<std::int64_t>& turn) const {
    const InstructionSet& set = active_instruction_set();
    if (in_float64_) {
        if (task.lane == 0) set.build_histogram(task);
        return;
    }
    const std::int64_t begin = task.begin, end = task.end;
    for (std::int64_t block = first; block < last; ++block) {
        task.begin = std::min(end, begin + block * kFloatRows);
        task.end = std::min(end, task.begin + kFloatRows);
        task.is_first = block == 0;
        if (task.begin == task.end) return;
        set.add_block(task);
        while (turn.load(std::memory_order_acquire) != block) std::this_thread::yield();
        set.flush_block(task);
        turn.store(block + 1, std::memory_order_release);
    }
}

HistogramTask LeafHistograms::task_of(const std::uint32_t* rows, std::int64_t begin, std::int64_t end,
                                      PlaneRange planes, int thread) {
    HistogramTask task;
    task.bins = data_.rows;
    task.stride = data_.stride;
    task.statistics = statistics_;
    task.width = layout_.width();
    task.rows = rows;
    task.begin = begin;
    task.end = end;
    task.planes = planes_.data() + planes.first;
    task.n_planes = planes.last - planes.first;
    task.consecutive = consecutive_;
    task.features = by_plane_.data();
    task.bin_of = data_.planes->bins();
    task.n_bins = data_.n_bins;
    task.offsets = offsets_.data();
    task.first_bin = 0;
    task.scratch = scratch_of(thread);
    task.histogram = nullptr;
    task.in_float64 = in_float64_;
    task.lane = 0;
    task.is_first = true;
    task.beside = few_codes_ ? beside_.data() + thread * n_most_slots_ * layout_.width() : nullptr;
    return task;
}

Bins LeafHistograms::build(const std::unique_ptr<Histogram>& kept, const std::uint32_t* rows, std::int64_t n,
                           PlaneRange planes, int thread, int side) {
    HistogramTask task = task_of(rows, 0, n, planes, thread);
    Bins bins;
    if (kept)
        bins.data = kept->data();
    else
        bins = {own_.data() + (2 * thread + side) * own_step_,
                offsets_[static_cast<std::size_t>(task.features[task.planes->first])]};
    if (kept && n_parts(n) > 1) {
        over_features(planes, [&](std::size_t, std::int32_t feature) { join(bins, feature, n_parts(n)); });
        return bins;
    }
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
    pool_.run("partition", n_blocks, n >= kWorthRows, [&](std::int64_t block) {
        const std::int64_t begin = block * kPartitionBlock;
        PartitionTask task;
        task.column = column;
        task.rows = rows + begin;
        // A single block leaves them where they are.
        task.left = n_blocks == 1 ? rows : left_.data() + begin;
        task.right = right_.data() + begin;
        task.n = std::min(n - begin, kPartitionBlock);
        task.split = node.split;
        n_left[static_cast<std::size_t>(block) + 1] = partition_rows(task);
    });
    // What is on the left of all blocks before a block, then all rows before it without these.
    std::partial_sum(n_left.begin(), n_left.end(), n_left.begin());
    const std::int64_t total_left = n_left.back();
    pool_.run("join the parted", n_blocks, n >= kWorthRows, [&](std::int64_t block) {
        const std::int64_t begin = block * kPartitionBlock, end = std::min(n, begin + kPartitionBlock);
        const std::int64_t* before = n_left.data() + block;
        const std::int64_t of_block = before[1] - before[0];
        if (n_blocks > 1)
            std::memcpy(rows + before[0], left_.data() + begin,
                        static_cast<std::size_t>(of_block) * sizeof *rows);
        std::memcpy(rows + total_left + (begin - before[0]), right_.data() + begin,
                    static_cast<std::size_t>((end - begin) - of_block) * sizeof *rows);
    });
    return total_left;
}

}  // namespace ordinal
