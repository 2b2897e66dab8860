// Which features may split a node: those that interact with the features above it, and of these as many as
// are drawn.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "trees/draw.hpp"

namespace ordinal {

// What a training asks of the features of each node.
struct FeatureRules {
    double share = 1.0;  // of the features that may split a node, drawn for each; 1 for all
    std::uint64_t seed = 0;
    // Features that may split below each other; empty for all.
    std::vector<std::vector<std::int32_t>> groups;
    std::vector<std::int8_t> signs;  // by feature: where the model rises (1), falls (-1) or may do either;
                                     // empty for either everywhere
    int n_gradients = 1;             // columns of gradients that a row has, before as many of Hessians
};

class NodeFeatures {
  public:
    // features: those of the tree.
    NodeFeatures(const FeatureRules& rules, const std::vector<std::int32_t>& features)
        : rules_(rules), features_(features) {}

    // Numbers of groups, and by place among the tree's features whether one may split; empty for all.
    using Groups = std::vector<std::int32_t>;
    using Places = std::vector<std::uint8_t>;

    Groups all_groups() const {
        Groups groups(rules_.groups.size());
        std::iota(groups.begin(), groups.end(), 0);
        return groups;
    }

    // The groups of a node that hold a feature, which its children keep.
    Groups with(const Groups& groups, std::int32_t feature) const {
        Groups kept;
        for (const std::int32_t g : groups)
            for (const std::int32_t one : rules_.groups[static_cast<std::size_t>(g)])
                if (one == feature) kept.push_back(g);
        return kept;
    }

    // The same for any number of threads: what is drawn depends on seed and node alone.
    Places of_node(const Groups& groups, int node) const {
        const bool draws = rules_.share < 1.0;
        if (!draws && rules_.groups.empty()) return {};
        std::vector<std::size_t> allowed;
        for (std::size_t f = 0; f < features_.size(); ++f)
            if (rules_.groups.empty() || interacts(groups, features_[f])) allowed.push_back(f);
        std::size_t n = allowed.size();
        if (draws && n > 0) {
            n = static_cast<std::size_t>(std::ceil(rules_.share * static_cast<double>(n) - 1e-9));
            std::uint64_t state = rules_.seed + kGolden * (static_cast<std::uint64_t>(node) + 1);
            for (std::size_t i = 0; i < n; ++i)
                std::swap(allowed[i], allowed[i + next(state) % (allowed.size() - i)]);
        }
        Places places(features_.size(), 0);
        for (std::size_t i = 0; i < n; ++i) places[allowed[i]] = 1;
        return places;
    }

    int sign(std::int32_t feature) const {
        return rules_.signs.empty() ? 0 : rules_.signs[static_cast<std::size_t>(feature)];
    }
    int n_gradients() const { return rules_.n_gradients; }

  private:
    bool interacts(const Groups& groups, std::int32_t feature) const {
        for (const std::int32_t g : groups)
            for (const std::int32_t one : rules_.groups[static_cast<std::size_t>(g)])
                if (one == feature) return true;
        return false;
    }

    static std::uint64_t next(std::uint64_t& state) { return mixed(state += kGolden); }

    const FeatureRules& rules_;
    const std::vector<std::int32_t>& features_;
};

}  // namespace ordinal
