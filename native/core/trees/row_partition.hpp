// The rows of a tree by leaf, parted at every split.
#pragma once

#include <cstdint>
#include <vector>

#include "threads/pool.hpp"
#include "trees/binned_data.hpp"
#include "trees/tree.hpp"

namespace ordinal {

class RowPartition {
  public:
    RowPartition(const BinnedData& data, Pool& pool);

    // Begins a tree on n of the rows, in increasing order, or on all of them where rows is null.
    void begin(const std::uint32_t* rows, std::int64_t n);

    // By leaf, in increasing order within each, so that memory is read forwards.
    const std::vector<std::uint32_t>& rows() const { return rows_; }

    // Parts the rows of a node that was split; returns how many go left.
    std::int64_t split(const TreeNode& node);

    bool any_missing(const std::uint32_t* rows, std::int64_t n, std::int32_t feature) const;

  private:
    const BinnedData& data_;
    Pool& pool_;
    std::vector<std::uint32_t> rows_, left_, right_;
};

}  // namespace ordinal
