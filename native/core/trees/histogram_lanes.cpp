// Histograms of all statistics at once: a row's vector is loaded once and added to one bin of every feature.
//
// Measured against one pass for each feature over blocks of rows: consecutive additions go to different
// features here, so none waits for the one before, and gathered rows are read once.
#include <cstddef>

#include "simd/fetch.hpp"
#include "simd/lanes.hpp"
#include "trees/row_layout.hpp"
#include "trees/tasks.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

constexpr std::int64_t kBlockRows = 2048;
constexpr std::int64_t kAhead = 512;      // additions between the prefetch of a row and its use
constexpr std::int64_t kFewestAhead = 8;  // rows
constexpr std::int64_t kMostAhead = 128;  // rows

// A row's statistics, or a slice of them, held in one register of 4, 8 or 16 lanes.
template <int kWidth>
struct Row {
#if defined(ORDINAL_VECTORS)
    typedef float Lanes __attribute__((vector_size(4 * kWidth)));
    Lanes lanes;
    explicit Row(const float* from) { std::memcpy(&lanes, from, sizeof lanes); }
    void add_to(float* to) const {
        Lanes sum;
        std::memcpy(&sum, to, sizeof sum);
        sum += lanes;
        std::memcpy(to, &sum, sizeof sum);
    }
#else
    const float* lanes;
    explicit Row(const float* from) : lanes(from) {}
    void add_to(float* to) const {
        for (int i = 0; i < kWidth; ++i) to[i] += lanes[i];
    }
#endif
};

// The last line that some rows may reach with n bytes, counted in bytes from their first: 0 where all of them
// are in one. They begin `step` bytes apart, at multiples of a power of two, which no two lines share.
inline std::size_t last_line(const void* first, std::size_t n, std::size_t step) {
    const std::size_t lowest = step & (~step + 1), unit = lowest < kLine ? lowest : kLine;
    return (reinterpret_cast<std::uintptr_t>(first) % unit + n - 1) / unit * unit;
}

// Fetches all lines: one that is not costs as much as the row's additions.
inline void fetch_lines(const std::uint8_t* row, std::size_t last) {
    for (std::size_t at = 0; at < last; at += kLine) fetch(row + at);
    fetch(row + last);
}

// See add_rows(). kOneLine: no row's bins reach a second line, which needs no loop.
template <int kWidth, bool kGathered, bool kConsecutive, bool kOneLine>
void add_fetched(const HistogramTask& task, int first_lane, std::int64_t begin, std::int64_t end,
                 [[maybe_unused]] std::size_t last_bins) {
    constexpr std::size_t kStep = static_cast<std::size_t>(kSlots) * kWidth;
    constexpr int kTogether = 8;  // features whose places are found with constant offsets
    const int n_features = task.n_features;
    const std::int32_t* features = task.features;
    const std::uint8_t* first_bin = task.bins + (kConsecutive ? features[0] : 0);
    const std::size_t stride = static_cast<std::size_t>(task.stride);
    const float* statistics = task.statistics + first_lane;
    const std::size_t width = kWidth < kSlice ? kWidth : static_cast<std::size_t>(task.width);
    const std::uint32_t* rows = task.rows;
    float* const scratch = task.scratch;
    const std::int64_t wanted = kAhead / n_features;
    const std::int64_t ahead =
        wanted < kFewestAhead ? kFewestAhead : (wanted > kMostAhead ? kMostAhead : wanted);
    const std::int64_t last_fetch = task.end - 1;
    const std::size_t before = kConsecutive ? 0 : static_cast<std::size_t>(features[0]);
    for (std::int64_t i = begin; i < end; ++i) {
        const std::size_t r = kGathered ? rows[i] : static_cast<std::size_t>(i);
        if (kGathered) {
            const std::size_t later = rows[i + ahead < last_fetch ? i + ahead : last_fetch];
            if (kOneLine)
                fetch(first_bin + (later * stride + before));
            else
                fetch_lines(first_bin + (later * stride + before), last_bins);
            fetch(statistics + later * width);
        }
        const Row<kWidth> row(statistics + r * width);
        const std::uint8_t* bins = first_bin + r * stride;
        const auto bin = [&](int f) {
            return static_cast<std::size_t>(kConsecutive ? bins[f] : bins[features[f]]);
        };
        float* to = scratch;
        const auto add = [&](int f, std::size_t place) {
            const std::size_t at = bin(f);
            row.add_to(to + (place * kStep + at * kWidth));
        };
        int f = 0;
        for (; f + kTogether <= n_features; f += kTogether) {
            add(f, 0);
            add(f + 1, 1);
            add(f + 2, 2);
            add(f + 3, 3);
            add(f + 4, 4);
            add(f + 5, 5);
            add(f + 6, 6);
            add(f + 7, 7);
            to += kTogether * kStep;
        }
        for (; f < n_features; ++f) {
            add(f, 0);
            to += kStep;
        }
    }
}

