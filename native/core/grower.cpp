#include "grower.hpp"

#include <algorithm>
#include <cstring>
#include <queue>

#include "dispatch.hpp"

namespace ordinal {
namespace {

constexpr int kGroup = 32;                 // features whose float32 histograms one thread fills together
constexpr std::int64_t kWorthRows = 4096;  // below, waking the threads costs more than it saves
constexpr std::int64_t kWorthSums = 1 << 14;
constexpr std::int64_t kPartitionBlock = 1 << 15;

}  // namespace

struct Grower::Leaf {
    int node = 0;
    std::vector<double> sums;
    std::unique_ptr<Histogram> histogram;
    Candidate best{0.0, -1, false};
    int feature = -1;
};

Grower::Grower(const BinnedData& data, Pool& pool) : data_(data), pool_(pool) {
    for (int f = 0; f < data_.n_features; ++f) {
        offsets_.push_back(n_slots_);
        n_slots_ += data_.n_bins[f] + 1;
    }
    buffer_.resize(static_cast<std::size_t>(data_.n_rows));
}

std::unique_ptr<Grower::Histogram> Grower::take_histogram() {
    if (!spare_.empty()) {
        std::unique_ptr<Histogram> histogram = std::move(spare_.back());
        spare_.pop_back();
        return histogram;
    }
    return std::make_unique<Histogram>(static_cast<std::size_t>(n_slots_) * static_cast<std::size_t>(width_));
}

int Grower::n_groups() const {
    const int n_features = static_cast<int>(features_->size());
    const int rounds = (n_features + kGroup * pool_.n_threads() - 1) / (kGroup * pool_.n_threads());
    return std::min(n_features, rounds * pool_.n_threads());
}

// Runs work(first, last, thread) over groups of features of nearly the same size, as many for each thread.
template <class Work>
void Grower::over_features(std::int64_t n_rows, const Work& work) const {
    const int n_features = static_cast<int>(features_->size());
    const bool worth = n_rows * n_features >= kWorthRows || n_slots_ * width_ >= kWorthSums;
    pool_.run(n_groups(), worth, [&](std::int64_t group, int thread) {
        // Such a product leaves an int from 262,144 features on.
        work(static_cast<int>(group * n_features / n_groups()),
             static_cast<int>((group + 1) * n_features / n_groups()), thread);
    });
}

void Grower::build(Histogram& histogram, const std::uint32_t* rows, std::int64_t n, int first, int last,
                   int thread) {
    HistogramTask task;
    task.bins = data_.rows;
    task.stride = data_.stride;
    task.statistics = statistics_;
    task.width = width_;
    task.rows = rows;
    task.n = n;
    task.features = features_->data() + first;
    task.n_features = last - first;
    task.consecutive = consecutive_;
    task.n_bins = data_.n_bins;
    task.offsets = offsets_.data();
    task.scratch = scratch_.data() + thread * scratch_step_ * slice_width(width_);
    task.histogram = histogram.data();
    active_instruction_set().build_histogram(task);
}

void Grower::subtract(Histogram& from, const Histogram& part, std::int32_t feature) const {
    const std::int64_t first = offsets_[static_cast<std::size_t>(feature)] * width_;
    const std::int64_t last = first + (data_.n_bins[feature] + 1) * static_cast<std::int64_t>(width_);
    double* to = from.data();
    const double* value = part.data();
    for (std::int64_t k = first; k < last; ++k) to[k] -= value[k];
}

Candidate Grower::scan(const Leaf& leaf, const LeafTerms& terms, std::int32_t feature) const {
    ScanTask task;
    task.histogram = leaf.histogram->data() + offsets_[static_cast<std::size_t>(feature)] * width_;
    task.n_bins = data_.n_bins[feature];
    task.width = width_;
    task.count = count_;
    task.first_carried = criterion_->first_carried();
    task.n_carried = terms.inverse.empty() ? 0 : criterion_->n_carried();
    task.inverse = terms.inverse.data();
    task.m = terms.m.data();
    task.q = terms.q.data();
    task.r_A_q = terms.r_A_q;
    task.pm = terms.pm;
    task.pq = terms.pq;
    task.parent = leaf.sums.data();
    task.parent_score = terms.parent_score;
    task.l2 = limits_.l2;
    task.min_gain = limits_.min_gain;
    task.min_child_weight = limits_.min_child_weight;
    task.min_samples_leaf = limits_.min_samples_leaf;
    task.gauge = terms.gauge;
    return active_instruction_set().scan_feature(task);
}

void Grower::take_best(Leaf& leaf, const std::vector<Candidate>& found) const {
    leaf.best = {0.0, -1, false};
    for (std::size_t f = 0; f < found.size(); ++f)
        if (found[f].gain > leaf.best.gain * (1.0 + kTie)) {
            leaf.best = found[f];
            leaf.feature = (*features_)[f];
        }
}

// The root, whose sums are those of its first feature's bins.
void Grower::judge_root(Leaf& root, const std::uint32_t* rows, std::int64_t n,
                        const ThresholdState& thresholds, bool wanted) {
    root.histogram = take_histogram();
    over_features(
        n, [&](int first, int last, int thread) { build(*root.histogram, rows, n, first, last, thread); });
    root.sums.assign(static_cast<std::size_t>(width_), 0.0);
    const std::int32_t feature = features_->front();
    const double* bin = root.histogram->data() + offsets_[static_cast<std::size_t>(feature)] * width_;
    for (int b = 0; b <= data_.n_bins[feature]; ++b, bin += width_)
        for (int c = 0; c < width_; ++c) root.sums[static_cast<std::size_t>(c)] += bin[c];
    criterion_ = std::make_unique<JointCriterion>(thresholds, root.sums.data(), limits_.l2);
    if (!wanted) return;
    const LeafTerms terms = criterion_->terms(root.sums.data());
    std::vector<Candidate> found(features_->size());
    over_features(0, [&](int first, int last, int) {
        for (int f = first; f < last; ++f) found[f] = scan(root, terms, (*features_)[f]);
    });
    take_best(root, found);
}

// Fills the histogram of the smaller child. The larger one's (null if it will not be split) comes holding
// their parent's, from which the smaller one's is taken away. All of it feature by feature, so that their
// bins are still in the cache when they are scanned.
void Grower::judge(Leaf& small, const std::uint32_t* rows, std::int64_t n, bool small_wanted, Leaf* large) {
    small.histogram = take_histogram();
    const LeafTerms of_small = criterion_->terms(small.sums.data());
    const LeafTerms of_large = large ? criterion_->terms(large->sums.data()) : LeafTerms{};
    std::vector<Candidate> found_small(features_->size()), found_large(features_->size());
    over_features(n, [&](int first, int last, int thread) {
        build(*small.histogram, rows, n, first, last, thread);
        for (int f = first; f < last; ++f) {
            const std::int32_t feature = (*features_)[f];
            if (large) subtract(*large->histogram, *small.histogram, feature);
            if (small_wanted) found_small[f] = scan(small, of_small, feature);
            if (large) found_large[f] = scan(*large, of_large, feature);
        }
    });
    if (small_wanted) take_best(small, found_small);
    if (large) take_best(*large, found_large);
}

std::vector<double> Grower::left_sums(const Leaf& leaf) const {
    std::vector<double> sums(static_cast<std::size_t>(width_), 0.0);
    const double* bins = leaf.histogram->data() + offsets_[static_cast<std::size_t>(leaf.feature)] * width_;
    for (int b = 0; b <= leaf.best.bin; ++b)
        for (int c = 0; c < width_; ++c) sums[static_cast<std::size_t>(c)] += bins[b * width_ + c];
    const double* missing = bins + data_.n_bins[leaf.feature] * width_;
    if (leaf.best.missing_left)
        for (int c = 0; c < width_; ++c) sums[static_cast<std::size_t>(c)] += missing[c];
    return sums;
}

// Stable: both children keep the rows in increasing order, so that memory is read forwards.
std::int64_t Grower::partition(const TreeNode& node) {
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
        task.last_left = node.bin;
        task.missing_left = node.missing_left;
        n_left[static_cast<std::size_t>(block) + 1] = partition_rows(task);
    });
    std::int64_t total_left = 0;
    for (std::int64_t block = 0; block < n_blocks; ++block) {
        const std::int64_t count = n_left[static_cast<std::size_t>(block) + 1];
        std::memmove(rows + total_left, rows + block * kPartitionBlock,
                     static_cast<std::size_t>(count) * sizeof *rows);
        total_left += count;
    }
    std::int64_t to = total_left;
    for (std::int64_t block = 0; block < n_blocks; ++block) {
        const std::int64_t begin = block * kPartitionBlock;
        const std::int64_t count =
            std::min(n - begin, kPartitionBlock) - n_left[static_cast<std::size_t>(block) + 1];
        std::memcpy(rows + to, buffer_.data() + begin, static_cast<std::size_t>(count) * sizeof *rows);
        to += count;
    }
    return total_left;
}

