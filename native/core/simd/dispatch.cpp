#include "simd/dispatch.hpp"

#include <atomic>
#include <cstring>

namespace ordinal {
namespace {

// Names of the copies for one instruction set, in the order of the struct.
#define ORDINAL_SCAN_baseline(folder, Name) scan_##folder##_baseline,
#define ORDINAL_SCAN_avx2(folder, Name) scan_##folder##_avx2,
#define ORDINAL_SCAN_avx512(folder, Name) scan_##folder##_avx512,
#define ORDINAL_ENTRIES(isa)                                                                              \
    logit_block_##isa, leaf_block_##isa, margin_block_##isa, add_few_##isa, add_integers_##isa,           \
        join_tables_##isa, bound_columns_##isa, subtract_bins_##isa,                                      \
        ORDINAL_CRITERIA(ORDINAL_SCAN_##isa) bin_column_##isa, sum_by_leaf_##isa, partition_rows_##isa,   \
        list_unknown_##isa, draw_numbers_##isa, number_by_size_##isa, leave_out_##isa, count_below_##isa, \
        list_below_##isa, mask_leaves_##isa, add_values_##isa

#if defined(ORDINAL_X86_DISPATCH)
// The compiler's own test also asks the operating system whether it saves the wide registers.
const InstructionSet kSets[] = {
    {"avx512",
     __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"),
     ORDINAL_ENTRIES(avx512)},
    {"avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"), ORDINAL_ENTRIES(avx2)},
    {"sse2", true, ORDINAL_ENTRIES(baseline)},
};
#elif defined(__aarch64__) || defined(__ARM_NEON)
const InstructionSet kSets[] = {{"neon", true, ORDINAL_ENTRIES(baseline)}};
#else
const InstructionSet kSets[] = {{"baseline", true, ORDINAL_ENTRIES(baseline)}};
#endif
constexpr int kCount = sizeof kSets / sizeof kSets[0];

std::atomic<const InstructionSet*> chosen{nullptr};

}  // namespace

const InstructionSet* instruction_sets(int& count) {
    count = kCount;
    return kSets;
}

const InstructionSet& active_instruction_set() {
    if (const InstructionSet* set = chosen.load()) return *set;
    const InstructionSet* best = kSets;
    while (!best->supported) ++best;
    return *best;
}

bool select_instruction_set(const char* name) {
    for (const InstructionSet& set : kSets) {
        if (std::strcmp(set.name, name) == 0 && set.supported) {
            chosen.store(&set);
            return true;
        }
    }
    return false;
}

}  // namespace ordinal
