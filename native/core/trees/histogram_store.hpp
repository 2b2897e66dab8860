// Histograms of the leaves of a tree: their memory, what they hold, and how they are taken from one another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "simd/aligned.hpp"
#include "threads/pool.hpp"
#include "threads/sizes.hpp"
#include "trees/binned_data.hpp"
#include "trees/histogram_builder.hpp"
#include "trees/row_layout.hpp"
#include "trees/tree_planes.hpp"

namespace ordinal {

using Histogram = AlignedVector<double>;

class HistogramStore {
  public:
    // in_float64: see HistogramBuilder.
    HistogramStore(const BinnedData& data, Pool& pool, bool in_float64);

    // Begins a tree on n of the rows, in increasing order, or on all of them where rows is null.
    // statistics, n_gradients: see HistogramBuilder. All arrays must outlive the tree.
    void begin(const float* statistics, RowLayout layout, int n_gradients,
               const std::vector<std::int32_t>& features, const std::uint32_t* rows, std::int64_t n);

    RowLayout layout() const { return layout_; }
    const std::vector<std::int32_t>& features() const { return planes_.features(); }
    int n_bins(std::int32_t feature) const { return data_.n_bins[feature]; }
    // Null for a feature whose bins have an order.
    const CategoryRules* category_rules(std::int32_t feature) const {
        return data_.by_category && data_.by_category[feature] ? &data_.categories : nullptr;
    }

    // Runs work(part, thread) over parts of the planes of nearly the same size, as many for each thread.
    template <class Work>
    void over_planes(std::int64_t n_rows, const Work& work) const {
        const int n_planes = planes_.count();
        const bool worth = n_rows * n_planes >= kWorthRows || n_sums() >= kWorthSums;
        // Each group reads all rows: more groups than a single thread needs cost it time.
        const int groups = worth ? builder_.n_groups() : builder_.fewest_groups();
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
        planes_.over_features(planes, work);
    }

    // What a thread's scans put aside.
    void* scan_memory(int thread) { return scan_.data() + thread * scan_step_; }

    std::unique_ptr<Histogram> take();
    void give_back(std::unique_ptr<Histogram> histogram);

    // Whether a leaf of n rows keeps its histogram until it is split. Reading rows again costs less than
    // reading bins that no longer are in the cache, where the rows are few and the histograms large.
    bool keeps(std::int64_t n) const {
        return n > kFewToRead || layout_.width() <= kFewColumns || n_sums() <= kSmallHistogram;
    }

    // Before a leaf's histogram is built.
    void share(const std::uint32_t* rows, std::int64_t n) { builder_.share(rows, n); }

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
    std::vector<double> sums(const std::uint32_t* rows, std::int64_t n) const {
        return builder_.sums(rows, n);
    }

  private:
    static constexpr std::int64_t kFewToRead = 1024;
    static constexpr int kFewColumns = 64;
    static constexpr std::int64_t kSmallHistogram = 1 << 19;  // numbers
    static constexpr std::int64_t kCache = 1 << 20;           // bytes
    static constexpr std::int64_t kRowsOfPlane = 512;  // so many rows are as long as the bins of a plane

    std::int64_t n_sums() const { return planes_.n_bins() * layout_.width(); }

    // Planes that pass over n rows at once. The more there are, the less often the rows are read; the
    // fewer, the longer what was added up stays in the cache, to be taken from the parent's and scanned.
    int together(std::int64_t n) const {
        if (!is_wide(layout_.width())) return planes_.count();
        const std::int64_t in_cache =
            kCache / (2 * kSlots * layout_.width() * static_cast<int>(sizeof(double)));
        return static_cast<int>(std::max({n / kRowsOfPlane, in_cache, std::int64_t{1}}));
    }

    const BinnedData& data_;
    Pool& pool_;
    TreePlanes planes_;
    HistogramBuilder builder_;
    RowLayout layout_;
    std::int64_t n_most_bins_ = 0;  // of all features
    AlignedVector<double> own_;     // bins of each thread, for both sides of a split
    std::int64_t own_step_ = 0;     // numbers of a thread and side
    AlignedVector<double> scan_;
    std::int64_t scan_step_ = 0;  // numbers of a thread
    std::vector<std::unique_ptr<Histogram>> spare_;
};

}  // namespace ordinal
