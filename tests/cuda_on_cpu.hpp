// What ordinal_objectives/rows/cuda asks of the machine, for a C++ compiler: threads of a block run one after
// the other, phase by phase, in either order. A result that depends on the order shows that threads write
// what others read.
#pragma once

#include <cmath>

using namespace std;

struct Place {
    unsigned x;
};

static Place blockIdx{0}, gridDim{1};
static bool backwards = false;

extern "C" void begin_block(unsigned block, unsigned n_blocks, bool in_reverse) {
    blockIdx.x = block;
    gridDim.x = n_blocks;
    backwards = in_reverse;
}

#define KERNEL extern "C" void
#define DEVICE inline
#define SHARED static
#define PER_THREAD(type, name, size) type name[kThreads][size]
#define MINE(name) name[t]
#define UNROLL
#define EACH_THREAD(t) \
    for (int turn_ = 0, t = backwards ? kThreads - 1 : 0; turn_ < kThreads; ++turn_, t += backwards ? -1 : 1)
