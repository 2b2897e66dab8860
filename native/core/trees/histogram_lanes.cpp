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

constexpr std::int64_t kAhead = 512;      // additions between the prefetch of a row and its use
constexpr std::int64_t kFewestAhead = 8;  // rows
constexpr std::int64_t kMostAhead = 128;  // rows

constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: added to a number, it leaves no digits behind the point

// A slice of a row's statistics as integers, multiples of their units, in one register of 4, 8 or 16 lanes.
// They are below 2^22, so the sum with kRound has them in its last bits.
template <int kWidth>
struct Row {
#if defined(ORDINAL_VECTORS)
    typedef float Reals __attribute__((vector_size(4 * kWidth)));
    typedef std::int32_t Lanes __attribute__((vector_size(4 * kWidth)));
    struct PerUnit {
        Reals of;
        explicit PerUnit(const float* per_unit) { std::memcpy(&of, per_unit, sizeof of); }
    };
    Lanes lanes;
    Row(const float* from, const PerUnit& per_unit) {
        Reals row;
        std::memcpy(&row, from, sizeof row);
        row = row * per_unit.of + kRound;
        std::memcpy(&lanes, &row, sizeof lanes);
        lanes -= kRoundBits;
    }
    void add_to(std::int32_t* to) const {
        Lanes sum;
        std::memcpy(&sum, to, sizeof sum);
        sum += lanes;
        std::memcpy(to, &sum, sizeof sum);
    }
#else
    struct PerUnit {
        const float* of;
        explicit PerUnit(const float* per_unit) : of(per_unit) {}
    };
    std::int32_t lanes[kWidth];
    Row(const float* from, const PerUnit& per_unit) {
        for (int i = 0; i < kWidth; ++i) {
            const float rounded = from[i] * per_unit.of[i] + kRound;
            std::memcpy(&lanes[i], &rounded, sizeof rounded);
            lanes[i] -= kRoundBits;
        }
    }
    void add_to(std::int32_t* to) const {
        for (int i = 0; i < kWidth; ++i) to[i] += lanes[i];
    }
#endif
    static constexpr std::int32_t kRoundBits = 0x4b400000;
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

// See add_integers(). kOneLine: no row's bins reach a second line, which needs no loop.
template <int kWidth, bool kGathered, bool kConsecutive, bool kOneLine>
void add_fetched(const HistogramTask& task, std::int64_t begin, std::int64_t end,
                 [[maybe_unused]] std::size_t last_bins) {
    constexpr std::size_t kStep = static_cast<std::size_t>(kSlots) * kWidth;
    constexpr int kTogether = 8;  // planes whose places are found with constant offsets
    const int n_planes = task.n_planes;
    const TreePlane* planes = task.planes;
    const std::uint8_t* first_code = task.bins + (kConsecutive ? planes[0].column : 0);
    const std::size_t stride = static_cast<std::size_t>(task.stride);
    const float* statistics = task.statistics + task.lane;
    const typename Row<kWidth>::PerUnit per_unit(task.units.per_unit + task.lane);
    const std::size_t width = kWidth < kSlice ? kWidth : static_cast<std::size_t>(task.width);
    const std::uint32_t* rows = task.rows;
    std::int32_t* const table = task.table;
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
        const Row<kWidth> row(statistics + r * width, per_unit);
        const std::uint8_t* codes = first_code + r * stride;
        std::int32_t* to = table;
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

// Adds one slice of rows begin..end-1 to the table.
template <int kWidth, bool kGathered, bool kConsecutive>
void add_rows(const HistogramTask& task, std::int64_t begin, std::int64_t end) {
    const std::int32_t first = task.planes[0].column, last = task.planes[task.n_planes - 1].column;
    const std::size_t last_bins = last_line(task.bins + first, static_cast<std::size_t>(last - first + 1),
                                            static_cast<std::size_t>(task.stride));
    last_bins == 0 ? add_fetched<kWidth, kGathered, kConsecutive, true>(task, begin, end, last_bins)
                   : add_fetched<kWidth, kGathered, kConsecutive, false>(task, begin, end, last_bins);
}

template <int kWidth>
void add_rows(const HistogramTask& task, std::int64_t begin, std::int64_t end) {
    if (task.rows)
        task.consecutive ? add_rows<kWidth, true, true>(task, begin, end)
                         : add_rows<kWidth, true, false>(task, begin, end);
    else
        task.consecutive ? add_rows<kWidth, false, true>(task, begin, end)
                         : add_rows<kWidth, false, false>(task, begin, end);
}

inline double* bins_of(const HistogramTask& task, Bins bins, int feature) {
    return bins.data + (task.offsets[feature] - bins.first) * task.width;
}

template <int kWidth>
std::int32_t* table_of(std::int32_t* table, int plane) {
    return table + std::int64_t{plane} * kSlots * kWidth;
}

// Moves n sums of the slice that units belong to, which are left zeroed. Whole numbers of a unit that is a
// power of two: no sum is rounded, so nothing depends on the order of rows and threads.
template <int kWidth>
void move_bins(std::int32_t* from, int n, std::int64_t step, const float* unit, double* to) {
    for (int bin = 0; bin < n; ++bin, from += kWidth, to += step) {
        for (int k = 0; k < kWidth; ++k) {
            to[k] += static_cast<double>(unit[k]) * static_cast<double>(from[k]);
            from[k] = 0;
        }
    }
}

// Moves a plane's sums to the bins of its features, to which they are added.
template <int kWidth>
void move_plane(const HistogramTask& task, int p, std::int32_t* from, Bins bins) {
    const TreePlane& plane = task.planes[p];
    const float* unit = task.units.unit + task.lane;
    const std::int64_t step = task.width;
    if (!plane.shared) {
        double* to = bins_of(task, bins, task.features[plane.first]) + task.lane;
        move_bins<kWidth>(from, plane.n_codes, step, unit, to);
        move_bins<kWidth>(from + kMissing * kWidth, 1, step, unit, to + plane.n_codes * step);
        return;
    }
    for (int f = plane.first; f < plane.last; ++f) {
        const int feature = task.features[f];
        const std::uint8_t* bin_of = task.bin_of + feature * kMostCodes;
        double* to = bins_of(task, bins, feature) + task.lane;
        for (int code = 0; code < plane.n_codes; ++code)
            for (int k = 0; k < kWidth; ++k)
                to[bin_of[code] * step + k] +=
                    static_cast<double>(unit[k]) * static_cast<double>(from[code * kWidth + k]);
    }
    for (int k = 0; k < plane.n_codes * kWidth; ++k) from[k] = 0;
}

// Adds the rows to the table, and those of deep planes from it to their bins before they overflow.
template <int kWidth>
void add_slice(const HistogramTask& task) {
    bool any_deep = false;
    for (int p = 0; p < task.n_planes; ++p) any_deep |= task.planes[p].is_deep;
    if (!any_deep) return add_rows<kWidth>(task, task.begin, task.end);
    for (std::int64_t begin = task.begin; begin < task.end; begin += task.most_rows) {
        add_rows<kWidth>(task, begin, begin + task.most_rows < task.end ? begin + task.most_rows : task.end);
        for (int p = 0; p < task.n_planes; ++p)
            if (task.planes[p].is_deep)
                move_plane<kWidth>(task, p, table_of<kWidth>(task.table, p), task.deep);
    }
}

template <class Work>
void over_features(const HistogramTask& task, const TreePlane& plane, const Work& work) {
    for (int f = plane.first; f < plane.last; ++f) work(task.features[f]);
}

// The bins of one feature, of all its columns.
inline void clear_bins(const HistogramTask& task, int feature) {
    double* to = bins_of(task, task.histogram, feature);
    for (std::int64_t k = 0; k < (task.n_bins[feature] + std::int64_t{1}) * task.width; ++k) to[k] = 0.0;
}

// A plane's sums of several threads, which are as few as fit into one integer.
template <int kWidth>
void join_plane(const HistogramTask& task, const TableTask& of_threads, int p) {
    std::int32_t* first = table_of<kWidth>(of_threads.tables[0], p);
    const TreePlane& plane = task.planes[p];
    const int n = plane.shared ? plane.n_codes : kMissing + 1;
    for (int t = 1; t < of_threads.n; ++t) {
        std::int32_t* from = table_of<kWidth>(of_threads.tables[t], p);
        for (int k = 0; k < n * kWidth; ++k) {
            first[k] += from[k];
            from[k] = 0;
        }
    }
    move_plane<kWidth>(task, p, first, task.histogram);
}

// The same of a deep plane, in float64 already.
template <int kWidth>
void join_deep(const HistogramTask& task, const TableTask& of_threads, const TreePlane& plane) {
    over_features(task, plane, [&](int feature) {
        const std::int64_t at = task.offsets[feature] * task.width + task.lane;
        double* to = bins_of(task, task.histogram, feature) + task.lane;
        for (int t = 0; t < of_threads.n; ++t)
            for (std::int64_t bin = 0; bin <= task.n_bins[feature]; ++bin)
                for (int k = 0; k < kWidth; ++k) {
                    double& from = of_threads.deep[t][at + bin * task.width + k];
                    to[bin * task.width + k] += from;
                    from = 0.0;
                }
    });
}

template <int kWidth>
void join_slice(const HistogramTask& task, const TableTask& of_threads) {
    for (int p = 0; p < task.n_planes; ++p) {
        const TreePlane& plane = task.planes[p];
        if (plane.is_deep && !of_threads.deep) continue;
        if (task.lane == 0) over_features(task, plane, [&](int feature) { clear_bins(task, feature); });
        if (!plane.is_deep)
            join_plane<kWidth>(task, of_threads, p);
        else
            join_deep<kWidth>(task, of_threads, plane);
    }
}

inline float rounded(const float* row, const Units& units, int k) {
    return ((row[k] * units.per_unit[k] + kRound) - kRound) * units.unit[k];
}

template <int kWidth>
void round_lanes(const float* row, int width, const Units& units, float* to) {
    for (int k = 0; k < width; k += kWidth)
        for (int j = k; j < k + kWidth; ++j) to[j] = rounded(row, units, j);
}

inline void round_row(const float* row, int width, const Units& units, float* to) {
    if (!units.unit)
        std::memcpy(to, row, static_cast<std::size_t>(width) * sizeof(float));
    else
        is_wide(width) ? round_lanes<kSlice>(row, width, units, to) : round_lanes<4>(row, width, units, to);
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

inline void add_rounded(const float* row, int width, const Units& units, double* to) {
    for (int k = 0; k < width; ++k) to[k] += static_cast<double>(rounded(row, units, k));
}

// Numbers without their sign are ordered as their bits are, and NaN is above all.
template <int kWidth>
void bound_slice(const BoundTask& task, int lane) {
#if defined(ORDINAL_VECTORS)
    typename Row<kWidth>::Lanes highest{}, row;
    const auto take = [&] { highest = row > highest ? row : highest; };
#else
    std::int32_t highest[kWidth] = {}, row[kWidth];
    const auto take = [&] {
        for (int k = 0; k < kWidth; ++k) highest[k] = row[k] > highest[k] ? row[k] : highest[k];
    };
#endif
    for (std::int64_t i = task.begin; i < task.end; ++i) {
        const std::int64_t r = task.rows ? task.rows[i] : i;
        std::memcpy(&row, task.statistics + r * task.width + lane, sizeof row);
        for (int k = 0; k < kWidth; ++k) row[k] &= 0x7fffffff;
        take();
    }
    std::memcpy(task.bounds + lane, &highest, sizeof highest);
}

}  // namespace

// Fills the histogram in float64. With few rows integers gain no time.
void ORDINAL_PASTE(add_few_, ORDINAL_ISA)(const HistogramTask& task) {
    const std::int64_t width = task.width, room = kFewRoom / width;
    const std::int64_t together = room < kFewRows ? room : kFewRows;
    for (int p = 0; p < task.n_planes; ++p)
        over_features(task, task.planes[p], [&](int feature) { clear_bins(task, feature); });
    // Blocks of rows, side by side, stay in the cache while the features pass.
    for (std::int64_t begin = task.begin; begin < task.end; begin += together) {
        const std::int64_t end = begin + together < task.end ? begin + together : task.end;
        const auto row_at = [&](std::int64_t i) { return task.rows ? task.rows[i] : i; };
        for (std::int64_t i = begin; i < end; ++i)
            round_row(task.statistics + row_at(i) * width, task.width, task.units,
                      task.few + (i - begin) * width);
        for (int p = 0; p < task.n_planes; ++p) {
            const TreePlane& plane = task.planes[p];
            over_features(task, plane, [&](int feature) {
                const std::uint8_t* bin_of = task.bin_of + feature * kMostCodes;
                double* histogram = bins_of(task, task.histogram, feature);
                for (std::int64_t i = begin; i < end; ++i)
                    add_row(task.few + (i - begin) * width, task.width,
                            histogram + bin_of[task.bins[row_at(i) * task.stride + plane.column]] * width);
            });
        }
    }
}

void ORDINAL_PASTE(add_integers_, ORDINAL_ISA)(const HistogramTask& task) {
    if (task.width == 4) return add_slice<4>(task);
    if (task.width == 8) return add_slice<8>(task);
    add_slice<kSlice>(task);
}

// Fills the histogram, one slice after the other, and leaves the tables zeroed.
void ORDINAL_PASTE(join_tables_, ORDINAL_ISA)(const HistogramTask& task, const TableTask& of_threads) {
    if (task.width == 4) return join_slice<4>(task, of_threads);
    if (task.width == 8) return join_slice<8>(task, of_threads);
    join_slice<kSlice>(task, of_threads);
}

void ORDINAL_PASTE(bound_columns_, ORDINAL_ISA)(const BoundTask& task) {
    if (task.width == 4) return bound_slice<4>(task, 0);
    if (task.width == 8) return bound_slice<8>(task, 0);
    for (int lane = 0; lane < task.width; lane += kSlice) bound_slice<kSlice>(task, lane);
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
        const float* statistics = task.statistics + row * task.width;
        double* sums = task.sums + leaf * task.width;
        task.units.unit ? add_rounded(statistics, task.width, task.units, sums)
                        : add_row(statistics, task.width, sums);
    }
}

}  // namespace ordinal