// Adds lanes first_lane..first_lane + kWidth - 1 of rows begin..end-1 to `scratch`.
template <int kWidth, bool kGathered, bool kConsecutive>
void add_rows(const HistogramTask& task, int first_lane, std::int64_t begin, std::int64_t end) {
    const std::int32_t first = task.features[0], last = task.features[task.n_features - 1];
    const std::size_t last_bins = last_line(task.bins + first, static_cast<std::size_t>(last - first + 1),
                                            static_cast<std::size_t>(task.stride));
    last_bins == 0
        ? add_fetched<kWidth, kGathered, kConsecutive, true>(task, first_lane, begin, end, last_bins)
        : add_fetched<kWidth, kGathered, kConsecutive, false>(task, first_lane, begin, end, last_bins);
}

template <int kWidth>
void add_lanes(const float* row, int width, double* to) {
    for (int k = 0; k < width; k += kWidth)
        for (int j = 0; j < kWidth; ++j) to[k + j] += static_cast<double>(row[k + j]);
}

// One row of any width.
inline void add_row(const float* row, int width, double* to) {
    is_wide(width) ? add_lanes<kSlice>(row, width, to) : add_lanes<4>(row, width, to);
}

inline double* bins_of(const HistogramTask& task, int feature) {
    return task.histogram + (task.offsets[feature] - task.first_bin) * task.width;
}

// Adds up in float64 from the start. With few rows float32 vectors gain no time, and equal gains stay equal.
void add_in_float64(const HistogramTask& task) {
    const std::int64_t width = task.width;
    for (int f = 0; f < task.n_features; ++f) {
        const int feature = task.features[f];
        double* histogram = bins_of(task, feature);
        for (std::int64_t k = 0; k < (task.n_bins[feature] + 1) * width; ++k) histogram[k] = 0.0;
    }
    // Blocks of rows stay in the cache while the features pass.
    for (std::int64_t begin = task.begin; begin < task.end; begin += kFewRows) {
        const std::int64_t end = begin + kFewRows < task.end ? begin + kFewRows : task.end;
        for (int f = 0; f < task.n_features; ++f) {
            const int feature = task.features[f];
            const int n_bins = task.n_bins[feature];
            double* histogram = bins_of(task, feature);
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t r = task.rows ? task.rows[i] : i;
                const int bin = task.bins[r * task.stride + feature];
                double* to = histogram + (bin == kMissing ? n_bins : bin) * width;
                add_row(task.statistics + r * task.width, task.width, to);
            }
        }
    }
}

// Moves n bins of one slice from float32 to float64. The first call overwrites the target.
template <int kWidth, bool kFirst>
void flush_bins(float* from, int n, std::int64_t step, double* to) {
    for (int bin = 0; bin < n; ++bin, from += kWidth, to += step) {
        for (int k = 0; k < kWidth; ++k) {
            to[k] = (kFirst ? 0.0 : to[k]) + static_cast<double>(from[k]);
            from[k] = 0.0f;
        }
    }
}

template <int kWidth, bool kFirst>
void flush_feature(const HistogramTask& task, int lane, int f) {
    const int feature = task.features[f];
    const int n_bins = task.n_bins[feature];
    float* from = task.scratch + static_cast<std::int64_t>(f) * kSlots * kWidth;
    double* to = bins_of(task, feature) + lane;
    flush_bins<kWidth, kFirst>(from, n_bins, task.width, to);
    flush_bins<kWidth, kFirst>(from + kMissing * kWidth, 1, task.width, to + n_bins * task.width);
}

// Blocks of rows between two flushes of a feature: with fewer bins more rows fall into each, so it is flushed
// sooner.
inline std::int64_t blocks_in_float(int n_bins) {
    const std::int64_t most = kFloatRows / kBlockRows;
    const std::int64_t wanted = n_bins * most / 255;
    return wanted < 1 ? 1 : wanted;
}

// One slice of all rows: blocks of them are added up in float32, and their sums in float64.
template <int kWidth, bool kGathered, bool kConsecutive>
void add_slice(const HistogramTask& task, int lane) {
    for (std::int64_t begin = task.begin, block = 0; begin < task.end; begin += kBlockRows, ++block) {
        const bool is_last = begin + kBlockRows >= task.end;
        add_rows<kWidth, kGathered, kConsecutive>(task, lane, begin, is_last ? task.end : begin + kBlockRows);
        for (int f = 0; f < task.n_features; ++f) {
            const std::int64_t together = blocks_in_float(task.n_bins[task.features[f]]);
            if (!is_last && (block + 1) % together != 0) continue;
            block < together ? flush_feature<kWidth, true>(task, lane, f)
                             : flush_feature<kWidth, false>(task, lane, f);
        }
    }
}

// Where a block's sums of a feature are to be flushed to, the first time or again, without the order of
// blocks.
template <int kWidth>
void flush_within(const HistogramTask& task, int f, std::int64_t block) {
    HistogramTask beside = task;
    beside.histogram = task.beside;
    block < blocks_in_float(task.n_bins[task.features[f]])
        ? flush_feature<kWidth, true>(beside, task.lane, f)
        : flush_feature<kWidth, false>(beside, task.lane, f);
}

