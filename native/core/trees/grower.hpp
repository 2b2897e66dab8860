// Grows one tree, best split first, by any criterion (criteria/list.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "criteria/limits.hpp"
#include "simd/dispatch.hpp"
#include "trees/histogram_store.hpp"
#include "trees/node_features.hpp"
#include "trees/row_partition.hpp"
#include "trees/tree.hpp"

namespace ordinal {

template <class Criterion>
class Grower {
  public:
    // A tree was begun in histograms and partition.
    Grower(HistogramStore& histograms, RowPartition& partition, const typename Criterion::Input& input,
           const GrowthLimits& limits, const FeatureRules& rules)
        : histograms_(histograms),
          partition_(partition),
          input_(input),
          limits_(limits),
          node_features_(rules, histograms.features()) {}

    // rows: those of begin(), or null; n of them.
    Tree grow(const std::uint32_t* rows, std::int64_t n);

  private:
    struct Leaf {
        int node = 0;
        std::vector<double> sums;
        std::unique_ptr<Histogram> histogram;  // null: its rows are few, and are read again when it is split
        const std::uint32_t* rows = nullptr;
        std::int64_t n = 0;
        Candidate best{0.0, {-1, false}};
        int feature = -1;
        NodeFeatures::Groups groups;
    };
    using Candidates = std::vector<Candidate>;

    // Whether a place is among some; none are all of them.
    static bool holds(const NodeFeatures::Places& places, std::size_t place) {
        return places.empty() || places[place];
    }

    bool splittable(const TreeNode& node) const {
        return node.depth < limits_.max_depth &&
               static_cast<double>(node.end - node.begin) >= 2.0 * limits_.min_samples_leaf &&
               node.end - node.begin > 1;
    }
    Candidate scan(const Leaf& leaf, Bins bins, const typename Criterion::Prepared& prepared,
                   std::int32_t feature, int thread) const;
    void take_best(Leaf& leaf, const Candidates& found) const;
    void judge_root(Leaf& root, const std::uint32_t* rows, std::int64_t n, bool wanted);
    void judge(Leaf& small, bool small_wanted, Leaf* large);
    void split(Leaf parent);
    void enqueue(Leaf leaf, bool wanted);

    // Highest gain first; of equal gains the older leaf. A gain is kept although later splits of other leaves
    // may change it: computing it again when its turn comes made no difference to the loss that could be
    // measured.
    struct Later {
        bool operator()(const std::pair<double, int>& a, const std::pair<double, int>& b) const {
            return a.first != b.first ? a.first < b.first : a.second > b.second;
        }
    };

