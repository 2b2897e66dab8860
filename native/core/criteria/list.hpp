// The criteria: what a split of a leaf is worth. Each has a folder of this name with four parts.
//
// leaf.hpp       struct <Name>Leaf: what the candidates of one leaf are judged with. Numbers and pointers
//                alone, since the scan is compiled for several instruction sets. `parent_score` is the
//                leaf's own value.
// gain.hpp       Doubles gains(const <Name>Leaf&, const GrowthLimits&, const double* parent,
//                              const Doubles* left, Doubles* scratch):
//                what several candidates gain, given the sums of the columns that go left. `scratch` has room
//                for kMostScratch values: stacks of threads may be small.
// order.hpp      void category_keys(const <Name>Leaf&, const GrowthLimits&, const CategoryBins&):
//                an order of the categories of a leaf such that the best way to part them is, or nearly is,
//                between two neighbours.
// criterion.hpp  class <Name>Criterion
//                    struct Input      what the round knows of the tree to be grown
//                    struct Prepared   owns what a leaf was prepared to; leaf() points into it
//                    (input, root, limits)         starts a tree whose root has these sums
//                    prepare(sums)     -> Prepared
//                    split(parent, left, right)    a leaf gives way to its children
//
// A criterion says what the columns of a row mean; histograms, scan and grower only add them up. To add one,
// write its folder, and bindings/criteria/<name>.hpp: list_criteria.py writes the headers every_leaf.hpp,
// every_gain.hpp, every_order.hpp, every_criterion.hpp and every_binding.hpp from the folders that there are.
#pragma once

#include "criteria/every_leaf.hpp"  // defines ORDINAL_CRITERIA(use), which calls use(folder, Name) for each