template <int kWidth, bool kGathered, bool kConsecutive>
void add_to_scratch(const HistogramTask& task) {
    for (std::int64_t begin = task.begin, block = 0; begin < task.end; begin += kBlockRows, ++block) {
        const bool is_last = begin + kBlockRows >= task.end;
        const std::int64_t end = is_last ? task.end : begin + kBlockRows;
        add_rows<kWidth, kGathered, kConsecutive>(task, task.lane, begin, end);
        for (int f = 0; f < task.n_features; ++f) {
            const std::int64_t together = blocks_in_float(task.n_bins[task.features[f]]);
            if (together < kFloatRows / kBlockRows && (is_last || (block + 1) % together == 0))
                flush_within<kWidth>(task, f, block);
        }
    }
}

template <int kWidth>
void add_to_scratch(const HistogramTask& task) {
    if (task.rows)
        task.consecutive ? add_to_scratch<kWidth, true, true>(task)
                         : add_to_scratch<kWidth, true, false>(task);
    else
        task.consecutive ? add_to_scratch<kWidth, false, true>(task)
                         : add_to_scratch<kWidth, false, false>(task);
}

template <int kWidth, bool kFirst>
void add_beside(const HistogramTask& task, int feature) {
    const std::int64_t at = (task.offsets[feature] - task.first_bin) * task.width + task.lane;
    for (int bin = 0; bin <= task.n_bins[feature]; ++bin) {
        const double* from = task.beside + at + std::int64_t{bin} * task.width;
        double* to = task.histogram + at + std::int64_t{bin} * task.width;
        for (int k = 0; k < kWidth; ++k) to[k] = (kFirst ? 0.0 : to[k]) + from[k];
    }
}

template <int kWidth, bool kFirst>
void flush_all(const HistogramTask& task) {
    for (int f = 0; f < task.n_features; ++f) {
        const int feature = task.features[f];
        if (blocks_in_float(task.n_bins[feature]) < kFloatRows / kBlockRows)
            add_beside<kWidth, kFirst>(task, feature);
        else
            flush_feature<kWidth, kFirst>(task, task.lane, f);
    }
}

template <int kWidth>
void flush_all(const HistogramTask& task) {
    task.is_first ? flush_all<kWidth, true>(task) : flush_all<kWidth, false>(task);
}

template <int kWidth>
void add_slice(const HistogramTask& task, int lane) {
    if (task.rows)
        task.consecutive ? add_slice<kWidth, true, true>(task, lane)
                         : add_slice<kWidth, true, false>(task, lane);
    else
        task.consecutive ? add_slice<kWidth, false, true>(task, lane)
                         : add_slice<kWidth, false, false>(task, lane);
}

}  // namespace

// `scratch` comes zeroed and is left zeroed.
void ORDINAL_PASTE(build_histogram_, ORDINAL_ISA)(const HistogramTask& task) {
    if (task.in_float64 || task.end - task.begin <= kFewRows) return add_in_float64(task);
    if (task.width == 4) return add_slice<4>(task, 0);
    if (task.width == 8) return add_slice<8>(task, 0);
    for (int lane = 0; lane < task.width; lane += kSlice) add_slice<kSlice>(task, lane);
}

// At most kFloatRows rows, one slice of their columns: `scratch` comes zeroed, and holds their sums until
// flush_block() takes them.
void ORDINAL_PASTE(add_block_, ORDINAL_ISA)(const HistogramTask& task) {
    if (task.width == 4) return add_to_scratch<4>(task);
    if (task.width == 8) return add_to_scratch<8>(task);
    add_to_scratch<kSlice>(task);
}

void ORDINAL_PASTE(flush_block_, ORDINAL_ISA)(const HistogramTask& task) {
    if (task.width == 4) return flush_all<4>(task);
    if (task.width == 8) return flush_all<8>(task);
    flush_all<kSlice>(task);
}

void ORDINAL_PASTE(subtract_bins_, ORDINAL_ISA)(const SubtractTask& task) {
    const std::int64_t together = is_wide(task.width) ? task.width : std::int64_t{task.n_bins} * task.width;
    const std::int64_t end = std::int64_t{task.n_bins} * task.width;
    for (std::int64_t begin = 0; begin < end; begin += together) {
        if (is_wide(task.width) && task.part[begin + task.count] == 0.0) continue;
        for (std::int64_t k = begin; k < begin + together; ++k) task.from[k] -= task.part[k];
    }
}

void ORDINAL_PASTE(sum_by_leaf_, ORDINAL_ISA)(const SumTask& task) {
    for (std::int64_t i = task.begin; i < task.end; ++i) {
        const std::int64_t row = task.rows ? task.rows[i] : i;
        const std::int64_t leaf = task.leaf ? task.leaf[row] : 0;
        add_row(task.statistics + row * task.width, task.width, task.sums + leaf * task.width);
    }
}

}  // namespace ordinal
