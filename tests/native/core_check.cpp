// Checks the core where Python does not run, with every instruction set that there is: what the lanes make of
// rows, against the float64 kernel, the first split of a tree, against all that there are, and a tree on rows
// that are drawn. `make cross` runs it.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "criteria/every_criterion.hpp"
#include "rows/round_statistics.hpp"
#include "simd/dispatch.hpp"
#include "trees/engine.hpp"
#include "trees/row_sampler.hpp"

namespace {

constexpr int kRows = 20003, kThresholds = 5, kFeatures = 3, kCuts = 9;
constexpr double kAt[kThresholds] = {-2.0, -0.5, 0.25, 1.0, 2.5};
bool failed = false;

template <class A, class B>
void compare(const char* set, const char* what, const A& found, const B& expected, double tolerance) {
    double worst = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double error = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])) /
                             (1.0 + std::abs(static_cast<double>(expected[i])));
        worst = error <= worst ? worst : error;  // takes a NaN
    }
    const bool is_fine = worst <= tolerance;
    failed |= !is_fine;
    std::printf("%-9s %-22s largest error %.1e%s\n", set, what, worst, is_fine ? "" : ", TOO LARGE");
}

struct Rows {
    std::vector<double> score, weight, X;
    std::vector<std::int32_t> y;
};

Rows draw_rows() {
    std::mt19937_64 random(0);
    const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    Rows rows;
    for (int i = 0; i < kRows; ++i) {
        rows.score.push_back(8.0 * uniform() - 4.0);
        rows.weight.push_back(0.5 + uniform());
        rows.y.push_back(static_cast<std::int32_t>(random() % (kThresholds + 1)));
        for (int f = 0; f < kFeatures; ++f) rows.X.push_back(std::floor((kCuts + 1) * uniform()));
    }
    return rows;
}

// A pass over the rows, by the lanes or by the kernel of any link, whose first is the logit.
template <class Number>
struct Pass {
    std::vector<Number> weight, gradient, hessian;
    ordinal::RoundSums sums;

    template <class Statistics>
    Pass(const Statistics& statistics, const Rows& rows, bool majorized)
        : weight(rows.weight.begin(), rows.weight.end()), gradient(kRows), hessian(kRows) {
        ordinal::Round<Number, Number> round;
        round.raw64 = rows.score.data();
        round.y = rows.y.data();
        round.weight = weight.data();
        round.thresholds = kAt;
        round.n_thresholds = kThresholds;
        round.majorized = majorized;
        round.want_loss = true;
        round.gradient = gradient.data();
        round.hessian = hessian.data();
        sums = statistics(round, kRows, 2);
    }
};

void check_passes(const char* set, const Rows& rows) {
    for (const bool majorized : {true, false}) {
        const Pass<float> lanes(ordinal::logit_statistics, rows, majorized);
        const Pass<double> exact(ordinal::link_statistics, rows, majorized);
        compare(set, "gradient", lanes.gradient, exact.gradient, 2e-6);
        compare(set, "Hessian", lanes.hessian, exact.hessian, 2e-6);
        const ordinal::RoundSums &sums = lanes.sums, &exact_sums = exact.sums;
        compare(set, "threshold gradient", sums.threshold_gradient, exact_sums.threshold_gradient, 2e-6);
        compare(set, "threshold Hessian", sums.threshold_hessian, exact_sums.threshold_hessian, 2e-6);
        compare(set, "loss", std::vector{sums.loss}, std::vector{exact_sums.loss}, 2e-6);
    }
}

struct Found {
    double gain = 0.0;
    int feature = -1, bin = -1;
};

// The best first split, by sums over all rows for each candidate.
Found best_split(const Rows& rows, const std::vector<double>& g, const std::vector<double>& h) {
    const auto half_score = [](double G, double H) { return 0.5 * G * G / H; };
    const double g_all = std::accumulate(g.begin(), g.end(), 0.0),
                 h_all = std::accumulate(h.begin(), h.end(), 0.0);
    Found best;
    for (int f = 0; f < kFeatures; ++f)
        for (int bin = 0; bin < kCuts; ++bin) {
            double g_left = 0.0, h_left = 0.0;
            for (std::size_t i = 0; i < kRows; ++i) {
                if (rows.X[i * kFeatures + static_cast<std::size_t>(f)] > bin) continue;
                g_left += g[i];
                h_left += h[i];
            }
            const double gain = half_score(g_left, h_left) + half_score(g_all - g_left, h_all - h_left) -
                                half_score(g_all, h_all);
            if (gain > best.gain) best = {gain, f, bin};
        }
    return best;
}

