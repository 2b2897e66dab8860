// A grown tree.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/split.hpp"

namespace ordinal {

// Children of a node are next to each other: right = left + 1.
struct TreeNode {
    std::int32_t feature = -1;  // -1: a leaf
    std::int32_t left = -1;
    std::int32_t parent = -1;
    Split split;
    double gain = 0.0;
    std::int64_t begin = 0, end = 0;  // its rows in Grower::rows()
    int depth = 0;
};

struct Tree {
    std::vector<TreeNode> nodes;
};

}  // namespace ordinal
