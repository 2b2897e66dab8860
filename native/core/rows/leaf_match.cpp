#include <algorithm>
#include <cmath>
#include <vector>

#include "rows/leaf_sums.hpp"
#include "threads/parallel.hpp"

namespace ordinal {
namespace {

// Finds the nearest of some ascending values: by a table of equal cells, each knowing the value nearest to
// its middle, and by bisection where that value may not be the nearest after all.
class Nearest {
  public:
    Nearest(const double* values, int n)
        : values_(values),
          cells_(64 * static_cast<std::size_t>(n)),
          middles_(),
          reach_(static_cast<std::size_t>(n)) {
        for (int j = 0; j + 1 < n; ++j) middles_.push_back(0.5 * (values[j] + values[j + 1]));
        for (std::size_t j = 0; j < reach_.size(); ++j) {
            const double below = j > 0 ? values[j] - values[j - 1] : 1e300;
            const double above = j + 1 < reach_.size() ? values[j + 1] - values[j] : 1e300;
            reach_[j] = 0.5 * std::min(below, above);
        }
        const double width = (values[n - 1] - values[0]) / static_cast<double>(cells_.size() - 1);
        per_width_ = width > 0.0 ? 1.0 / width : 0.0;
        for (std::size_t cell = 0; cell < cells_.size(); ++cell)
            cells_[cell] = bisect(values[0] + static_cast<double>(cell) * width);
    }

    int operator()(double x) const {
        const double cell = (x - values_[0]) * per_width_ + 0.5;
        const double last = static_cast<double>(cells_.size() - 1);
        const int j = cells_[cell > 0.0 ? static_cast<std::size_t>(cell < last ? cell : last) : 0];
        return std::abs(x - values_[j]) <= reach_[static_cast<std::size_t>(j)] ? j : bisect(x);
    }

  private:
    int bisect(double x) const {
        return static_cast<int>(std::lower_bound(middles_.begin(), middles_.end(), x) - middles_.begin());
    }

    const double* values_;
    std::vector<int> cells_;
    std::vector<double> middles_, reach_;
    double per_width_;
};

// The larger one, and NaN if either is.
inline double worse(double a, double b) { return a >= b || a != a ? a : b; }

}  // namespace

template <class Real>
LeafMatch match_leaves(const Real* before, const Real* after, std::int64_t n_rows,
                       const double* sorted_values, const std::int32_t* order, int n_leaves,
                       std::int32_t* leaves, int n_threads) {
    const Nearest nearest(sorted_values, n_leaves);
    std::vector<LeafMatch> matches(static_cast<std::size_t>(kLeafMatch.count(n_rows)));
    parallel_rows("leaves of rows", n_rows, kLeafMatch, n_threads,
                  [&](std::int64_t c, std::int64_t begin, std::int64_t end) {
                      LeafMatch match;
                      for (std::int64_t i = begin; i < end; ++i) {
                          const double now = static_cast<double>(after[i]);
                          const double step = now - static_cast<double>(before[i]);
                          const int j = nearest(step);
                          leaves[i] = order[j];
                          match.worst_error = worse(match.worst_error, std::abs(step - sorted_values[j]));
                          match.largest_score = std::max(match.largest_score, std::abs(now));
                      }
                      matches[static_cast<std::size_t>(c)] = match;
                  });
    LeafMatch worst;
    for (const LeafMatch& match : matches) {
        worst.worst_error = worse(worst.worst_error, match.worst_error);
        worst.largest_score = std::max(worst.largest_score, match.largest_score);
    }
    return worst;
}

template LeafMatch match_leaves<float>(const float*, const float*, std::int64_t, const double*,
                                       const std::int32_t*, int, std::int32_t*, int);
template LeafMatch match_leaves<double>(const double*, const double*, std::int64_t, const double*,
                                        const std::int32_t*, int, std::int32_t*, int);

void add_leaf_values(const double* raw, const std::int32_t* leaves, const double* values, std::int64_t n_rows,
                     double* sums, int n_threads) {
    parallel_rows("leaves of rows", n_rows, kLeafMatch, n_threads,
                  [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) sums[i] = raw[i] + values[leaves[i]];
                  });
}

}  // namespace ordinal
