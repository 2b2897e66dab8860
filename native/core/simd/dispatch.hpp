// Which copy of the vector code this processor runs.
#pragma once

#include "rows/logit_lanes.hpp"
#include "rows/margins.hpp"
#include "trees/draw.hpp"
#include "trees/leaf_masks.hpp"
#include "trees/tasks.hpp"

namespace ordinal {

// Best first; the last one runs anywhere. Names as show_versions() prints them.
struct InstructionSet {
    const char* name;
    bool supported;
    LogitBlock logit_block;
    LeafBlock leaf_block;
    MarginBlock margin_block;
    AddRows add_few, add_integers;
    JoinTables join_tables;
    BoundColumns bound_columns;
    SubtractBins subtract_bins;
#define ORDINAL_SCAN(folder, Name) ScanFeature<Name##Leaf> scan_##folder;
    ORDINAL_CRITERIA(ORDINAL_SCAN)
#undef ORDINAL_SCAN
    BinColumn bin_column;
    SumByLeaf sum_by_leaf;
    PartitionRows partition_rows;
    ListUnknown list_unknown;
    DrawNumbers draw_numbers;
    NumberBySize number_by_size;
    LeaveOut leave_out;
    CountBelow count_below;
    ListBelow list_below;
    MaskLeaves mask_leaves;
    AddValues add_values;
};

// The scan of each criterion, by the type of its leaf.
#define ORDINAL_SCAN(folder, Name)                                                                           \
    inline Candidate scan_feature(const InstructionSet& set, const ScanTask& task, const Name##Leaf& leaf) { \
        return set.scan_##folder(task, leaf);                                                                \
    }
ORDINAL_CRITERIA(ORDINAL_SCAN)
#undef ORDINAL_SCAN

// `count` receives the length of the table.
const InstructionSet* instruction_sets(int& count);

// The one in use: the best supported, unless select_instruction_set chose another.
const InstructionSet& active_instruction_set();

// False when the name is unknown or the processor lacks it. Meant for tests and benchmarks.
bool select_instruction_set(const char* name);

}  // namespace ordinal
