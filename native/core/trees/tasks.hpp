// Arguments of binning, histograms, split search and partition: the parts of the histogram engine that are
// compiled once for each instruction set. Plain structs, because an inline function of the standard library
// must not be compiled there.
#pragma once

#include <cstdint>

#include "criteria/category_bins.hpp"
#include "criteria/limits.hpp"
#include "criteria/list.hpp"
#include "simd/fetch.hpp"
#include "trees/split.hpp"

namespace ordinal {

constexpr int kSlots = 257;                 // a plane's places in a table of integers; odd, so that the
                                            // first codes of all planes do not share one cache set
constexpr int kMostCodes = 256;             // of a plane
constexpr std::int64_t kFewRows = 2048;     // that are added up in float64
constexpr std::int64_t kFewRoom = 1 << 15;  // numbers of these that are rounded at a time
constexpr double kTie = 1e-9;               // a later candidate wins by more than this share of the gain

// A byte of each row, and its features (trees/planes.hpp).
struct TreePlane {
    std::int32_t column;
    std::int32_t n_codes;      // without the missing one of a feature that is alone
    std::int32_t first, last;  // features first..last-1 of the tree's
    bool shared;
    bool is_deep;  // one of its codes has more rows than an integer holds
};

// A row's columns are rounded to multiples of a unit each, a power of two.
struct Units {
    const float* unit = nullptr;  // (width,) null: rows are taken as they are
    const float* per_unit = nullptr;
};

// A histogram, or the part of one from a bin on: (bins, width); the missing bin is each feature's last.
struct Bins {
    double* data = nullptr;
    std::int64_t first = 0;
};

struct HistogramTask {
    const std::uint8_t* bins;  // (n_rows, stride) row-major: the codes of the planes
    std::int64_t stride;
    const float* statistics;  // (n_rows, width)
    int width;
    Units units;
    const std::uint32_t* rows;  // rows of the leaf, or null for rows 0, 1, ...
    std::int64_t begin, end;    // those of this task
    const TreePlane* planes;    // (n_planes,) those of this task
    int n_planes;
    bool consecutive;              // their columns are those of planes[0], the next one, ...
    const std::int32_t* features;  // of the tree, plane by plane
    const std::uint8_t* bin_of;    // (all features, 256): the bin of a code
    const std::int32_t* n_bins;    // (all features,)
    const std::int64_t* offsets;   // (all features,) first bin of a feature
    Bins histogram;
    // Of integers: a slice of the columns.
    int lane;                // its first column
    std::int32_t* table;     // (n_planes, kSlots, slice_width(width)), added to
    std::int64_t most_rows;  // after which the deep planes go to `deep`
    Bins deep;               // added to
    float* few;              // (kFewRoom,): for rows that are added up in float64
};

// What threads have added up of the same planes and slice.
struct TableTask {
    std::int32_t* const* tables;  // (n,) as `table` of each; they are left zeroed
    double* const* deep;          // (n,) as the histogram; null: the deep planes are in it already
    int n;
};

// The candidates of one leaf along one feature; a criterion's leaf says what they are judged with.
struct ScanTask {
    const double* histogram;  // (n_bins + 1, width)
    int n_bins;
    int width;
    int used;              // columns that are not padding
    int count;             // the column of the count
    const double* parent;  // sums of the leaf (width,)
    const GrowthLimits* limits;
    int sign;         // 1 or -1 where the leaves' values must rise or fall with the feature, else 0
    int n_gradients;  // columns of gradients, before as many of Hessians
    const CategoryRules* categories;  // null for a feature whose bins have an order
    // The thread's own, on a cache line: kMostScratch + kColumnsBeyond + 2 * width vectors of candidates, and
    // width numbers; for categories category_memory(width) numbers more.
    void* scratch;
};

constexpr int kColumnsBeyond = 4;  // the last one: columns are filled eight by eight
constexpr int kMostWide = 8;       // candidates of a vector

// Numbers that the scan of a feature of categories puts aside: keys, two buffers of an order, and sums of a
// bin.
constexpr std::int64_t category_memory(int width) { return kMissing + width + order_memory(width); }

struct Candidate {
    double gain;  // above 0, or nothing was found
    Split split;
};

// Bins of one feature.
struct SubtractTask {
    double* from;        // (n_bins, width)
    const double* part;  // (n_bins, width)
    int n_bins;          // with the missing one
    int width;
    int count;  // the column of the count: wide bins without rows are passed over
};

struct BinTask {
    const void* values;  // one column
    bool is_float32;
    std::int64_t step;        // between two rows, in elements
    std::int64_t begin, end;  // rows
    const void* cuts;         // (256,) of the values' type, increasing, padded with infinity
    std::uint8_t* column;     // (n_rows,)
    std::uint8_t* rows;       // the feature's plane of the row-major copy
    std::int64_t stride;
    std::int32_t code_step, missing;  // as a Place has them
    bool is_first;                    // of its plane: the codes begin with it
};

struct SumTask {
    const float* statistics;  // (n_rows, width)
    int width;
    Units units;
    const std::int32_t* leaf;   // (n_rows,) or null: all rows in leaf 0
    const std::uint32_t* rows;  // (n,) or null for rows begin..end-1
    std::int64_t begin, end;
    double* sums;  // (n_leaves, width), added to
};

// The largest number of each column, whatever its sign.
struct BoundTask {
    const float* statistics;  // (n_rows, width)
    int width;
    const std::uint32_t* rows;  // or null for rows begin..end-1
    std::int64_t begin, end;
    float* bounds;  // (width,)
};

struct PartitionTask {
    const std::uint8_t* column;  // bins of the split's feature, readable kPadding bytes beyond its end
    const std::uint32_t* rows;   // (n,)
    std::uint32_t* left;         // (n,), or `rows`
    std::uint32_t* right;        // (n,)
    std::int64_t n;
    Split split;
};

constexpr std::int64_t kPadding = 4;
constexpr std::int64_t kPastList = 16;

using AddRows = void (*)(const HistogramTask&);
using JoinTables = void (*)(const HistogramTask&, const TableTask&);
using BoundColumns = void (*)(const BoundTask&);
template <class Leaf>
using ScanFeature = Candidate (*)(const ScanTask&, const Leaf&);
using SubtractBins = void (*)(const SubtractTask&);
using BinColumn = void (*)(const BinTask&);
using SumByLeaf = void (*)(const SumTask&);
using PartitionRows = std::int64_t (*)(const PartitionTask&);
using ListUnknown = std::int64_t (*)(const std::int32_t* leaf_of_row, std::int64_t n, std::uint32_t first,
                                     std::uint32_t* rows);

#define ORDINAL_SCAN_ENTRIES(folder, Name)                                  \
    Candidate scan_##folder##_baseline(const ScanTask&, const Name##Leaf&); \
    Candidate scan_##folder##_avx2(const ScanTask&, const Name##Leaf&);     \
    Candidate scan_##folder##_avx512(const ScanTask&, const Name##Leaf&);
ORDINAL_CRITERIA(ORDINAL_SCAN_ENTRIES)
#undef ORDINAL_SCAN_ENTRIES

#define ORDINAL_ENGINE_ENTRIES(isa)                                 \
    void add_few_##isa(const HistogramTask&);                       \
    void add_integers_##isa(const HistogramTask&);                  \
    void join_tables_##isa(const HistogramTask&, const TableTask&); \
    void bound_columns_##isa(const BoundTask&);                     \
    void subtract_bins_##isa(const SubtractTask&);                  \
    void bin_column_##isa(const BinTask&);                          \
    void sum_by_leaf_##isa(const SumTask&);                         \
    std::int64_t partition_rows_##isa(const PartitionTask&);        \
    std::int64_t list_unknown_##isa(const std::int32_t*, std::int64_t, std::uint32_t, std::uint32_t*);
ORDINAL_ENGINE_ENTRIES(baseline)
ORDINAL_ENGINE_ENTRIES(avx2)
ORDINAL_ENGINE_ENTRIES(avx512)
#undef ORDINAL_ENGINE_ENTRIES

}  // namespace ordinal
