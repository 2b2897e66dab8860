#include "trees/histogram_store.hpp"

#include <utility>

#include "simd/dispatch.hpp"

namespace ordinal {

HistogramStore::HistogramStore(const BinnedData& data, Pool& pool, bool in_float64)
    : data_(data), pool_(pool), planes_(data), builder_(data, pool, in_float64) {
    for (int f = 0; f < data_.n_features; ++f) n_most_bins_ += data_.n_bins[f] + 1;
}

void HistogramStore::begin(const float* statistics, RowLayout layout, int n_gradients,
                           const std::vector<std::int32_t>& features, const std::uint32_t* rows,
                           std::int64_t n) {
    if (layout.width() != layout_.width()) spare_.clear();
    layout_ = layout;
    planes_.list(features);
    builder_.begin(statistics, layout, n_gradients, planes_, rows, n);
    own_step_ = keeps(0) ? 0 : together(kFewToRead) * std::int64_t{kSlots} * layout_.width();
    own_.resize(static_cast<std::size_t>(2 * own_step_ * pool_.n_threads()));
    scan_step_ = kMostWide * (kMostScratch + kColumnsBeyond + 3 * layout_.width());
    if (data_.by_category) scan_step_ += (category_memory(layout_.width()) + 7) / 8 * 8;
    scan_.resize(static_cast<std::size_t>(scan_step_ * pool_.n_threads()));
}

std::unique_ptr<Histogram> HistogramStore::take() {
    if (!spare_.empty()) {
        std::unique_ptr<Histogram> histogram = std::move(spare_.back());
        spare_.pop_back();
        return histogram;
    }
    return std::make_unique<Histogram>(static_cast<std::size_t>(n_most_bins_ * layout_.width()));
}

void HistogramStore::give_back(std::unique_ptr<Histogram> histogram) {
    if (histogram) spare_.push_back(std::move(histogram));
}

Bins HistogramStore::build(const std::unique_ptr<Histogram>& kept, const std::uint32_t* rows, std::int64_t n,
                           PlaneRange planes, int thread, int side) {
    Bins bins;
    if (kept)
        bins.data = kept->data();
    else
        bins = {own_.data() + (2 * thread + side) * own_step_, planes_.first_bin(planes)};
    builder_.build(bins, rows, n, planes, thread);
    return bins;
}

void HistogramStore::subtract(Bins from, Bins part, std::int32_t feature) const {
    const std::int64_t at = planes_.offset(feature), width = layout_.width();
    active_instruction_set().subtract_bins({from.data + (at - from.first) * width,
                                            part.data + (at - part.first) * width, data_.n_bins[feature] + 1,
                                            layout_.width(), layout_.count()});
}

const double* HistogramStore::bins_of(Bins bins, std::int32_t feature) const {
    return bins.data + (planes_.offset(feature) - bins.first) * layout_.width();
}

std::vector<double> HistogramStore::sums(Bins bins, std::int32_t feature) const {
    return left_sums(bins, feature, {data_.n_bins[feature] - 1, true});
}

std::vector<double> HistogramStore::left_sums(Bins bins, std::int32_t feature, const Split& split) const {
    const int width = layout_.width();
    std::vector<double> sums(static_cast<std::size_t>(width), 0.0);
    const double* bin = bins_of(bins, feature);
    const int n_bins = data_.n_bins[feature];
    for (int b = 0; b <= n_bins; ++b) {  // that of the missing values is the last
        if (!goes_left(split, b < n_bins ? b : kMissing)) continue;
        for (int c = 0; c < width; ++c) sums[static_cast<std::size_t>(c)] += bin[b * width + c];
    }
    return sums;
}

}  // namespace ordinal
