// Histograms of leaves: filled from rows, taken from one another, and their rows parted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "simd/aligned.hpp"
#include "threads/pool.hpp"
#include "threads/sizes.hpp"
#include "trees/planes.hpp"
#include "trees/row_layout.hpp"
#include "trees/tasks.hpp"
#include "trees/tree.hpp"

namespace ordinal {

struct BinnedData {
    std::int64_t n_rows = 0;
    int n_features = 0;
    const Planes* planes = nullptr;
    const std::uint8_t* rows = nullptr;  // (n_rows, stride) codes of the planes, for histograms
    std::int64_t stride = 0;
    const std::uint8_t* columns = nullptr;      // (n_features, n_rows) for partitions
    const std::int32_t* n_bins = nullptr;       // (n_features,) without the missing one
    const std::uint8_t* by_category = nullptr;  // (n_features,) or null: no bins of categories
    CategoryRules categories;
};

using Histogram = AlignedVector<double>;

// A histogram, or the part of one from a bin on.
struct Bins {
    double* data = nullptr;
    std::int64_t first = 0;
};

// Planes first..last-1 of a tree's, whose features are built and scanned together.
struct PlaneRange {
    int first, last;
};

class LeafHistograms {
  public:
    // in_float64: add up in float64 alone, where magnitudes differ too much for float32 sums.
    LeafHistograms(const BinnedData& data, Pool& pool, bool in_float64);

    // Begins a tree on n of the rows, in increasing order, or on all of them where rows is null.
    // statistics: (n_rows, layout.width()) with the count set. All arrays must outlive the tree.
    void begin(const float* statistics, RowLayout layout, const std::vector<std::int32_t>& features,
               const std::uint32_t* rows, std::int64_t n);

    // The newest tree's rows by leaf, in increasing order within each.
    const std::vector<std::uint32_t>& rows() const { return rows_; }
    RowLayout layout() const { return layout_; }
    const std::vector<std::int32_t>& features() const { return *features_; }
    int n_bins(std::int32_t feature) const { return data_.n_bins[feature]; }
    // Null for a feature whose bins have an order.
    const CategoryRules* category_rules(std::int32_t feature) const {
        return data_.by_category && data_.by_category[feature] ? &data_.categories : nullptr;
    }

    // Runs work(part, thread) over parts of the planes of nearly the same size, as many for each thread.
    template <class Work>
    void over_planes(std::int64_t n_rows, const Work& work) const {
        const int n_planes = this->n_planes();
        const bool worth = n_rows * n_planes >= kWorthRows || n_slots_ * layout_.width() >= kWorthSums;
        // Each group reads all rows: more groups than a single thread needs cost it time.
        const int groups = worth ? n_groups() : fewest_groups();
        pool_.run("histogram and scan", groups, worth, [&](std::int64_t group, int thread) {
            // Such a product leaves an int from 262,144 planes on.
            const int end = static_cast<int>((group + 1) * n_planes / groups);
            for (int first = static_cast<int>(group * n_planes / groups), last; first < end; first = last) {
                last = std::min(end - first, together(n_rows)) + first;
                work(PlaneRange{first, last}, thread);
            }
        });
    }

    // Calls work(i, feature) for the features of some planes: i is the feature's place in features().
    template <class Work>
    void over_features(PlaneRange planes, const Work& work) const {
        const TreePlane* of_tree = planes_.data();
        for (int f = of_tree[planes.first].first; f < of_tree[planes.last - 1].last; ++f)
            work(static_cast<std::size_t>(places_[static_cast<std::size_t>(f)]),
                 by_plane_[static_cast<std::size_t>(f)]);
    }

    // What a thread's scans put aside.
    void* scan_memory(int thread) { return scan_.data() + thread * scan_step_; }

    std::unique_ptr<Histogram> take();
    void give_back(std::unique_ptr<Histogram> histogram);

    // Whether a leaf of n rows keeps its histogram until it is split. Reading rows again costs less than
    // reading bins that no longer are in the cache, where the rows are few and the histograms large.
    bool keeps(std::int64_t n) const {
        return n > kFewToRead || layout_.width() <= kFewColumns ||
               n_slots_ * layout_.width() <= kSmallHistogram;
    }

    // Adds up parts of the rows, where they are many, for `build` to join. Threads that share the rows read
    // each of them once; those that share the features all read it. How many parts there are depends on the
    // rows alone, so that sums do not depend on the threads.
    void build_parts(const std::unique_ptr<Histogram>& kept, const std::uint32_t* rows, std::int64_t n);

