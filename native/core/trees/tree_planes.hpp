// The planes of a tree's features, and where a histogram of these has its bins.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/binned_data.hpp"

namespace ordinal {

// Planes first..last-1 of a tree's, whose features are built and scanned together.
struct PlaneRange {
    int first, last;
};

class TreePlanes {
  public:
    explicit TreePlanes(const BinnedData& data);

    // Of the next tree. features: in any order, which must outlive it.
    void list(const std::vector<std::int32_t>& features);

    int count() const { return static_cast<int>(planes_.size()); }
    TreePlane& operator[](int plane) { return planes_[static_cast<std::size_t>(plane)]; }
    const TreePlane* data() const { return planes_.data(); }
    bool consecutive() const { return consecutive_; }

    const std::vector<std::int32_t>& features() const { return *features_; }
    const std::int32_t* by_plane() const { return by_plane_.data(); }

    // The first bin of a feature, and all bins.
    std::int64_t offset(std::int32_t feature) const { return offsets_[static_cast<std::size_t>(feature)]; }
    const std::int64_t* offsets() const { return offsets_.data(); }
    std::int64_t n_bins() const { return n_bins_; }
    std::int64_t first_bin(PlaneRange planes) const {
        return offset(
            by_plane_[static_cast<std::size_t>(planes_[static_cast<std::size_t>(planes.first)].first)]);
    }

    // Calls work(i, feature) for the features of some planes: i is the feature's place in features().
    template <class Work>
    void over_features(PlaneRange planes, const Work& work) const {
        const TreePlane* of_tree = planes_.data();
        for (int f = of_tree[planes.first].first; f < of_tree[planes.last - 1].last; ++f)
            work(static_cast<std::size_t>(places_[static_cast<std::size_t>(f)]),
                 by_plane_[static_cast<std::size_t>(f)]);
    }

  private:
    const BinnedData& data_;
    const std::vector<std::int32_t>* features_ = nullptr;
    std::vector<TreePlane> planes_;
    std::vector<std::int32_t> by_plane_,
        places_;  // the features plane by plane, and where features() has them
    std::vector<std::int64_t> offsets_;
    std::int64_t n_bins_ = 0;
    bool consecutive_ = true;
};

}  // namespace ordinal
