// The parts of the histogram engine that are compiled once for each instruction set: binning, histograms,
// split search. Plain structs, because an inline function of the standard library must not be compiled here.
#pragma once

#include <cstdint>

namespace ordinal {

constexpr int kMissing = 255;  // the bin of a missing value
constexpr int kSlots = 257;    // a feature's places in the float32 histogram; odd, so that the
                               // first bins of all features do not share one cache set
constexpr std::int64_t kFloatRows =
    1 << 14;                             // rows added up in float32 before the sums of 255 bins go to float64
constexpr std::int64_t kFewRows = 2048;  // added up in float64
constexpr double kTie = 1e-9;            // a later candidate wins by more than this share of the gain

// A row's statistics: gradient, Hessian, n_cross cross terms, 1, and zeros up to the width of a vector.
constexpr int kGradient = 0;
constexpr int kHessian = 1;
constexpr int kCross = 2;

constexpr int kMostColumns = 1024;
constexpr int kMostCross = 1000;

inline int count_index(int n_cross) { return kCross + n_cross; }

inline int row_width(int n_cross) {
    const int used = count_index(n_cross) + 1;
    if (used <= 4) return 4;
    if (used <= 8) return 8;
    return (used + 15) / 16 * 16;
}

// Lanes of a row that are added at a time; the passes over a wider row use the same scratch.
constexpr int kSlice = 16;
inline int slice_width(int width) { return width < kSlice ? width : kSlice; }

struct HistogramTask {
    const std::uint8_t* bins;  // (n_rows, stride) row-major
    std::int64_t stride;
    const float* statistics;  // (n_rows, width)
    int width;
    const std::uint32_t* rows;  // (n,) rows of the leaf, or null for rows 0..n-1
    std::int64_t n;
    const std::int32_t* features;  // (n_features,) columns of this task
    int n_features;
    bool consecutive;             // features are features[0], features[0] + 1, ...
    const std::int32_t* n_bins;   // (all features,)
    const std::int64_t* offsets;  // (all features,) first entry of a feature in `histogram`, in bins
    float* scratch;               // (n_features * kSlots * slice_width(width),)
    double* histogram;            // (all bins, width); the missing bin is each feature's last
};

// What one leaf asks of its candidates; core/joint_criterion.hpp prepares it.
struct ScanTask {
    const double* histogram;  // of one feature: (n_bins + 1, width)
    int n_bins;
    int width;
    int count;              // the column of the count
    int first_carried;      // the first of
    int n_carried;          // columns that the cross terms L = W' carried follow from
    const double* inverse;  // W A^{-1} W' (n_carried, n_carried)
    const double* m;        // W A^{-1} L_p
    const double* q;        // W A^{-1} r_A
    double r_A_q, pm, pq;
    const double* parent;  // sums of the leaf (width,)
    double parent_score;   // G_p^2 / h_p + r' S^{-1} r
    double l2, min_gain, min_child_weight, min_samples_leaf;
    bool gauge;  // S is singular along the ones
};

struct Candidate {
    double gain;  // above 0, or nothing was found
    int bin;      // the last one that goes left
    bool missing_left;
};

struct BinTask {
    const void* values;  // one column
    bool is_float32;
    std::int64_t step;        // between two rows, in elements
    std::int64_t begin, end;  // rows
    const void* cuts;         // (256,) of the values' type, increasing, padded with infinity
    std::uint8_t* column;     // (n_rows,)
    std::uint8_t* rows;       // this column of the row-major copy
    std::int64_t stride;
};

struct SumTask {
    const float* statistics;  // (n_rows, width)
    int width;
    const std::int32_t* leaf;   // (n_rows,) or null: all rows in leaf 0
    const std::uint32_t* rows;  // (n,) or null for rows begin..end-1
    std::int64_t begin, end;
    double* sums;  // (n_leaves, width), added to
};

struct PartitionTask {
    const std::uint8_t* column;  // bins of the split's feature, readable kPadding bytes beyond its end
    std::uint32_t* rows;         // (n,)
    std::uint32_t* right;        // (n,)
    std::int64_t n;
    int last_left;
    bool missing_left;
};

constexpr std::int64_t kPadding = 4;

using BuildHistogram = void (*)(const HistogramTask&);
using ScanFeature = Candidate (*)(const ScanTask&);
using BinColumn = void (*)(const BinTask&);
using SumByLeaf = void (*)(const SumTask&);
using PartitionRows = std::int64_t (*)(const PartitionTask&);

#define ORDINAL_ENGINE_ENTRIES(isa)                   \
    void build_histogram_##isa(const HistogramTask&); \
    Candidate scan_feature_##isa(const ScanTask&);    \
    void bin_column_##isa(const BinTask&);            \
    void sum_by_leaf_##isa(const SumTask&);           \
    std::int64_t partition_rows_##isa(const PartitionTask&);
ORDINAL_ENGINE_ENTRIES(baseline)
ORDINAL_ENGINE_ENTRIES(avx2)
ORDINAL_ENGINE_ENTRIES(avx512)
#undef ORDINAL_ENGINE_ENTRIES

}  // namespace ordinal
