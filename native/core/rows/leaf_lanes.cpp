// Logit link in float32 lanes: the cross terms of a few hundred rows at a time, added up by leaf.
#include <cstring>

#include "rows/logit_lanes.hpp"
#include "simd/lanes.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

constexpr int kTile = LeafRows::kTile, kStride = LeafRows::kStride;

template <Counts kCounts, bool kWeighted>
void bends_of(LeafRows& rows, const LogitRound& round, float scale, std::int32_t k, int n_padded, float* to) {
    for (int i = 0; i < n_padded; i += kLanes) {
        const Floats z = scale * load(rows.t + i);
        const Floats sigma = reciprocal(1.0f + z);
        Floats bend = sigma * (z * sigma);
        if (kWeighted) bend *= load(rows.weight + i);
        if (kCounts != Counts::all) {
            const Ints y = load(rows.y + i);
            bend = kCounts == Counts::beside ? select((y == k) | (y == k + 1), bend, Floats{})
                                             : bend * lookup(round.costs + k, y * round.n_thresholds);
        }
        store(to + i, bend);
    }
}

template <Counts kCounts, bool kWeighted>
void block(const LogitRound& round, const LogitConstants& constants, const std::int32_t* leaves,
           std::int64_t begin, int n, LeafRows& rows, double* sums) {
    const int n_padded = (n + kLanes - 1) / kLanes * kLanes;
    const int width = round.n_thresholds + 2;
    if (round.raw32)
        load_scores(rows.score, round.raw32 + begin, n, constants.center, constants.lowest_score,
                    constants.highest_score);
    else
        load_scores(rows.score, round.raw64 + begin, n, constants.center, constants.lowest_score,
                    constants.highest_score);
    const unsigned n_bytes = static_cast<unsigned>(n) * sizeof(float);
    std::memcpy(rows.y, round.y + begin, n_bytes);
    if (kWeighted) std::memcpy(rows.weight, round.weight + begin, n_bytes);
    for (int i = n; i < n_padded; ++i) {
        rows.score[i] = rows.weight[i] = 0.0f;
        rows.y[i] = 0;
    }
    for (int i = 0; i < n_padded; i += kLanes) store(rows.t + i, exp(-load(rows.score + i)));
    for (int i = 0; i < n; ++i) {
        double* leaf = sums + static_cast<std::int64_t>(leaves[begin + i]) * width;
        leaf[0] += round.gradient[begin + i];
        leaf[1] += round.hessian[begin + i];
    }
    for (int first = 0; first < round.n_thresholds; first += kTile) {
        const int n_tile = first + kTile < round.n_thresholds ? kTile : round.n_thresholds - first;
        for (int k = 0; k < n_tile; ++k)
            bends_of<kCounts, kWeighted>(rows, round, constants.scale[first + k], first + k, n_padded,
                                         rows.bend + k * kStride);
        for (int i = 0; i < n; ++i) {
            double* cross = sums + static_cast<std::int64_t>(leaves[begin + i]) * width + 2 + first;
            for (int k = 0; k < n_tile; ++k) cross[k] -= rows.bend[k * kStride + i];
        }
    }
}

template <Counts kCounts>
LeafBlock pick(bool weighted) {
    return weighted ? block<kCounts, true> : block<kCounts, false>;
}

LeafBlock pick_for(const LogitRound& round) {
    const bool weighted = round.weight != nullptr;
    switch (counts_of(round)) {
        case Counts::beside:
            return pick<Counts::beside>(weighted);
        case Counts::by_cost:
            return pick<Counts::by_cost>(weighted);
        default:
            return pick<Counts::all>(weighted);
    }
}

}  // namespace

void ORDINAL_PASTE(leaf_block_, ORDINAL_ISA)(const LogitRound& round, const LogitConstants& constants,
                                             const std::int32_t* leaves, std::int64_t begin, int n,
                                             LeafRows& rows, double* sums) {
    const LeafBlock run = pick_for(round);
    run(round, constants, leaves, begin, n, rows, sums);
}

}  // namespace ordinal
