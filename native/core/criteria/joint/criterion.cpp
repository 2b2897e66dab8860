#include "criteria/joint/criterion.hpp"

#include <algorithm>
#include <cmath>

namespace ordinal {
namespace {

// ||S 1|| relative to the trace of V below which the common shift of score and thresholds counts as free:
// sums of float32 rows are not more exact.
constexpr double kGauge = 1e-6;
// A direction with less curvature than this share of the largest has none.
constexpr double kFlat = 1e-12;

// Turns the rows [A | B], `size` of them, into [R | Y] with R'R = A and R'Y = B, so that Y'Y = B' A^{-1} B.
// Directions without curvature are left out: their rows become zeros.
void factor(std::vector<double>& rows, int size, int width) {
    const auto row = [&](int i) { return rows.data() + static_cast<std::size_t>(i) * width; };
    double largest = 0.0;
    for (int i = 0; i < size; ++i) largest = std::max(largest, row(i)[i]);
    for (int i = 0; i < size; ++i) {
        double* pivot = row(i);
        const bool present = pivot[i] > kFlat * largest;
        const double scale = present ? 1.0 / std::sqrt(pivot[i]) : 0.0;
        for (int k = i; k < width; ++k) pivot[k] *= scale;
        for (int j = i + 1; present && j < size; ++j) {
            double* below = row(j);
            const double share = pivot[j];
            for (int k = j; k < width; ++k) below[k] -= share * pivot[k];
        }
    }
}

}  // namespace

JointCriterion::JointCriterion(const Input& thresholds, const double* root, const GrowthLimits& limits)
    : n_(thresholds.n),
      first_carried_(thresholds.first_carried),
      n_carried_(thresholds.n_carried),
      weights_(thresholds.weights),
      l2_(limits.l2) {
    const std::size_t n = static_cast<std::size_t>(n_);
    group_.assign(thresholds.group, thresholds.group + n);
    S_.assign(thresholds.hessian, thresholds.hessian + n * n);
    r_.assign(thresholds.gradient, thresholds.gradient + n);
    for (std::size_t k = 0; k < n; ++k) {
        n_groups_ = std::max(n_groups_, group_[k] + 1);
        trace_ += group_[k] < 0 ? 0.0 : S_[k * n + k];
    }
    add_leaf(root, -1.0);
}

// L of all thresholds from the sums that a leaf carries.
std::vector<double> JointCriterion::cross_terms(const double* leaf) const {
    std::vector<double> L(static_cast<std::size_t>(n_), 0.0);
    for (int c = 0; c < n_carried_; ++c)
        for (int k = 0; k < n_; ++k)
            L[k] += leaf[first_carried_ + c] * weights_[static_cast<std::size_t>(c) * n_ + k];
    return L;
}

void JointCriterion::add_leaf(const double* leaf, double sign) {
    const double h = leaf[kHessian] + l2_;
    if (n_ == 0 || h <= 0.0) return;
    const std::vector<double> L = cross_terms(leaf);
    for (int i = 0; i < n_; ++i) {
        r_[i] += sign * leaf[kGradient] * L[i] / h;
        for (int j = 0; j < n_; ++j) S_[static_cast<std::size_t>(i) * n_ + j] += sign * L[i] * L[j] / h;
    }
}

void JointCriterion::split(const double* parent, const double* left, const double* right) {
    add_leaf(parent, 1.0);
    add_leaf(left, -1.0);
    add_leaf(right, -1.0);
}

JointCriterion::Prepared JointCriterion::prepare(const double* leaf) const {
    Prepared prepared;
    JointLeaf& terms = prepared.own;
    const double h = leaf[kHessian] + l2_;
    const double own = h > 0.0 ? leaf[kGradient] * leaf[kGradient] / h : 0.0;
    terms.parent_score = own;
    if (n_ == 0 || h <= 0.0) return prepared;
    const int n = n_;
    const std::vector<double> L = cross_terms(leaf);
    double shift = 0.0;
    for (int i = 0; i < n; ++i) {
        double row = 0.0;
        for (int j = 0; j < n; ++j)
            if (group_[i] >= 0 && group_[j] >= 0) row += S_[static_cast<std::size_t>(i) * n + j];
        shift += row * row;
    }
    terms.gauge = std::sqrt(shift) <= kGauge * trace_;

    // Thresholds that move together are one row. Of A^{-1} only its products with W' and with four more
    // vectors are needed.
    const int size = n_groups_, in_W = size, in_L = size + n_carried_, in_r_A = in_L + 1, in_r = in_L + 2;
    const int in_ones = in_L + 3, width = in_L + 4;
    std::vector<double> rows(static_cast<std::size_t>(size) * width, 0.0);
    for (int i = 0; i < n; ++i) {
        if (group_[i] < 0) continue;
        double* row = rows.data() + static_cast<std::size_t>(group_[i]) * width;
        const double* S = S_.data() + static_cast<std::size_t>(i) * n;
        for (int j = 0; j < n; ++j)
            if (group_[j] >= 0) row[group_[j]] += S[j] + L[i] * L[j] / h;
        for (int c = 0; c < n_carried_; ++c) row[in_W + c] += weights_[static_cast<std::size_t>(c) * n + i];
        row[in_L] += L[i];
        row[in_r_A] += r_[i] + leaf[kGradient] * L[i] / h;
        row[in_r] += r_[i];
        row[in_ones] += 1.0;
    }
    factor(rows, size, width);
    std::vector<double> products(static_cast<std::size_t>(width - size) * (width - size), 0.0);
    for (int i = 0; i < size; ++i) {
        const double* Y = rows.data() + static_cast<std::size_t>(i) * width + size;
        for (int a = 0; a < width - size; ++a)
            for (int b = 0; b < width - size; ++b)
                products[static_cast<std::size_t>(a) * (width - size) + b] += Y[a] * Y[b];
    }
    const auto product = [&](int a, int b) {
        return products[static_cast<std::size_t>(a - size) * (width - size) + (b - size)];
    };
    for (int c = 0; c < n_carried_; ++c) {
        for (int d = 0; d < n_carried_; ++d) prepared.inverse.push_back(product(in_W + c, in_W + d));
        prepared.m.push_back(product(in_W + c, in_L));
        prepared.q.push_back(product(in_W + c, in_r_A));
        prepared.ones.push_back(product(in_W + c, in_ones));
    }
    terms.first_carried = first_carried_;
    terms.n_carried = n_carried_;
    terms.inverse = prepared.inverse.data();
    terms.m = prepared.m.data();
    terms.q = prepared.q.data();
    terms.ones = prepared.ones.data();
    terms.r_A_q = product(in_r_A, in_r_A);
    terms.pm = product(in_L, in_L);
    terms.pq = product(in_L, in_r_A);
    terms.ones_m = product(in_ones, in_L);
    terms.inverse_ones_m = terms.ones_m != 0.0 ? 1.0 / terms.ones_m : 0.0;
    terms.ones_q = product(in_ones, in_r_A);
    // r' S^{-1} r from A^{-1}: S is A without this leaf's rank one.
    const double rest = h - terms.pm;
    const bool singular = terms.gauge || rest <= kFlat * h;
    const double L_inverse_r = product(in_L, in_r);
    terms.parent_score += product(in_r, in_r) + (singular ? 0.0 : L_inverse_r * L_inverse_r / rest);
    // -L_p.delta / h = L_p' A^{-1} r / (h - pm); where S is singular, what makes the sum of delta 0.
    if (!singular)
        terms.shift = L_inverse_r / rest;
    else
        terms.shift = -product(in_ones, in_r) * terms.inverse_ones_m;
    return prepared;
}

}  // namespace ordinal
