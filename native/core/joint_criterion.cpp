#include "joint_criterion.hpp"

#include <algorithm>
#include <cmath>

namespace ordinal {
namespace {

// ||S 1|| relative to the trace of V below which the common shift of score and thresholds counts as free;
// sums of float32 rows do not know it better.
constexpr double kGauge = 1e-6;
// A direction with less curvature than this share of the largest has none.
constexpr double kFlat = 1e-12;

double dot(const double* a, const double* b, int n) {
    double total = 0.0;
    for (int k = 0; k < n; ++k) total += a[k] * b[k];
    return total;
}

// E (E' A E)^{-1} E', where column c of E marks the thresholds of group c: the inverse in the directions that
// may move, zero in the others. Directions without curvature are left out.
std::vector<double> inverse_in_groups(const std::vector<double>& A, const std::vector<std::int32_t>& group) {
    const int n = static_cast<int>(group.size());
    const int size = n == 0 ? 0 : 1 + *std::max_element(group.begin(), group.end());
    const auto at = [](int i, int j, int width) { return static_cast<std::size_t>(i) * width + j; };
    std::vector<double> C(static_cast<std::size_t>(size) * size, 0.0);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            if (group[i] >= 0 && group[j] >= 0) C[at(group[i], group[j], size)] += A[at(i, j, n)];
    double largest = 0.0;
    for (int i = 0; i < size; ++i) largest = std::max(largest, C[at(i, i, size)]);
    std::vector<double> inverse_factor(C.size(), 0.0);  // of the Cholesky factor, lower triangular
    std::vector<bool> present(static_cast<std::size_t>(size), true);
    for (int i = 0; i < size; ++i) {
        for (int j = 0; j < i; ++j) {
            if (!present[j]) continue;
            double value = C[at(i, j, size)];
            for (int k = 0; k < j; ++k)
                if (present[k]) value -= C[at(i, k, size)] * C[at(j, k, size)];
            C[at(i, j, size)] = value / C[at(j, j, size)];
        }
        double pivot = C[at(i, i, size)];
        for (int k = 0; k < i; ++k)
            if (present[k]) pivot -= C[at(i, k, size)] * C[at(i, k, size)];
        present[i] = pivot > kFlat * largest;
        if (!present[i]) continue;
        C[at(i, i, size)] = std::sqrt(pivot);
        inverse_factor[at(i, i, size)] = 1.0 / C[at(i, i, size)];
        for (int j = 0; j < i; ++j) {
            double value = 0.0;
            for (int k = j; k < i; ++k)
                if (present[k]) value += C[at(i, k, size)] * inverse_factor[at(k, j, size)];
            inverse_factor[at(i, j, size)] = -value / C[at(i, i, size)];
        }
    }
    std::vector<double> inverse(static_cast<std::size_t>(n) * n, 0.0);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            if (group[i] < 0 || group[j] < 0) continue;
            double value = 0.0;
            for (int k = std::max(group[i], group[j]); k < size; ++k)
                value += inverse_factor[at(k, group[i], size)] * inverse_factor[at(k, group[j], size)];
            inverse[at(i, j, n)] = value;
        }
    return inverse;
}

}  // namespace

JointCriterion::JointCriterion(const ThresholdState& thresholds, const double* root, double l2)
    : n_(thresholds.n),
      first_carried_(thresholds.first_carried),
      n_carried_(thresholds.n_carried),
      weights_(thresholds.weights),
      l2_(l2) {
    const std::size_t n = static_cast<std::size_t>(n_);
    group_.assign(thresholds.group, thresholds.group + n);
    S_.assign(thresholds.hessian, thresholds.hessian + n * n);
    r_.assign(thresholds.gradient, thresholds.gradient + n);
    for (std::size_t k = 0; k < n; ++k) trace_ += group_[k] < 0 ? 0.0 : S_[k * n + k];
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

// W v: its product with what a leaf carries is v.L.
std::vector<double> JointCriterion::carried(const std::vector<double>& of_all) const {
    std::vector<double> result(static_cast<std::size_t>(n_carried_));
    for (int c = 0; c < n_carried_; ++c)
        result[c] = dot(weights_ + static_cast<std::size_t>(c) * n_, of_all.data(), n_);
    return result;
}

// W A^{-1} W'.
std::vector<double> JointCriterion::carried_inverse(const std::vector<double>& inverse) const {
    const std::size_t n = static_cast<std::size_t>(n_), n_carried = static_cast<std::size_t>(n_carried_);
    std::vector<double> row(n), result(n_carried * n_carried);
    for (std::size_t c = 0; c < n_carried; ++c) {
        for (std::size_t k = 0; k < n; ++k) row[k] = dot(weights_ + c * n, inverse.data() + k * n, n_);
        for (std::size_t d = 0; d < n_carried; ++d)
            result[c * n_carried + d] = dot(row.data(), weights_ + d * n, n_);
    }
    return result;
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

LeafTerms JointCriterion::terms(const double* leaf) const {
    LeafTerms terms;
    const double h = leaf[kHessian] + l2_;
    const double own = h > 0.0 ? leaf[kGradient] * leaf[kGradient] / h : 0.0;
    terms.parent_score = own;
    if (n_ == 0 || h <= 0.0) return terms;
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

    std::vector<double> A = S_;
    std::vector<double> r_A = r_;
    for (int i = 0; i < n; ++i) {
        r_A[i] += leaf[kGradient] * L[i] / h;
        for (int j = 0; j < n; ++j) A[static_cast<std::size_t>(i) * n + j] += L[i] * L[j] / h;
    }
    const std::vector<double> inverse = inverse_in_groups(A, group_);
    std::vector<double> m(static_cast<std::size_t>(n)), q(static_cast<std::size_t>(n));
    double r_inverse_r = 0.0, L_inverse_r = 0.0;
    for (int i = 0; i < n; ++i) {
        const double* row = inverse.data() + static_cast<std::size_t>(i) * n;
        m[i] = dot(row, L.data(), n);
        q[i] = dot(row, r_A.data(), n);
        const double row_r = dot(row, r_.data(), n);
        r_inverse_r += r_[i] * row_r;
        L_inverse_r += L[i] * row_r;
    }
    terms.r_A_q = dot(r_A.data(), q.data(), n);
    terms.pm = dot(L.data(), m.data(), n);
    terms.pq = dot(L.data(), q.data(), n);
    // r' S^{-1} r from A^{-1}: S is A without this leaf's rank one.
    const double rest = h - terms.pm;
    const bool singular = terms.gauge || rest <= kFlat * h;
    terms.parent_score += r_inverse_r + (singular ? 0.0 : L_inverse_r * L_inverse_r / rest);
    terms.inverse = carried_inverse(inverse);
    terms.m = carried(m);
    terms.q = carried(q);
    return terms;
}

}  // namespace ordinal
