// One training call: the binned rows, their statistics, the threads and the trees grown on them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "criteria/limits.hpp"
#include "simd/aligned.hpp"
#include "threads/pool.hpp"
#include "threads/sizes.hpp"
#include "trees/histogram_store.hpp"
#include "trees/node_features.hpp"
#include "trees/row_layout.hpp"
#include "trees/row_partition.hpp"
#include "trees/tree.hpp"

namespace ordinal {

// A feature matrix as it came: any strides, float32 or float64.
struct FeatureMatrix {
    const void* data = nullptr;
    bool is_float32 = false;
    std::int64_t n_rows = 0;
    int n_features = 0;
    std::int64_t row_step = 0, column_step = 0;  // in elements
};

class Engine {
  public:
    // cuts[f]: increasing, at most 254. in_float64: see HistogramBuilder. by_category: features whose bins
    // have no order. The rows wait for bin().
    Engine(std::int64_t n_rows, const std::vector<std::vector<double>>& cuts, int n_threads,
           bool in_float64 = false, const std::vector<std::int32_t>& by_category = {},
           CategoryRules rules = {});

    // Takes other cuts, by which the same rows are to be binned again; their statistics stay.
    void recut(const std::vector<std::vector<double>>& cuts);

    // Bins the rows from first_row on, as many as X has.
    void bin(std::int64_t first_row, const FeatureMatrix& X);

    // The rows' statistics (n_rows, width()), for the caller to fill: the columns of a criterion, and those
    // that it has behind the count. The rest is set.
    float* statistics(int n_columns, int n_behind = 0);

    // Lets some rows of a sample, where `light` says so, count by a factor in the columns of the next tree,
    // or as before. The rows themselves are still counted as one.
    void weigh(const std::uint32_t* rows, const std::uint8_t* light, std::int64_t n, float factor);
    void unweigh(const std::uint32_t* rows, const std::uint8_t* light, std::int64_t n);

    // rows: in increasing order, or null for all; n_rows of them.
    // leaf_of_row (n_rows(),) takes each row's node, also of rows that the tree was not grown on.
    template <class Criterion>
    Tree grow(const typename Criterion::Input& input, const GrowthLimits& limits, const FeatureRules& rules,
              const std::vector<std::int32_t>& features, const std::uint32_t* rows, std::int64_t n_rows,
              std::int32_t* leaf_of_row);

    // Sums of the rows' statistics over `rows` (null for all) by leaf: (n_leaves, width()).
    std::vector<double> leaf_sums(const std::int32_t* leaf_of_row, int n_leaves, const std::uint32_t* rows,
                                  std::int64_t n_rows);

    std::int64_t n_rows() const { return data_.n_rows; }
    int n_features() const { return data_.n_features; }
    int width() const { return layout_.width(); }

  private:
    void note_leaves(const Tree& tree, std::int32_t* leaf_of_row);
    void find_leaves(const Tree& tree, std::int32_t* leaf_of_row);
    void pass_down(const Tree& tree, std::uint32_t* rows, std::uint32_t* right, std::int64_t n,
                   std::int32_t* leaf_of_row) const;
    template <class Work>
    void over_light(const std::uint32_t* rows, const std::uint8_t* light, std::int64_t n, const Work& work);

    std::shared_ptr<Pool> pool_;
    bool in_float64_;
    BinnedData data_;
    AlignedVector<std::uint8_t> row_bins_, column_bins_;
    std::vector<std::vector<double>> cuts_;
    std::vector<std::int32_t> n_bins_;
    std::unique_ptr<Planes> planes_;
    std::vector<std::uint8_t> by_category_;
    AlignedVector<float> statistics_, before_;  // before_: of the rows of a sample that are weighed
    RowLayout layout_;
    std::unique_ptr<HistogramStore> histograms_;
    std::unique_ptr<RowPartition> partition_;
};

}  // namespace ordinal
