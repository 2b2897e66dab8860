// Histograms of all statistics at once: a row's vector is loaded once and added to one bin of every feature.
//
// Measured against feature-by-feature passes over blocks of rows: with the whole row at hand consecutive
// additions hit different features, so none waits for the one before, and gathered rows are read once.
#include <cstddef>

#include "engine_lanes.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

constexpr std::int64_t kAhead = 16;  // rows fetched in advance

#if defined(__GNUC__)
template <int kWidth>
struct Vector {
    typedef float type __attribute__((vector_size(4 * kWidth)));
};
inline void fetch(const void* address) { __builtin_prefetch(address); }
#else
inline void fetch(const void*) {}
#endif

// A row held in registers: one vector of 4, 8 or 16 lanes, or 16 and the rest.
template <int kWidth>
struct Row {
    static constexpr int kHead = kWidth < 16 ? kWidth : 16;
#if defined(__GNUC__)
    typename Vector<kHead>::type head;
    explicit Row(const float* from) : tail(from + kHead) { __builtin_memcpy(&head, from, sizeof head); }
    void add_to(float* to) const {
        typename Vector<kHead>::type sum;
        __builtin_memcpy(&sum, to, sizeof sum);
        sum += head;
        __builtin_memcpy(to, &sum, sizeof sum);
        tail.add_to(to + kHead);
    }
#else
    const float* head;
    explicit Row(const float* from) : head(from), tail(from + kHead) {}
    void add_to(float* to) const {
        for (int i = 0; i < kHead; ++i) to[i] += head[i];
        tail.add_to(to + kHead);
    }
#endif
    Row<kWidth - kHead> tail;
};

template <>
struct Row<0> {
    explicit Row(const float*) {}
    void add_to(float*) const {}
};

template <int kWidth, bool kGathered, bool kConsecutive, bool kCounted>
void add_rows(const HistogramTask& task, std::int64_t begin, std::int64_t end) {
    constexpr std::size_t kStep = static_cast<std::size_t>(kSlots) * kWidth;
    constexpr int kTogether = 8;  // features whose places are found with constant offsets
    const int n_features = task.n_features;
    const std::int32_t* features = task.features;
    const std::uint8_t* first_bin = task.bins + (kConsecutive ? features[0] : 0);
    const std::size_t stride = static_cast<std::size_t>(task.stride);
    const float* statistics = task.statistics;
    const std::uint32_t* rows = task.rows;
    float* const scratch = task.scratch;
    std::uint32_t* const counts = task.counts;
    const std::int64_t last_fetch = task.n - 1;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::size_t r = kGathered ? rows[i] : static_cast<std::size_t>(i);
        if (kGathered) {
            const std::size_t later = rows[i + kAhead < last_fetch ? i + kAhead : last_fetch];
            fetch(first_bin + later * stride);
            fetch(statistics + later * kWidth);
        }
        const Row<kWidth> row(statistics + r * kWidth);
        const std::uint8_t* bins = first_bin + r * stride;
        const auto bin = [&](int f) {
            return static_cast<std::size_t>(kConsecutive ? bins[f] : bins[features[f]]);
        };
        float* to = scratch;
        std::uint32_t* count = counts;
        const auto add = [&](int f, std::size_t place) {
            const std::size_t at = bin(f);
            row.add_to(to + (place * kStep + at * kWidth));
            if (kCounted) ++count[place * kSlots + at];
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
            if (kCounted) count += kTogether * kSlots;
        }
        for (; f < n_features; ++f) {
            add(f, 0);
            to += kStep;
            if (kCounted) count += kSlots;
        }
    }
}

// Any width: a plain loop over the row.
template <class Sum>
void add_row(const float* row, int width, Sum* to) {
    for (int k = 0; k < width; k += 4)
        for (int j = 0; j < 4; ++j) to[k + j] += static_cast<Sum>(row[k + j]);
}

void add_wide_rows(const HistogramTask& task, std::int64_t begin, std::int64_t end) {
    const std::int64_t step = static_cast<std::int64_t>(kSlots) * task.width;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t r = task.rows ? task.rows[i] : i;
        const std::uint8_t* bins = task.bins + r * task.stride;
        for (int f = 0; f < task.n_features; ++f) {
            const int bin = bins[task.features[f]];
            add_row(task.statistics + r * task.width, task.width, task.scratch + f * step + bin * task.width);
        }
    }
}

