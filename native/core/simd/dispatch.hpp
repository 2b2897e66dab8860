// Which copy of the vector code this processor runs.
#pragma once

#include "trees/tasks.hpp"
#include "rows/logit_lanes.hpp"

namespace ordinal {

// Best first; the last one runs anywhere. Names as show_versions() prints them.
struct InstructionSet {
    const char* name;
    bool supported;
    LogitBlock logit_block;
    LeafBlock leaf_block;
    BuildHistogram build_histogram;
    ScanFeature scan_feature;
    BinColumn bin_column;
    SumByLeaf sum_by_leaf;
    PartitionRows partition_rows;
};

// The table's length goes to `count`.
const InstructionSet* instruction_sets(int& count);

// The one in use: the best supported, unless select_instruction_set chose another.
const InstructionSet& active_instruction_set();

// False when the name is unknown or the processor lacks it. Meant for tests and benchmarks.
bool select_instruction_set(const char* name);

}  // namespace ordinal