    HistogramStore& histograms_;
    RowPartition& partition_;
    const typename Criterion::Input& input_;
    const GrowthLimits& limits_;
    const NodeFeatures node_features_;
    std::optional<Criterion> criterion_;
    Tree tree_;
    int n_leaves_ = 1;
    std::vector<Leaf> leaves_;
    std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, Later> queue_;
};

template <class Criterion>
Candidate Grower<Criterion>::scan(const Leaf& leaf, Bins bins, const typename Criterion::Prepared& prepared,
                                  std::int32_t feature, int thread) const {
    const RowLayout layout = histograms_.layout();
    const ScanTask task{histograms_.bins_of(bins, feature),
                        histograms_.n_bins(feature),
                        layout.width(),
                        layout.used(),
                        layout.count(),
                        leaf.sums.data(),
                        &limits_,
                        node_features_.sign(feature),
                        node_features_.n_gradients(),
                        histograms_.category_rules(feature),
                        histograms_.scan_memory(thread)};
    return scan_feature(active_instruction_set(), task, prepared.leaf());
}

template <class Criterion>
void Grower<Criterion>::take_best(Leaf& leaf, const Candidates& found) const {
    leaf.best = {0.0, {-1, false}};
    for (std::size_t f = 0; f < found.size(); ++f)
        if (found[f].gain > leaf.best.gain * (1.0 + kTie)) {
            leaf.best = found[f];
            leaf.feature = histograms_.features()[f];
        }
}

// The root, whose sums are those of its first feature's bins.
template <class Criterion>
void Grower<Criterion>::judge_root(Leaf& root, const std::uint32_t* rows, std::int64_t n, bool wanted) {
    const std::vector<std::int32_t>& features = histograms_.features();
    root.histogram = histograms_.take();
    histograms_.share(rows, n);
    histograms_.over_planes(n, [&](PlaneRange planes, int thread) {
        histograms_.build(root.histogram, rows, n, planes, thread);
    });
    const Bins bins{root.histogram->data(), 0};
    root.sums = histograms_.sums(bins, features.front());
    criterion_.emplace(input_, root.sums.data(), limits_);
    if (!wanted) return;
    const auto prepared = criterion_->prepare(root.sums.data());
    const NodeFeatures::Places may_split = node_features_.of_node(root.groups, root.node);
    Candidates found(features.size());
    histograms_.over_planes(0, [&](PlaneRange planes, int thread) {
        histograms_.over_features(planes, [&](std::size_t f, std::int32_t feature) {
            if (holds(may_split, f)) found[f] = scan(root, bins, prepared, feature, thread);
        });
    });
    take_best(root, found);
}

// Fills the histogram of the smaller child. The larger one (null if it will not be split) comes holding their
// parent's, from which the smaller one's is taken away, or none: then it is filled as well. All of it few
// features at a time, so that their bins are still in the cache when they are scanned.
template <class Criterion>
void Grower<Criterion>::judge(Leaf& small, bool small_wanted, Leaf* large) {
    const std::size_t n_features = histograms_.features().size();
    if (histograms_.keeps(small.n)) small.histogram = histograms_.take();
    const bool taken_away = large && large->histogram;
    const auto of_small = criterion_->prepare(small.sums.data());
    const auto of_large = large ? criterion_->prepare(large->sums.data()) : typename Criterion::Prepared{};
    const auto of_node = [&](const Leaf& leaf) { return node_features_.of_node(leaf.groups, leaf.node); };
    const auto small_may = of_node(small), large_may = large ? of_node(*large) : NodeFeatures::Places{};
    Candidates found_small(n_features), found_large(n_features);
    if (small_wanted || taken_away) histograms_.share(small.rows, small.n);
    histograms_.over_planes(small.n, [&](PlaneRange planes, int thread) {
        Bins part, rest;
        if (small_wanted || taken_away)
            part = histograms_.build(small.histogram, small.rows, small.n, planes, thread, 0);
        if (taken_away)
            rest.data = large->histogram->data();
        else if (large)
            rest = histograms_.build(large->histogram, large->rows, large->n, planes, thread, 1);
        histograms_.over_features(planes, [&](std::size_t f, std::int32_t feature) {
            if (taken_away) histograms_.subtract(rest, part, feature);
            if (small_wanted && holds(small_may, f))
                found_small[f] = scan(small, part, of_small, feature, thread);
            if (large && holds(large_may, f)) found_large[f] = scan(*large, rest, of_large, feature, thread);
        });
    });
    if (small_wanted) take_best(small, found_small);
    if (large) take_best(*large, found_large);
}

template <class Criterion>
void Grower<Criterion>::enqueue(Leaf leaf, bool wanted) {
    if (wanted && leaf.best.gain > 0.0) {
        queue_.emplace(leaf.best.gain, static_cast<int>(leaves_.size()));
        leaves_.push_back(std::move(leaf));
    } else {
        histograms_.give_back(std::move(leaf.histogram));
    }
}

template <class Criterion>
void Grower<Criterion>::split(Leaf parent) {
    const int count = histograms_.layout().count();
    const int left_node = static_cast<int>(tree_.nodes.size());
    TreeNode& node = tree_.nodes[static_cast<std::size_t>(parent.node)];
    node.feature = parent.feature;
    node.split = parent.best.split;
    node.gain = parent.best.gain;
    node.left = left_node;
    const std::int64_t middle = node.begin + partition_.split(node);
    TreeNode child[2];
    Leaf next[2];
    child[0].begin = node.begin;
    child[0].end = child[1].begin = middle;
    child[1].end = node.end;
    for (TreeNode& one : child) {
        one.parent = parent.node;
        one.depth = node.depth + 1;
    }
    for (int side = 0; side < 2; ++side) {
        next[side].rows = partition_.rows().data() + child[side].begin;
        next[side].n = child[side].end - child[side].begin;
        next[side].node = left_node + side;
        next[side].groups = node_features_.with(parent.groups, parent.feature);
    }
    // A node that met no missing value sends them where most rows go; of categories the scan has seen to
    // that.
    bool any_missing;
    if (parent.histogram) {
        const Bins bins{parent.histogram->data(), 0};
        const int end = histograms_.n_bins(parent.feature) * histograms_.layout().width();
        any_missing = histograms_.bins_of(bins, parent.feature)[end + count] > 0.0;
        next[0].sums = histograms_.left_sums(bins, parent.feature, parent.best.split);
    } else {
        any_missing = partition_.any_missing(next[0].rows, next[0].n + next[1].n, parent.feature);
        next[0].sums = histograms_.sums(next[0].rows, next[0].n);
    }
    if (!any_missing && !node.split.by_category) node.split.missing_left = next[0].n >= next[1].n;

    next[1].sums = parent.sums;
    for (std::size_t c = 0; c < parent.sums.size(); ++c) next[1].sums[c] -= next[0].sums[c];
    criterion_->split(parent.sums.data(), next[0].sums.data(), next[1].sums.data());
    tree_.nodes.push_back(child[0]);
    tree_.nodes.push_back(child[1]);
    ++n_leaves_;

    const bool wanted[2] = {splittable(child[0]), splittable(child[1])};
    if (n_leaves_ < limits_.max_leaves && (wanted[0] || wanted[1])) {
        const int small = child[0].end - child[0].begin <= child[1].end - child[1].begin ? 0 : 1;
        const int large = 1 - small;
        if (wanted[large]) next[large].histogram = std::move(parent.histogram);
        judge(next[small], wanted[small], wanted[large] ? &next[large] : nullptr);
        for (int side = 0; side < 2; ++side) enqueue(std::move(next[side]), wanted[side]);
    }
    histograms_.give_back(std::move(parent.histogram));
}

template <class Criterion>
Tree Grower<Criterion>::grow(const std::uint32_t* rows, std::int64_t n) {
    tree_.nodes.emplace_back();
    tree_.nodes[0].end = n;
    Leaf root;
    root.groups = node_features_.all_groups();
    const bool wanted = limits_.max_leaves > 1 && splittable(tree_.nodes[0]);
    judge_root(root, rows, n, wanted);
    enqueue(std::move(root), wanted);
    while (!queue_.empty() && n_leaves_ < limits_.max_leaves) {
        const int index = queue_.top().second;
        queue_.pop();
        split(std::move(leaves_[static_cast<std::size_t>(index)]));
    }
    for (Leaf& leaf : leaves_) histograms_.give_back(std::move(leaf.histogram));
    return std::move(tree_);
}

}  // namespace ordinal
