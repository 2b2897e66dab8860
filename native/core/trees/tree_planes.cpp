#include "trees/tree_planes.hpp"

#include <algorithm>
#include <numeric>

namespace ordinal {

TreePlanes::TreePlanes(const BinnedData& data)
    : data_(data), offsets_(static_cast<std::size_t>(data.n_features)) {}

// Of a plane that is shared those features that were drawn.
void TreePlanes::list(const std::vector<std::int32_t>& features) {
    const Planes& all = *data_.planes;
    features_ = &features;
    places_.resize(features.size());
    std::iota(places_.begin(), places_.end(), 0);
    const auto plane_of = [&](std::int32_t place) {
        return all.of(features[static_cast<std::size_t>(place)]).plane;
    };
    std::stable_sort(places_.begin(), places_.end(),
                     [&](std::int32_t a, std::int32_t b) { return plane_of(a) < plane_of(b); });
    by_plane_.clear();
    planes_.clear();
    // Bins lie in the order of the features that pass together; those that were drawn may lie far apart.
    n_bins_ = 0;
    for (const std::int32_t place : places_) {
        const std::int32_t column = plane_of(place), at = static_cast<std::int32_t>(by_plane_.size());
        if (planes_.empty() || planes_.back().column != column) {
            const bool shared = all.is_shared(column);
            planes_.push_back({column, all.n_codes(column) - !shared, at, at, shared, false});
        }
        const std::int32_t feature = features[static_cast<std::size_t>(place)];
        by_plane_.push_back(feature);
        ++planes_.back().last;
        offsets_[static_cast<std::size_t>(feature)] = n_bins_;
        n_bins_ += data_.n_bins[feature] + 1;
    }
    consecutive_ = planes_.back().column - planes_.front().column + 1 == count();
}

}  // namespace ordinal