Tree Grower::grow(const float* statistics, int n_cross, const ThresholdState& thresholds,
                  const GrowthLimits& limits, const std::vector<std::int32_t>& features,
                  const std::uint32_t* rows, std::int64_t n_rows) {
    statistics_ = statistics;
    const int width = row_width(n_cross);
    if (width != width_) spare_.clear();
    width_ = width;
    count_ = count_index(n_cross);
    limits_ = limits;
    features_ = &features;
    consecutive_ = features.back() - features.front() + 1 == static_cast<std::int32_t>(features.size());
    // Each thread fills the same places for one group after the other, so that its cache keeps them.
    scratch_step_ =
        static_cast<std::int64_t>(features.size() / static_cast<std::size_t>(n_groups()) + 1) * kSlots;
    const std::size_t n_places = static_cast<std::size_t>(scratch_step_ * pool_.n_threads());
    scratch_.reserve(kHugePage / sizeof(float));
    scratch_.resize(n_places * static_cast<std::size_t>(slice_width(width_)), 0.0f);

    Tree tree;
    rows_.resize(static_cast<std::size_t>(n_rows));
    pool_.run((n_rows + kPartitionBlock - 1) / kPartitionBlock, n_rows >= kWorthRows,
              [&](std::int64_t block) {
                  const std::int64_t end = std::min(n_rows, (block + 1) * kPartitionBlock);
                  for (std::int64_t i = block * kPartitionBlock; i < end; ++i)
                      rows_[static_cast<std::size_t>(i)] = rows ? rows[i] : static_cast<std::uint32_t>(i);
              });
    tree.nodes.emplace_back();
    tree.nodes[0].end = n_rows;

    std::vector<Leaf> leaves(1);
    // Highest gain first; of equal gains the older leaf. A gain is kept although later splits of other leaves
    // change S: computing it again when its turn comes made no difference to the loss that could be measured.
    using Entry = std::pair<double, int>;
    const auto later = [](const Entry& a, const Entry& b) {
        return a.first != b.first ? a.first < b.first : a.second > b.second;
    };
    std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(later);
    const auto splittable = [&](const TreeNode& node) {
        return node.depth < limits.max_depth &&
               static_cast<double>(node.end - node.begin) >= 2.0 * limits.min_samples_leaf &&
               node.end - node.begin > 1;
    };
    const auto enqueue = [&](int index) {
        Leaf& leaf = leaves[static_cast<std::size_t>(index)];
        if (leaf.best.gain > 0.0)
            queue.emplace(leaf.best.gain, index);
        else
            spare_.push_back(std::move(leaf.histogram));
    };
    int n_leaves = 1;
    const bool root_wanted = limits.max_leaves > 1 && splittable(tree.nodes[0]);
    judge_root(leaves[0], rows, n_rows, thresholds, root_wanted);
    if (root_wanted) enqueue(0);
    while (!queue.empty() && n_leaves < limits.max_leaves) {
        const int index = queue.top().second;
        queue.pop();
        Leaf parent = std::move(leaves[static_cast<std::size_t>(index)]);
        const int left_node = static_cast<int>(tree.nodes.size());
        TreeNode& node = tree.nodes[static_cast<std::size_t>(parent.node)];
        node.feature = parent.feature;
        node.bin = parent.best.bin;
        node.missing_left = parent.best.missing_left;
        node.gain = parent.best.gain;
        node.left = left_node;
        const std::int64_t middle = node.begin + partition(node);
        TreeNode child[2];
        child[0].begin = node.begin;
        child[0].end = child[1].begin = middle;
        child[1].end = node.end;
        for (TreeNode& one : child) {
            one.parent = parent.node;
            one.depth = node.depth + 1;
        }
        // A node that met no missing value sends them where most rows go.
        const double* missing =
            parent.histogram->data() +
            (offsets_[static_cast<std::size_t>(parent.feature)] + data_.n_bins[parent.feature]) * width_;
        if (missing[count_] == 0.0) node.missing_left = middle - node.begin >= node.end - middle;

        Leaf next[2];
        next[0].sums = left_sums(parent);
        next[1].sums = parent.sums;
        for (int c = 0; c < width_; ++c)
            next[1].sums[static_cast<std::size_t>(c)] -= next[0].sums[static_cast<std::size_t>(c)];
        criterion_->split(parent.sums.data(), next[0].sums.data(), next[1].sums.data());
        tree.nodes.push_back(child[0]);
        tree.nodes.push_back(child[1]);
        ++n_leaves;

        const bool wanted[2] = {splittable(child[0]), splittable(child[1])};
        if (n_leaves < limits.max_leaves && (wanted[0] || wanted[1])) {
            const int small = child[0].end - child[0].begin <= child[1].end - child[1].begin ? 0 : 1;
            const int large = 1 - small;
            if (wanted[large]) next[large].histogram = std::move(parent.histogram);
            judge(next[small], rows_.data() + child[small].begin, child[small].end - child[small].begin,
                  wanted[small], wanted[large] ? &next[large] : nullptr);
            for (int side = 0; side < 2; ++side) {
                next[side].node = left_node + side;
                leaves.push_back(std::move(next[side]));
                if (wanted[side])
                    enqueue(static_cast<int>(leaves.size()) - 1);
                else if (leaves.back().histogram)
                    spare_.push_back(std::move(leaves.back().histogram));
            }
        }
        if (parent.histogram) spare_.push_back(std::move(parent.histogram));
    }
    for (Leaf& leaf : leaves)
        if (leaf.histogram) spare_.push_back(std::move(leaf.histogram));
    criterion_.reset();
    return tree;
}

}  // namespace ordinal