    // Fills the features of some planes with n rows. Where no histogram is kept, into the thread's own
    // memory, that of the side 0 or 1.
    Bins build(const std::unique_ptr<Histogram>& kept, const std::uint32_t* rows, std::int64_t n,
               PlaneRange planes, int thread, int side = 0);
    void subtract(Bins from, Bins part, std::int32_t feature) const;

    // Bins of a feature, (n_bins + 1, width); the missing one is the last.
    const double* bins_of(Bins bins, std::int32_t feature) const;
    std::vector<double> sums(Bins bins, std::int32_t feature) const;
    std::vector<double> left_sums(Bins bins, std::int32_t feature, const Split& split) const;

    // The same of n rows that have no histogram.
    std::vector<double> sums(const std::uint32_t* rows, std::int64_t n) const;
    bool any_missing(const std::uint32_t* rows, std::int64_t n, std::int32_t feature) const;

    // Parts the rows of a node that was split; returns how many go left. Both children keep their rows in
    // increasing order, so that memory is read forwards.
    std::int64_t partition(const TreeNode& node);

  private:
    static constexpr std::int64_t kFewToRead = 1024;
    static constexpr int kFewColumns = 64;
    static constexpr std::int64_t kSmallHistogram = 1 << 19;  // numbers
    static constexpr std::int64_t kCache = 1 << 20;           // bytes
    static constexpr std::int64_t kRowsOfTwoParts = 1 << 15;  // fewer cost more to join than they save
    static constexpr std::int64_t kRowsOfFourParts = 1 << 17;
    static constexpr std::int64_t kLargestPart = 1 << 21;  // numbers
    static constexpr int kMostInParts = 64;                // planes
    static constexpr std::int64_t kRowsOfPlane = 512;      // so many rows are as long as the bins of a plane

    void list_planes();
    int n_planes() const { return static_cast<int>(planes_.size()); }
    int n_groups() const;
    int n_parts(std::int64_t n) const {
        // Of more planes a single thread makes several groups too, each of which reads the rows.
        if (n_planes() > kMostInParts || n_slots_ * layout_.width() > kLargestPart) return 1;
        return n >= kRowsOfFourParts ? 4 : n >= kRowsOfTwoParts ? 2 : 1;
    }
    int fewest_groups() const;
    int n_groups_of(std::int64_t n_pieces) const;
    // Blocks first..last-1 of a part, each added once those before it are.
    void add_blocks(HistogramTask part, std::int64_t first, std::int64_t last,
                    std::atomic<std::int64_t>& turn) const;
    float* scratch_of(int thread) {
        return scratch_.data() + thread * scratch_step_ * slice_width(layout_.width());
    }
    HistogramTask task_of(const std::uint32_t* rows, std::int64_t begin, std::int64_t end, PlaneRange planes,
                          int thread);
    void join(Bins bins, std::int32_t feature, int parts) const;

    // Planes that pass over n rows at once. The more there are, the less often the rows are read; the
    // fewer, the longer what was added up stays in the cache, to be taken from the parent's and scanned.
    int together(std::int64_t n) const {
        if (!is_wide(layout_.width())) return n_planes();
        const std::int64_t in_cache =
            kCache / (2 * kSlots * layout_.width() * static_cast<int>(sizeof(double)));
        return static_cast<int>(std::max({n / kRowsOfPlane, in_cache, std::int64_t{1}}));
    }

    BinnedData data_;
    Pool& pool_;
    bool in_float64_;
    std::vector<std::int64_t> offsets_;  // of the tree's features
    std::int64_t n_slots_ = 0, n_most_slots_ = 0;
    bool few_codes_ = false;  // of a plane, so that its sums go to float64 within a block
    std::vector<std::uint32_t> rows_, left_, right_;
    AlignedVector<double> own_;  // bins of each thread, for both sides of a split
    std::int64_t own_step_ = 0;  // numbers of a thread and side
    AlignedVector<float> scratch_;
    std::int64_t scratch_step_ = 0;  // places of a thread
    AlignedVector<double> beside_;   // bins of each thread, where planes have few codes
    AlignedVector<double> scan_;
    std::int64_t scan_step_ = 0;  // numbers of a thread
    std::vector<std::unique_ptr<Histogram>> spare_;
    std::vector<std::unique_ptr<Histogram>> parts_;  // of the leaf that is built, but the first one

    // Of the tree being grown.
    const float* statistics_ = nullptr;
    RowLayout layout_;
    const std::vector<std::int32_t>* features_ = nullptr;
    std::vector<TreePlane> planes_;
    std::vector<std::int32_t> by_plane_,
        places_;  // the features plane by plane, and where features() has them
    bool consecutive_ = true;
};

}  // namespace ordinal
