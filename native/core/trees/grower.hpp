// Grows one tree, best split first.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simd/aligned.hpp"
#include "trees/tasks.hpp"
#include "criteria/joint.hpp"
#include "threads/pool.hpp"
#include "trees/tree.hpp"

namespace ordinal {

struct BinnedData {
    std::int64_t n_rows = 0;
    int n_features = 0;
    const std::uint8_t* rows = nullptr;  // (n_rows, stride) for histograms
    std::int64_t stride = 0;
    const std::uint8_t* columns = nullptr;  // (n_features, n_rows) for partitions
    const std::int32_t* n_bins = nullptr;   // (n_features,) without the missing one
};

class Grower {
  public:
    Grower(const BinnedData& data, Pool& pool);

    // statistics: (n_rows, row_width(n_cross)) with the count set.
    // rows: the rows to grow on in increasing order, or null for all.
    Tree grow(const float* statistics, int n_cross, const ThresholdState& thresholds,
              const GrowthLimits& limits, const std::vector<std::int32_t>& features,
              const std::uint32_t* rows, std::int64_t n_rows);

    // The newest tree's rows by leaf, in increasing order within each.
    const std::vector<std::uint32_t>& rows() const { return rows_; }

  private:
    struct Leaf;
    using Histogram = AlignedVector<double>;

    int n_groups() const;
    template <class Work>
    void over_features(std::int64_t n_rows, const Work& work) const;
    // Of features first..last-1 in the order of features_.
    void build(Histogram& histogram, const std::uint32_t* rows, std::int64_t n, int first, int last,
               int thread);
    void subtract(Histogram& from, const Histogram& part, std::int32_t feature) const;
    Candidate scan(const Leaf& leaf, const LeafTerms& terms, std::int32_t feature) const;
    void take_best(Leaf& leaf, const std::vector<Candidate>& found) const;
    void judge_root(Leaf& root, const std::uint32_t* rows, std::int64_t n, const ThresholdState& thresholds,
                    bool wanted);
    void judge(Leaf& small, const std::uint32_t* rows, std::int64_t n, bool small_wanted, Leaf* large);
    std::vector<double> left_sums(const Leaf& leaf) const;
    std::int64_t partition(const TreeNode& node);
    std::unique_ptr<Histogram> take_histogram();

    BinnedData data_;
    Pool& pool_;
    std::vector<std::int64_t> offsets_;
    std::int64_t n_slots_ = 0;
    std::vector<std::uint32_t> rows_, buffer_;
    AlignedVector<float> scratch_;
    std::int64_t scratch_step_ = 0;  // places of a thread
    std::vector<std::unique_ptr<Histogram>> spare_;

    // Of the tree being grown.
    const float* statistics_ = nullptr;
    int width_ = 0;
    int count_ = 0;  // the column of the count
    GrowthLimits limits_;
    const std::vector<std::int32_t>* features_ = nullptr;
    bool consecutive_ = true;
    std::unique_ptr<JointCriterion> criterion_;
};

}  // namespace ordinal
