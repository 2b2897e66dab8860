// A value's bin: the number of cuts below it, by a branch-free search that the compiler turns into gathers.
#include "trees/tasks.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

constexpr int kBlock = 512;

template <class Value>
void bin_values(const BinTask& task) {
    const Value* cuts = static_cast<const Value*>(task.cuts);
    const Value* values = static_cast<const Value*>(task.values);
    Value block[kBlock];
    std::int32_t found[kBlock];
    for (std::int64_t begin = task.begin; begin < task.end; begin += kBlock) {
        const int n = static_cast<int>(task.end - begin < kBlock ? task.end - begin : kBlock);
        for (int i = 0; i < n; ++i) block[i] = values[(begin + i) * task.step];
        for (int i = n; i < kBlock; ++i) block[i] = Value(0);
#pragma omp simd
        for (int i = 0; i < kBlock; ++i) {
            const Value x = block[i];
            std::int32_t at = 0;
            at += cuts[at + 127] < x ? 128 : 0;
            at += cuts[at + 63] < x ? 64 : 0;
            at += cuts[at + 31] < x ? 32 : 0;
            at += cuts[at + 15] < x ? 16 : 0;
            at += cuts[at + 7] < x ? 8 : 0;
            at += cuts[at + 3] < x ? 4 : 0;
            at += cuts[at + 1] < x ? 2 : 0;
            at += cuts[at] < x ? 1 : 0;
            found[i] = x == x ? at : kMissing;
        }
        for (int i = 0; i < n; ++i) task.column[begin + i] = static_cast<std::uint8_t>(found[i]);
        for (int i = 0; i < n; ++i) {
            const int bin = found[i] == kMissing ? task.missing : found[i];
            std::uint8_t& code = task.rows[(begin + i) * task.stride];
            code = static_cast<std::uint8_t>((task.is_first ? 0 : code) + bin * task.code_step);
        }
    }
}

}  // namespace

void ORDINAL_PASTE(bin_column_, ORDINAL_ISA)(const BinTask& task) {
    task.is_float32 ? bin_values<float>(task) : bin_values<double>(task);
}

}  // namespace ordinal
