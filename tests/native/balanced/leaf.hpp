// Columns of a row: none beside the count.
#pragma once

namespace ordinal {

struct BalancedLeaf {
    double parent_score = 0.0;
    double n = 0.0;
};

}  // namespace ordinal