void check_tree(const char* set, const Rows& rows) {
    std::vector<double> cuts;
    for (int bin = 0; bin < kCuts; ++bin) cuts.push_back(bin + 0.5);
    ordinal::Engine engine(kRows, std::vector<std::vector<double>>(kFeatures, cuts), 2);
    engine.bin(0, {rows.X.data(), false, kRows, kFeatures, kFeatures, 1});
    float* statistics = engine.statistics(2);
    const std::size_t width = static_cast<std::size_t>(engine.width());
    std::vector<double> g(kRows), h(kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
        g[i] = statistics[i * width] =
            static_cast<float>(rows.score[i] + (rows.X[i * kFeatures + 1] > 3.0 ? 1.0 : 0.0));
        h[i] = statistics[i * width + 1] = static_cast<float>(rows.weight[i]);
    }
    ordinal::GrowthLimits limits;
    limits.max_leaves = 8;
    std::vector<std::int32_t> leaf_of_row(kRows);
    const ordinal::Tree tree =
        engine.grow<ordinal::ScalarCriterion>({}, limits, {}, {0, 1, 2}, nullptr, kRows, leaf_of_row.data());
    const ordinal::TreeNode& root = tree.nodes.front();
    const Found best = best_split(rows, g, h);
    compare(set, "first split", std::vector{root.feature, root.split.last_left},
            std::vector{best.feature, best.bin}, 0.0);
    compare(set, "its gain", std::vector{root.gain}, std::vector{best.gain}, 1e-5);

    const std::size_t n_nodes = tree.nodes.size();
    const std::vector<double> sums =
        engine.leaf_sums(leaf_of_row.data(), static_cast<int>(n_nodes), nullptr, kRows);
    std::vector<double> found(n_nodes), expected(n_nodes);
    for (std::size_t node = 0; node < n_nodes; ++node) found[node] = sums[node * width];
    for (std::size_t i = 0; i < kRows; ++i) expected[static_cast<std::size_t>(leaf_of_row[i])] += g[i];
    compare(set, "gradients of leaves", found, expected, 1e-9);
}

// The rows that are drawn, against those of another instruction set, and where all rows fall in a tree on
// them.
void check_sample(const char* set, const Rows& rows) {
    static std::vector<std::uint32_t> first;
    ordinal::RowSampler sampler(kRows, rows.weight.data());
    sampler.draw(kRows / 3, 1, 2, 2);
    const std::vector<std::uint32_t>& drawn = sampler.rows();
    if (first.empty()) first = drawn;
    compare(set, "drawn rows", drawn, first, 0.0);

    std::vector<double> cuts;
    for (int bin = 0; bin < kCuts; ++bin) cuts.push_back(bin + 0.5);
    ordinal::Engine engine(kRows, std::vector<std::vector<double>>(kFeatures, cuts), 2);
    engine.bin(0, {rows.X.data(), false, kRows, kFeatures, kFeatures, 1});
    float* statistics = engine.statistics(2);
    for (std::size_t i = 0; i < kRows; ++i, statistics += engine.width()) {
        statistics[0] = static_cast<float>(rows.score[i] + (rows.X[i * kFeatures + 1] > 3.0 ? 1.0 : 0.0));
        statistics[1] = static_cast<float>(rows.weight[i]);
    }
    const auto grow = [&](std::vector<std::int32_t>& leaf_of_row) {
        ordinal::GrowthLimits limits;
        limits.max_leaves = 8;
        return engine.grow<ordinal::ScalarCriterion>({}, limits, {}, {0, 1, 2}, drawn.data(),
                                                     static_cast<std::int64_t>(drawn.size()),
                                                     leaf_of_row.data());
    };
    std::vector<std::int32_t> found(kRows), expected(kRows);
    const ordinal::Tree tree = grow(found);
    for (std::size_t i = 0; i < kRows; ++i)
        while (tree.nodes[static_cast<std::size_t>(expected[i])].feature >= 0) {
            const ordinal::TreeNode& node = tree.nodes[static_cast<std::size_t>(expected[i])];
            const double value = rows.X[i * kFeatures + static_cast<std::size_t>(node.feature)];
            expected[i] = node.left + (value > node.split.last_left);
        }
    compare(set, "leaves of all rows", found, expected, 0.0);

    const double factor =
        sampler.draw_by_gradients(engine.statistics(2), engine.width(), 1, 0.2, 0.1, 1, 2, 2);
    compare(set, "by gradients", std::vector{static_cast<double>(sampler.rows().size()), factor},
            std::vector{4001.0 + 2000.0, (kRows - 4001.0) / 2000.0}, 1e-12);
    engine.weigh(sampler.rows().data(), sampler.light().data(), 6001, static_cast<float>(factor));
    engine.unweigh(sampler.rows().data(), sampler.light().data(), 6001);
}

}  // namespace

int main() {
    const Rows rows = draw_rows();
    int n_sets = 0;
    const ordinal::InstructionSet* sets = ordinal::instruction_sets(n_sets);
    for (int s = 0; s < n_sets; ++s) {
        if (!ordinal::select_instruction_set(sets[s].name)) continue;
        check_passes(sets[s].name, rows);
        check_tree(sets[s].name, rows);
        check_sample(sets[s].name, rows);
    }
    return failed;
}
