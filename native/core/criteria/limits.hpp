// What a split has to keep to, whatever it is worth.
#pragma once

namespace ordinal {

// Values that a criterion may put aside while it judges candidates.
constexpr int kMostScratch = 1088;

struct GrowthLimits {
    int max_leaves = 31;
    int max_depth = 1 << 20;
    double min_samples_leaf = 20.0;
    double min_child_weight = 1e-3;
    double l2 = 0.0;
    double min_gain = 0.0;
};

}  // namespace ordinal
