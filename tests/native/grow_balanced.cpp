// Grows a tree of halves and prints its nodes: feature, bin, left child, first row, end.
#include <cstdio>
#include <vector>

#include "criteria/every_criterion.hpp"
#include "trees/engine.hpp"

int main() {
    const int n = 4096, n_features = 2;
    std::vector<double> X(static_cast<std::size_t>(n) * n_features);
    for (int i = 0; i < n; ++i) {
        X[static_cast<std::size_t>(i) * 2] = i % 3;      // thirds
        X[static_cast<std::size_t>(i) * 2 + 1] = i % 8;  // eighths: one cut makes halves
    }
    const ordinal::FeatureMatrix matrix{X.data(), false, n, n_features, n_features, 1};
    const std::vector<std::vector<double>> cuts{{0.5, 1.5}, {0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5}};
    ordinal::Engine engine(n, cuts, 2, false);
    engine.bin(0, matrix);
    engine.statistics(0);
    ordinal::GrowthLimits limits;
    limits.max_leaves = 8;
    std::vector<std::int32_t> leaf_of_row(n);
    const ordinal::Tree tree =
        engine.grow<ordinal::BalancedCriterion>({}, limits, {}, {0, 1}, nullptr, n, leaf_of_row.data());
    for (const ordinal::TreeNode& node : tree.nodes)
        std::printf("%d %d %d %lld\n", node.feature, node.split.last_left, node.left,
                    static_cast<long long>(node.end - node.begin));
}
