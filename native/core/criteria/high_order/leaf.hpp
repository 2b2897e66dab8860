// Columns of a row: those of the joint criterion, and behind the count the third and the fourth derivative.
#pragma once

#include "criteria/joint/leaf.hpp"

namespace ordinal {

struct HighOrderLeaf {
    double parent_score = 0.0;  // that of `joint`
    JointLeaf joint;            // without cross terms: the score alone
    double raised = 0.0;        // what the order adds to the value of the leaf as it is
    int third = 0;              // the column of the third derivative; the fourth is the next one
    int order = 3;              // 3 or 4
};

}  // namespace ordinal
