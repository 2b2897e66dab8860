// The rows of a training, binned.
#pragma once

#include <cstdint>

#include "criteria/limits.hpp"
#include "trees/planes.hpp"
#include "trees/tasks.hpp"

namespace ordinal {

struct BinnedData {
    std::int64_t n_rows = 0;
    int n_features = 0;
    const Planes* planes = nullptr;
    const std::uint8_t* rows = nullptr;  // (n_rows, stride) codes of the planes, for histograms
    std::int64_t stride = 0;
    const std::uint8_t* columns = nullptr;      // (n_features, n_rows) for partitions
    const std::int32_t* n_bins = nullptr;       // (n_features,) without the missing one
    const std::uint8_t* by_category = nullptr;  // (n_features,) or null: no bins of categories
    CategoryRules categories;
};

}  // namespace ordinal
