// What one pass over the rows reads and writes: shared by every kernel, free of Python and of containers,
// because logit_lanes.cpp is compiled for several instruction sets.
#pragma once

#include <cstdint>

namespace ordinal {

enum class Loss : int { all_threshold = 0, cumulative_link = 1, immediate_threshold = 2, cost_weighted = 3 };
// Their names in Python, in this order.
constexpr const char* kLosses[] = {"all_threshold", "cumulative_link", "immediate_threshold",
                                   "cost_weighted"};
// Place in the list `Links` of link_kernel.hpp.
enum class Link : int {};
// Which thresholds a row counts: all alike, the two beside its label, or all by what an error costs there.
enum class Counts : int { all, beside, by_cost };

// A row's curvature in the score is summed over its thresholds, so one struct serves all losses.
template <class Weight, class Output>
struct Round {
    const float* raw32 = nullptr;  // (n,) exactly one of raw32, raw64 is set
    const double* raw64 = nullptr;
    const std::int32_t* y = nullptr;     // (n,) class codes 0..n_thresholds
    const Weight* weight = nullptr;      // (n,) or null for ones
    const double* thresholds = nullptr;  // (n_thresholds,)
    int n_thresholds = 0;
    Loss loss = Loss::all_threshold;
    // (n_thresholds + 1, n_thresholds): what each threshold weighs for a class; of cost_weighted alone.
    const Weight* costs = nullptr;
    Link link{};
    bool majorized = true;
    bool want_loss = false;
    double limit = 700.0;  // link kernels: |theta_k - f| is clipped here in terms that grow like its exp
    Output* gradient = nullptr;                  // (n,)
    Output* hessian = nullptr;                   // (n,)
    Output* cross = nullptr;                     // (n, n_thresholds) row-major, or null
    const std::int32_t* cross_places = nullptr;  // (n_thresholds,) in a row of cross, below 0 for nowhere;
                                                 // null for places in order. float32 kernel alone.
    std::int64_t cross_step = 0;                 // between the rows of cross, in numbers
    Output* beside = nullptr;  // gradient and Hessian once more, side by side, in rows cross_step apart
    // Third and fourth derivatives in the score, for the logit link and exact Hessians only: (n, n_higher)
    // rows higher_step apart, or null. The fourth is the second column, if there are two.
    Output* higher = nullptr;
    int n_higher = 0;
    std::int64_t higher_step = 0;
    // Rows that are added up, with no output of their own; null for all. Those that are light count by a
    // factor.
    const std::uint32_t* rows = nullptr;
    const std::uint8_t* light = nullptr;  // (number of rows,) or null
    double factor = 1.0;
};

// Of a Round or a MarginRound. `static`, since files that are compiled for several instruction sets use it.
template <class Some>
static inline Counts counts_of(const Some& round) {
    if (round.loss == Loss::cost_weighted) return Counts::by_cost;
    return round.loss == Loss::all_threshold ? Counts::all : Counts::beside;
}

// What a threshold that counts weighs for a class.
template <class Some>
static inline double cost_of(const Some& round, int y, int k) {
    return round.costs ? static_cast<double>(round.costs[y * round.n_thresholds + k]) : 1.0;
}

// Sums over one block of rows, always in float64; the arrays hold n_thresholds entries each.
struct BlockSums {
    double* threshold_gradient;     // u
    double* threshold_hessian;      // V, diagonal
    double* threshold_hessian_off;  // V, next to the diagonal (entry k couples k and k + 1)
    double loss;
    std::int64_t n_clipped;
    std::int64_t n_floored;
};

using LogitRound = Round<float, float>;
using LinkRound = Round<double, double>;

}  // namespace ordinal
