// The criteria: what a split of a leaf is worth. Each has a folder of this name with three parts.
//
// leaf.hpp       struct <Name>Leaf: what the candidates of one leaf are judged with. Numbers and pointers
//                alone, since the scan is compiled for several instruction sets. `parent_score` is the
//                leaf's own value.
// gain.hpp       Doubles gains(const <Name>Leaf&, const GrowthLimits&, const double* parent,
//                              const Doubles* left, Doubles* scratch):
//                what several candidates gain, given the sums of the columns that go left. `scratch` has room
//                for kMostScratch values: stacks of threads may be small.
// criterion.hpp  class <Name>Criterion
//                    struct Input      what the round knows of the tree to be grown
//                    struct Prepared   owns what a leaf was prepared to; leaf() points into it
//                    (input, root, limits)         starts a tree whose root has these sums
//                    prepare(sums)     -> Prepared
//                    split(parent, left, right)    a leaf gives way to its children
//
// A criterion says what the columns of a row mean; histograms, scan and grower only add them up. To add one,
// write its folder and add a line here, in gains.hpp and in criteria.hpp.
#pragma once

#include "criteria/high_order/leaf.hpp"
#include "criteria/joint/leaf.hpp"
#include "criteria/multi_output/leaf.hpp"
#include "criteria/scalar/leaf.hpp"
#include "criteria/vector/leaf.hpp"

// ORDINAL_CRITERIA(use) calls use(folder, Name) for each.
// clang-format off
#define ORDINAL_CRITERIA(use) \
    use(scalar, Scalar) \
    use(vector, Vector) \
    use(multi_output, MultiOutput) \
    use(high_order, HighOrder) \
    use(joint, Joint)
// clang-format on