// Few rows: in float64 from the start. Nothing to win by vectors of float32, and ties stay ties.
void add_few_rows(const HistogramTask& task) {
    const std::int64_t width = task.sum_width;
    for (int f = 0; f < task.n_features; ++f) {
        const int feature = task.features[f];
        const int n_bins = task.n_bins[feature];
        double* histogram = task.histogram + task.offsets[feature] * width;
        for (std::int64_t k = 0; k < (n_bins + 1) * width; ++k) histogram[k] = 0.0;
        for (std::int64_t i = 0; i < task.n; ++i) {
            const std::int64_t r = task.rows ? task.rows[i] : i;
            const int bin = task.bins[r * task.stride + feature];
            double* to = histogram + (bin == kMissing ? n_bins : bin) * width;
            add_row(task.statistics + r * task.width, task.width, to);
            if (task.counts) to[task.width] += 1.0;
        }
    }
}

template <bool kGathered, bool kConsecutive, bool kCounted>
void add_chunk(const HistogramTask& task, std::int64_t begin, std::int64_t end) {
    switch (task.width) {
        case 4:
            return add_rows<4, kGathered, kConsecutive, kCounted>(task, begin, end);
        case 8:
            return add_rows<8, kGathered, kConsecutive, kCounted>(task, begin, end);
        case 16:
            return add_rows<16, kGathered, kConsecutive, kCounted>(task, begin, end);
        case 32:
            return add_rows<32, kGathered, kConsecutive, kCounted>(task, begin, end);
        default:
            return add_wide_rows(task, begin, end);
    }
}

template <bool kCounted>
void add_chunk(const HistogramTask& task, std::int64_t begin, std::int64_t end) {
    if (task.rows)
        task.consecutive ? add_chunk<true, true, kCounted>(task, begin, end)
                         : add_chunk<true, false, kCounted>(task, begin, end);
    else
        task.consecutive ? add_chunk<false, true, kCounted>(task, begin, end)
                         : add_chunk<false, false, kCounted>(task, begin, end);
}

// Moves n bins from float32 to float64.
void flush_bins(const HistogramTask& task, float* from, std::uint32_t* counts, int n, double* to,
                bool is_first) {
    const std::int64_t width = task.width;
    for (int bin = 0; bin < n; ++bin, from += width, to += task.sum_width) {
        if (is_first)
            for (std::int64_t k = 0; k < task.sum_width; ++k) to[k] = 0.0;
        for (std::int64_t k = 0; k < width; k += 4)
            for (int j = 0; j < 4; ++j) {
                to[k + j] += from[k + j];
                from[k + j] = 0.0f;
            }
        if (counts) {
            to[width] += counts[bin];
            counts[bin] = 0;
        }
    }
}

void flush(const HistogramTask& task, bool is_first) {
    for (int f = 0; f < task.n_features; ++f) {
        const int feature = task.features[f];
        const int n_bins = task.n_bins[feature];
        const std::int64_t first = static_cast<std::int64_t>(f) * kSlots;
        float* from = task.scratch + first * task.width;
        std::uint32_t* counts = task.counts ? task.counts + first : nullptr;
        double* to = task.histogram + task.offsets[feature] * task.sum_width;
        flush_bins(task, from, counts, n_bins, to, is_first);
        flush_bins(task, from + kMissing * task.width, counts ? counts + kMissing : nullptr, 1,
                   to + static_cast<std::int64_t>(n_bins) * task.sum_width, is_first);
    }
}

}  // namespace

// `scratch` and `counts` come zeroed and are left zeroed.
void ORDINAL_PASTE(build_histogram_, ORDINAL_ISA)(const HistogramTask& task) {
    if (task.n <= kFewRows) return add_few_rows(task);
    for (std::int64_t begin = 0; begin == 0 || begin < task.n; begin += kFloatRows) {
        const std::int64_t end = begin + kFloatRows < task.n ? begin + kFloatRows : task.n;
        task.counts ? add_chunk<true>(task, begin, end) : add_chunk<false>(task, begin, end);
        flush(task, begin == 0);
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
