// Limits that every split must keep, whatever its gain.
#pragma once

namespace ordinal {

// Working memory of a criterion while it judges candidates, in vectors of them.
constexpr int kMostScratch = 1088;

struct GrowthLimits {
    int max_leaves = 31;
    int max_depth = 1 << 20;
    double min_samples_leaf = 20.0;
    double min_child_weight = 1e-3;
    double l2 = 0.0;
    double min_gain = 0.0;
    double category_noise = 0.0;  // squared gradients over Hessians: what categories gain by chance
};

}  // namespace ordinal
