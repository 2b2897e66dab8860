// Columns of few bins share a byte of the row-major bins: one code says what bins of all of them a row has,
// so that one addition serves them all. The sums of a feature's bin are those of the codes that hold it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "trees/tasks.hpp"

namespace ordinal {

// What a histogram knows of a feature: which byte of a row, and by which table that says its bin. A feature
// alone in its byte has its bins there, kMissing among them. Of several the missing bin counts as one more,
// the last: then the code is the sum of the bins, each times the feature's step.
struct Place {
    std::int32_t plane = 0;
    std::int32_t step = 1;
    std::int32_t missing = kMissing;  // as it is coded
    bool is_first = false;            // of the features of the byte, which are coded in their order
};

class Planes {
  public:
    // n_bins: of each feature, without the missing one.
    explicit Planes(const std::vector<std::int32_t>& n_bins)
        : places_(n_bins.size()), bins_(n_bins.size() * kMostCodes) {
        // The finest first, each into the fullest byte that has room: `open` holds bytes by how many bins
        // fit.
        std::vector<std::vector<std::int32_t>> open(kMostCodes / 2 + 1);
        std::vector<std::vector<std::int32_t>> by_size(kMostCodes + 1);
        for (std::size_t f = 0; f < n_bins.size(); ++f)
            by_size[static_cast<std::size_t>(n_bins[f]) + 1].push_back(static_cast<std::int32_t>(f));
        for (int size = kMostCodes; size > 0; --size)
            for (const std::int32_t feature : by_size[static_cast<std::size_t>(size)]) {
                std::size_t room = static_cast<std::size_t>(size);
                while (room < open.size() && open[room].empty()) ++room;
                Place& place = places_[static_cast<std::size_t>(feature)];
                if (room < open.size()) {
                    place.plane = open[room].back();
                    place.step = n_codes_[static_cast<std::size_t>(place.plane)];
                    open[room].pop_back();
                } else {
                    place.plane = n_planes();
                    n_codes_.push_back(1);
                    n_features_.push_back(0);
                }
                std::int32_t& codes = n_codes_[static_cast<std::size_t>(place.plane)];
                codes *= size;
                ++n_features_[static_cast<std::size_t>(place.plane)];
                if (kMostCodes / codes > 1)
                    open[static_cast<std::size_t>(kMostCodes / codes)].push_back(place.plane);
            }
        std::vector<std::uint8_t> seen(n_codes_.size(), 0);
        for (std::size_t f = 0; f < n_bins.size(); ++f) {
            Place& place = places_[f];
            const bool shared = is_shared(place.plane);
            place.is_first = !std::exchange(seen[static_cast<std::size_t>(place.plane)], std::uint8_t{1});
            if (shared) place.missing = n_bins[f];
            for (int code = 0; code < kMostCodes; ++code) {
                const int bin = shared ? code / place.step % (n_bins[f] + 1) : std::min(code, n_bins[f]);
                bins_[f * kMostCodes + static_cast<std::size_t>(code)] = static_cast<std::uint8_t>(bin);
            }
        }
    }

    int n_planes() const { return static_cast<int>(n_codes_.size()); }
    bool is_shared(std::int32_t plane) const { return n_features_[static_cast<std::size_t>(plane)] > 1; }
    // With the missing ones.
    std::int32_t n_codes(std::int32_t plane) const { return n_codes_[static_cast<std::size_t>(plane)]; }
    const Place& of(std::int32_t feature) const { return places_[static_cast<std::size_t>(feature)]; }
    // (n_features, kMostCodes): the bin of a feature in each code, n_bins where it is missing.
    const std::uint8_t* bins() const { return bins_.data(); }

  private:
    std::vector<Place> places_;
    std::vector<std::int32_t> n_codes_, n_features_;
    std::vector<std::uint8_t> bins_;
};

}  // namespace ordinal
