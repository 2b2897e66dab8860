// Histograms filled from rows.
//
// A row's columns are rounded to whole numbers of a unit, and added up as integers: these have the same sum
// in any order, so rows are shared out to threads in whatever way is fastest, and the bytes do not tell how.
// The unit is a power of two, so sums of such rows are exact in float64 too, as is what is left when a
// child's histogram is taken from its parent's.
#pragma once

#include <cstdint>
#include <vector>

#include "simd/aligned.hpp"
#include "threads/pool.hpp"
#include "trees/binned_data.hpp"
#include "trees/row_layout.hpp"
#include "trees/tasks.hpp"
#include "trees/tree_planes.hpp"

namespace ordinal {

class HistogramBuilder {
  public:
    // in_float64: take rows as they are, where magnitudes differ too much for a common unit.
    HistogramBuilder(const BinnedData& data, Pool& pool, bool in_float64);

    // Begins a tree on n rows, or on all of them where `rows` is null. planes: of its features; which of them
    // are deep is noted there. statistics: (n_rows, layout.width()) with the count set; they begin with
    // n_gradients columns of gradients, and as many of Hessians.
    void begin(const float* statistics, RowLayout layout, int n_gradients, TreePlanes& planes,
               const std::uint32_t* rows, std::int64_t n);

    // Groups of planes that threads take, each of which reads all rows: one for each thread at least, or as
    // few as keep their places in the cache.
    int n_groups() const;
    int fewest_groups() const;

    // Lets the threads add up a leaf's rows together, where that is faster than to share the planes alone:
    // build() then joins what they have added up.
    void share(const std::uint32_t* rows, std::int64_t n);

    // Fills the bins of some planes with n rows.
    void build(Bins bins, const std::uint32_t* rows, std::int64_t n, PlaneRange planes, int thread);

    // Sums of n rows: (layout.width(),).
    std::vector<double> sums(const std::uint32_t* rows, std::int64_t n) const;

  private:
    // A histogram of more numbers, or of more planes, is not worth joining.
    static constexpr std::int64_t kLargestShared = 1 << 21;
    static constexpr int kMostShared = 64;

    // How a leaf's rows and planes are shared out.
    struct Share {
        std::int64_t blocks = 0;  // of rows; none: threads share the planes alone
        std::int64_t groups = 1;  // of planes
    };

    void count_fullest();
    bool any_far(int n_gradients, const std::uint32_t* rows, std::int64_t n) const;
    bool find_units(const std::uint32_t* rows, std::int64_t n);
    void set_units(const std::vector<float>& bounds, int bits);
    Share fastest_share(std::int64_t n) const;
    HistogramTask task_of(const std::uint32_t* rows, std::int64_t begin, std::int64_t end, PlaneRange planes,
                          int thread);
    void join_shared(HistogramTask task, PlaneRange planes);

    int slice() const { return slice_width(layout_.width()); }
    int n_slices() const { return layout_.width() / slice(); }
    std::int32_t* table_of(int thread, std::int64_t n_slice, int plane) {
        return tables_.data() +
               ((thread * n_tables_ + n_slice) * n_places_ + plane) * std::int64_t{kSlots} * slice();
    }
    std::int64_t n_sums() const { return planes_->n_bins() * layout_.width(); }

    const BinnedData& data_;
    Pool& pool_;
    const bool in_float64_;
    std::vector<std::int64_t> fullest_;   // rows of the code that has most, of each plane
    AlignedVector<std::int32_t> tables_;  // (threads, n_tables_, n_places_, kSlots, slice()), zeroed
    AlignedVector<double> deep_;          // (threads, n_sums()), zeroed: bins of deep planes
    AlignedVector<float> few_;            // (threads, kFewRoom)

    // Of the tree.
    const float* statistics_ = nullptr;
    RowLayout layout_;
    const TreePlanes* planes_ = nullptr;
    std::vector<float> unit_, per_unit_;
    Units units_;                 // null: rows are taken as they are
    std::int64_t most_rows_ = 0;  // that an integer holds
    bool may_share_ = false, any_deep_ = false;
    std::int64_t n_tables_ = 1, n_places_ = 0;

    // Of the leaf whose rows are shared.
    const std::uint32_t* shared_rows_ = nullptr;
    std::int64_t n_shared_ = 0;  // 0: none
    Share share_;
    std::vector<std::uint8_t> used_;  // (threads, groups): whose tables hold sums
};

}  // namespace ordinal
