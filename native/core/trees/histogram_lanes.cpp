// Histograms of all statistics at once: a row's vector is loaded once and added to one place of every plane.
//
// Measured against one pass for each plane over blocks of rows: consecutive additions go to different planes
// here, so none waits for the one before, and gathered rows are read once.
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
    constexpr int kTogether = 8;  // planes whose places are found with constant offsets
    const int n_planes = task.n_planes;
    const TreePlane* planes = task.planes;
    const std::uint8_t* first_code = task.bins + (kConsecutive ? planes[0].column : 0);
    const std::size_t stride = static_cast<std::size_t>(task.stride);
    const float* statistics = task.statistics + first_lane;
    const std::size_t width = kWidth < kSlice ? kWidth : static_cast<std::size_t>(task.width);
    const std::uint32_t* rows = task.rows;
    float* const scratch = task.scratch;
    const std::int64_t wanted = kAhead / n_planes;
    const std::int64_t ahead =
        wanted < kFewestAhead ? kFewestAhead : (wanted > kMostAhead ? kMostAhead : wanted);
    const std::int64_t last_fetch = task.end - 1;
    const std::size_t before = kConsecutive ? 0 : static_cast<std::size_t>(planes[0].column);
    for (std::int64_t i = begin; i < end; ++i) {
        const std::size_t r = kGathered ? rows[i] : static_cast<std::size_t>(i);
        if (kGathered) {
            const std::size_t later = rows[i + ahead < last_fetch ? i + ahead : last_fetch];
            if (kOneLine)
                fetch(first_code + (later * stride + before));
            else
                fetch_lines(first_code + (later * stride + before), last_bins);
            fetch(statistics + later * width);
        }
        const Row<kWidth> row(statistics + r * width);
        const std::uint8_t* codes = first_code + r * stride;
        float* to = scratch;
        const auto add = [&](int p, std::size_t place) {
            const std::size_t at = codes[kConsecutive ? p : planes[p].column];
            row.add_to(to + (place * kStep + at * kWidth));
        };
        int p = 0;
        for (; p + kTogether <= n_planes; p += kTogether) {
            add(p, 0);
            add(p + 1, 1);
            add(p + 2, 2);
            add(p + 3, 3);
            add(p + 4, 4);
            add(p + 5, 5);
            add(p + 6, 6);
            add(p + 7, 7);
            to += kTogether * kStep;
        }
        for (; p < n_planes; ++p) {
            add(p, 0);
            to += kStep;
        }
    }
}

