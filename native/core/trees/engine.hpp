// One training call: the binned rows, their statistics, the threads and the trees grown on them.
#pragma once

#include <cstdint>
#include <vector>

#include "simd/aligned.hpp"
#include "trees/grower.hpp"

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
    // cuts[f]: increasing, at most 254.
    Engine(const FeatureMatrix& X, const std::vector<std::vector<double>>& cuts, int n_threads);

    // Bins the same rows by other cuts; their statistics stay.
    void rebin(const FeatureMatrix& X, const std::vector<std::vector<double>>& cuts);

    // The rows' statistics (n_rows, width()), for the caller to fill: gradient, Hessian, cross terms. What
    // follows them is set.
    float* statistics(int n_cross);

    // leaf_of_row (n_rows,) takes each row's node, also of rows that the tree was not grown on.
    Tree grow(const ThresholdState& thresholds, const GrowthLimits& limits,
              const std::vector<std::int32_t>& features, const std::uint32_t* rows, std::int64_t n_rows,
              std::int32_t* leaf_of_row);

    // Sums of G, H, L and the count over `rows` (null for all) by leaf: (n_leaves, width()).
    std::vector<double> leaf_sums(const std::int32_t* leaf_of_row, int n_leaves, const std::uint32_t* rows,
                                  std::int64_t n_rows);

    std::int64_t n_rows() const { return data_.n_rows; }
    int n_features() const { return data_.n_features; }
    int width() const { return width_; }

  private:
    void bin(const FeatureMatrix& X, const std::vector<std::vector<double>>& cuts);

    Pool pool_;
    BinnedData data_;
    AlignedVector<std::uint8_t> row_bins_, column_bins_;
    std::vector<std::int32_t> n_bins_;
    AlignedVector<float> statistics_;
    int width_ = 0;
    int n_cross_ = -1;
    std::unique_ptr<Grower> grower_;
};

}  // namespace ordinal
