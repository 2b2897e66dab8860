#include "trees/row_partition.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "simd/dispatch.hpp"
#include "threads/sizes.hpp"

namespace ordinal {

RowPartition::RowPartition(const BinnedData& data, Pool& pool)
    : data_(data),
      pool_(pool),
      left_(static_cast<std::size_t>(data.n_rows)),
      right_(static_cast<std::size_t>(data.n_rows)) {}

void RowPartition::begin(const std::uint32_t* rows, std::int64_t n) {
    rows_.resize(static_cast<std::size_t>(n));
    pool_.run("list rows", (n + kPartitionBlock - 1) / kPartitionBlock, n >= kWorthRows,
              [&](std::int64_t block) {
                  const std::int64_t end = std::min(n, (block + 1) * kPartitionBlock);
                  for (std::int64_t i = block * kPartitionBlock; i < end; ++i)
                      rows_[static_cast<std::size_t>(i)] = rows ? rows[i] : static_cast<std::uint32_t>(i);
              });
}

bool RowPartition::any_missing(const std::uint32_t* rows, std::int64_t n, std::int32_t feature) const {
    const std::uint8_t* column = data_.columns + feature * data_.n_rows;
    return std::any_of(rows, rows + n, [&](std::uint32_t row) { return column[row] == kMissing; });
}

std::int64_t RowPartition::split(const TreeNode& node) {
    const std::uint8_t* column = data_.columns + node.feature * data_.n_rows;
    std::uint32_t* rows = rows_.data() + node.begin;
    const std::int64_t n = node.end - node.begin;
    // The order of the rows is the same for any blocks.
    const std::int64_t block_rows =
        std::clamp((n / (2 * pool_.n_threads()) + 15) / 16 * 16, kLeastPartitionBlock, kPartitionBlock);
    const std::int64_t n_blocks = (n + block_rows - 1) / block_rows;
    std::vector<std::int64_t> n_left(static_cast<std::size_t>(n_blocks) + 1, 0);
    const PartitionRows partition_rows = active_instruction_set().partition_rows;
    pool_.run("partition", n_blocks, n >= kWorthRows, [&](std::int64_t block) {
        const std::int64_t begin = block * block_rows;
        PartitionTask task;
        task.column = column;
        task.rows = rows + begin;
        // A single block leaves them where they are.
        task.left = n_blocks == 1 ? rows : left_.data() + begin;
        task.right = right_.data() + begin;
        task.n = std::min(n - begin, block_rows);
        task.split = node.split;
        n_left[static_cast<std::size_t>(block) + 1] = partition_rows(task);
    });
    // What is on the left of all blocks before a block, then all rows before it without these.
    std::partial_sum(n_left.begin(), n_left.end(), n_left.begin());
    const std::int64_t total_left = n_left.back();
    pool_.run("join the parted", n_blocks, n >= kWorthRows, [&](std::int64_t block) {
        const std::int64_t begin = block * block_rows, end = std::min(n, begin + block_rows);
        const std::int64_t* before = n_left.data() + block;
        const std::int64_t of_block = before[1] - before[0];
        if (n_blocks > 1)
            std::memcpy(rows + before[0], left_.data() + begin,
                        static_cast<std::size_t>(of_block) * sizeof *rows);
        std::memcpy(rows + total_left + (begin - before[0]), right_.data() + begin,
                    static_cast<std::size_t>((end - begin) - of_block) * sizeof *rows);
    });
    return total_left;
}

}  // namespace ordinal