// Adds lanes first_lane..first_lane + kWidth - 1 of rows begin..end-1 to `scratch`.
template <int kWidth, bool kGathered, bool kConsecutive>
void add_rows(const HistogramTask& task, int first_lane, std::int64_t begin, std::int64_t end) {
    const std::int32_t first = task.planes[0].column, last = task.planes[task.n_planes - 1].column;
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
    const auto each = [&](const auto& work) {
        for (int p = 0; p < task.n_planes; ++p)
            for (int f = task.planes[p].first; f < task.planes[p].last; ++f)
                work(task.planes[p], task.features[f]);
    };
    each([&](const TreePlane&, int feature) {
        double* histogram = bins_of(task, feature);
        for (std::int64_t k = 0; k < (task.n_bins[feature] + 1) * width; ++k) histogram[k] = 0.0;
    });
    // Blocks of rows stay in the cache while the features pass.
    for (std::int64_t begin = task.begin; begin < task.end; begin += kFewRows) {
        const std::int64_t end = begin + kFewRows < task.end ? begin + kFewRows : task.end;
        each([&](const TreePlane& plane, int feature) {
            const std::uint8_t* bin_of = task.bin_of + feature * kMostCodes;
            double* histogram = bins_of(task, feature);
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t r = task.rows ? task.rows[i] : i;
                double* to = histogram + bin_of[task.bins[r * task.stride + plane.column]] * width;
                add_row(task.statistics + r * task.width, task.width, to);
            }
        });
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

// Moves the sums of codes to the bins of each feature that shares them.
template <int kWidth, bool kFirst>
void flush_shared(const HistogramTask& task, int lane, const TreePlane& plane, float* from) {
    const std::int64_t step = task.width;
    for (int f = plane.first; f < plane.last; ++f) {
        const int feature = task.features[f];
        const std::uint8_t* bin_of = task.bin_of + feature * kMostCodes;
        double* to = bins_of(task, feature) + lane;
        for (int bin = 0; kFirst && bin <= task.n_bins[feature]; ++bin)
            for (int k = 0; k < kWidth; ++k) to[bin * step + k] = 0.0;
        for (int code = 0; code < plane.n_codes; ++code)
            for (int k = 0; k < kWidth; ++k)
                to[bin_of[code] * step + k] += static_cast<double>(from[code * kWidth + k]);
    }
    for (int k = 0; k < plane.n_codes * kWidth; ++k) from[k] = 0.0f;
}

template <int kWidth, bool kFirst>
void flush_plane(const HistogramTask& task, int lane, int p) {
    const TreePlane& plane = task.planes[p];
    float* from = task.scratch + static_cast<std::int64_t>(p) * kSlots * kWidth;
    if (plane.shared) return flush_shared<kWidth, kFirst>(task, lane, plane, from);
    const int n_bins = plane.n_codes;
    double* to = bins_of(task, task.features[plane.first]) + lane;
    flush_bins<kWidth, kFirst>(from, n_bins, task.width, to);
    flush_bins<kWidth, kFirst>(from + kMissing * kWidth, 1, task.width, to + n_bins * task.width);
}

// Blocks of rows between two flushes of a plane: with fewer codes more rows fall into each, so it is flushed
// sooner.
inline std::int64_t blocks_in_float(const TreePlane& plane) {
    const std::int64_t most = kFloatRows / kBlockRows;
    const std::int64_t wanted = plane.n_codes * most / 255;
    return wanted < 1 ? 1 : wanted;
}

// One slice of all rows: blocks of them are added up in float32, and their sums in float64.
template <int kWidth, bool kGathered, bool kConsecutive>
void add_slice(const HistogramTask& task, int lane) {
    for (std::int64_t begin = task.begin, block = 0; begin < task.end; begin += kBlockRows, ++block) {
        const bool is_last = begin + kBlockRows >= task.end;
        add_rows<kWidth, kGathered, kConsecutive>(task, lane, begin, is_last ? task.end : begin + kBlockRows);
        for (int p = 0; p < task.n_planes; ++p) {
            const std::int64_t together = blocks_in_float(task.planes[p]);
            if (!is_last && (block + 1) % together != 0) continue;
            block < together ? flush_plane<kWidth, true>(task, lane, p)
                             : flush_plane<kWidth, false>(task, lane, p);
        }
    }
}

// Where a block's sums of a plane are to be flushed to, the first time or again, without the order of
// blocks.
template <int kWidth>
void flush_within(const HistogramTask& task, int p, std::int64_t block) {
    HistogramTask beside = task;
    beside.histogram = task.beside;
    block < blocks_in_float(task.planes[p]) ? flush_plane<kWidth, true>(beside, task.lane, p)
                                            : flush_plane<kWidth, false>(beside, task.lane, p);
}

template <int kWidth, bool kGathered, bool kConsecutive>
void add_to_scratch(const HistogramTask& task) {
    for (std::int64_t begin = task.begin, block = 0; begin < task.end; begin += kBlockRows, ++block) {
        const bool is_last = begin + kBlockRows >= task.end;
        const std::int64_t end = is_last ? task.end : begin + kBlockRows;
        add_rows<kWidth, kGathered, kConsecutive>(task, task.lane, begin, end);
        for (int p = 0; p < task.n_planes; ++p) {
            const std::int64_t together = blocks_in_float(task.planes[p]);
            if (together < kFloatRows / kBlockRows && (is_last || (block + 1) % together == 0))
                flush_within<kWidth>(task, p, block);
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
    for (int p = 0; p < task.n_planes; ++p) {
        const TreePlane& plane = task.planes[p];
        if (blocks_in_float(plane) == kFloatRows / kBlockRows)
            flush_plane<kWidth, kFirst>(task, task.lane, p);
        else
            for (int f = plane.first; f < plane.last; ++f) add_beside<kWidth, kFirst>(task, task.features[f]);
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
