// Logit link in float32 lanes: the cross terms of a few hundred rows at a time, added up by leaf.
#include "rows/logit_lanes.hpp"
#include "simd/lanes.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

constexpr int kTile = LeafRows::kTile, kStride = LeafRows::kStride;

template <bool kMasked, bool kWeighted>
void bends_of(LeafRows& rows, float scale, std::int32_t k, int n_padded, float* to) {
    for (int i = 0; i < n_padded; i += kLanes) {
        const Floats z = scale * load(rows.t + i);
        const Floats sigma = reciprocal(1.0f + z);
        Floats bend = sigma * (z * sigma);
        if (kWeighted) bend *= load(rows.weight + i);
        if (kMasked) {
            const Ints y = load(rows.y + i);
            bend = select((y == k) | (y == k + 1), bend, Floats{});
        }
        store(to + i, bend);
    }
}

template <bool kMasked, bool kWeighted>
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
    __builtin_memcpy(rows.y, round.y + begin, n_bytes);
    if (kWeighted) __builtin_memcpy(rows.weight, round.weight + begin, n_bytes);
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
            bends_of<kMasked, kWeighted>(rows, constants.scale[first + k], first + k, n_padded,
                                         rows.bend + k * kStride);
        for (int i = 0; i < n; ++i) {
            double* cross = sums + static_cast<std::int64_t>(leaves[begin + i]) * width + 2 + first;
            for (int k = 0; k < n_tile; ++k) cross[k] -= rows.bend[k * kStride + i];
        }
    }
}

}  // namespace

void ORDINAL_PASTE(leaf_block_, ORDINAL_ISA)(const LogitRound& round, const LogitConstants& constants,
                                             const std::int32_t* leaves, std::int64_t begin, int n,
                                             LeafRows& rows, double* sums) {
    const bool masked = round.loss != Loss::all_threshold;
    const LeafBlock run = round.weight ? (masked ? block<true, true> : block<false, true>)
                                       : (masked ? block<true, false> : block<false, false>);
    run(round, constants, leaves, begin, n, rows, sums);
}

}  // namespace ordinal
