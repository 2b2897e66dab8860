// Logit link in float32 lanes: gradient, Hessian and threshold sums of a few hundred rows at a time.
//
// With E_k = exp(theta_k - c) fixed for the round and t = exp(c - f), z = E_k t gives
// sigma(f - theta_k) = 1 / (1 + z): one exponential a row whatever the number of classes.
// The immediate-threshold loss is the same sum over the two thresholds beside the label (a mask), and the
// cumulative link with logit adds to it a term free of f (core/round_statistics.cpp).
#include "logit_lanes.hpp"

#include "lanes.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

constexpr int kBlock = kLaneBlock;
// Thresholds whose sums stay in the first-level cache together; most models need one tile.
constexpr int kTile = 32;

struct Rows {
    alignas(64) float score[kBlock];  // f - c, clipped
    alignas(64) float t[kBlock];      // exp(c - f)
    alignas(64) float weight[kBlock];
    alignas(64) std::int32_t y[kBlock];
    alignas(64) float g[kBlock];
    alignas(64) float h[kBlock];
    // Product of the probabilities of the label's side over the thresholds, as mantissa and exponent: the
    // loss takes one logarithm a row.
    alignas(64) float mantissa[kBlock];
    alignas(64) std::int32_t exponent[kBlock];
};

// What one threshold says of kLanes rows.
struct Term {
    Floats wrong;      // probability of the side without the label
    Floats right;      // 1 - wrong, without cancellation
    Floats curvature;  // majorised or exact
    Mask above;        // the label is above the threshold
};

template <bool kMajorized>
inline Term one_term(Floats score, Floats t, Ints y, std::int32_t k, float theta, float scale) {
    const Floats z = scale * t;
    Floats sigma, curvature;
    if (kMajorized) {
        const Floats d = score - theta;
        const Floats d2 = d * d;
        const Mask near = d2 < 0.01f;
        const Floats safe_d = select(near, all(1.0f), d);
        // One division serves sigma and (sigma - 1/2) / d, which is 0/0 in the middle: a series there.
        const Floats r = reciprocal((1.0f + z) * safe_d);
        sigma = r * safe_d;
        const Floats series = 0.25f - d2 * (1.0f / 48 - d2 * (1.0f / 480));
        curvature = select(near, series, (0.5f - 0.5f * z) * r);
    } else {
        sigma = reciprocal(1.0f + z);
    }
    const Floats rest = z * sigma;
    if (!kMajorized) curvature = sigma * rest;
    const Mask above = y > k;
    return {select(above, rest, sigma), select(above, sigma, rest), curvature, above};
}

template <bool kMajorized, bool kMasked, bool kWeighted, bool kKeep>
void one_tile(const LogitRound& round, const LogitConstants& constants, Rows& rows, int n_padded, int first,
              int last, std::int64_t begin, int n, BlockSums& sums) {
    Floats u[kTile];
    Floats v[kTile];
    for (int k = first; k < last; ++k) u[k - first] = v[k - first] = Floats{};
    for (int i = 0; i < n_padded; i += kLanes) {
        const Floats score = load(rows.score + i);
        const Floats t = load(rows.t + i);
        const Ints y = load(rows.y + i);
        const Floats weight = kWeighted ? load(rows.weight + i) : Floats{};
        Floats g = load(rows.g + i);
        Floats h = load(rows.h + i);
        Floats mantissa = kKeep ? load(rows.mantissa + i) : Floats{};
        Ints exponent = kKeep ? load(rows.exponent + i) : Ints{};
        for (int k = first; k < last; ++k) {
            const Term term = one_term<kMajorized>(score, t, y, k, constants.theta[k], constants.scale[k]);
            Floats slope = select(term.above, -term.wrong, term.wrong);
            Floats bend = term.curvature;
            if (kWeighted) {
                slope *= weight;
                bend *= weight;
            }
            const Mask beside = kMasked ? ((y == k) | (y == k + 1)) : (y == y);
            if (kMasked) {
                slope = select(beside, slope, Floats{});
                bend = select(beside, bend, Floats{});
            }
            g += slope;
            h += bend;
            u[k - first] += slope;
            v[k - first] += bend;
            if (kKeep) {
                const Floats right = kMasked ? select(beside, term.right, all(1.0f)) : term.right;
                const Ints bits = reinterpret<Ints>(mantissa * right);
                exponent += (bits >> 23) - 127;
                mantissa = reinterpret<Floats>((bits & 0x7fffff) | 0x3f800000);
                if (round.cross) {
                    Floats cross = -(term.right * term.wrong);
                    if (kWeighted) cross *= weight;
                    if (kMasked) cross = select(beside, cross, Floats{});
                    for (int lane_index = 0; lane_index < kLanes && i + lane_index < n; ++lane_index)
                        round.cross[(begin + i + lane_index) * round.cross_step + k] =
                            lane(cross, lane_index);
                }
            }
        }
        store(rows.g + i, g);
        store(rows.h + i, h);
        if (kKeep) {
            store(rows.mantissa + i, mantissa);
            store(rows.exponent + i, exponent);
        }
    }
    for (int k = first; k < last; ++k) {
        sums.threshold_gradient[k] -= sum(u[k - first]);
        sums.threshold_hessian[k] += sum(v[k - first]);
    }
}

// Plain loops: the compiler makes vectors of them.
template <class Raw>
int load_scores(Rows& rows, const Raw* raw, int n, double center, float lowest, float highest) {
    int clipped = 0;
    const Raw shift = static_cast<Raw>(center);
#pragma omp simd reduction(+ : clipped)
    for (int i = 0; i < n; ++i) {
        const float score = static_cast<float>(raw[i] - shift);
        const float inside = score < lowest ? lowest : (score > highest ? highest : score);
        clipped += inside != score;
        rows.score[i] = inside;
    }
    return clipped;
}

template <bool kMajorized, bool kMasked, bool kWeighted, bool kKeep>
void block(const LogitRound& round, const LogitConstants& constants, std::int64_t begin, int n,
           BlockSums& sums) {
    Rows rows;
    const int n_padded = (n + kLanes - 1) / kLanes * kLanes;
    int clipped = round.raw32 ? load_scores(rows, round.raw32 + begin, n, constants.center,
                                            constants.lowest_score, constants.highest_score)
                              : load_scores(rows, round.raw64 + begin, n, constants.center,
                                            constants.lowest_score, constants.highest_score);
    sums.n_clipped += clipped;
    const unsigned n_bytes = static_cast<unsigned>(n) * sizeof(float);
    __builtin_memcpy(rows.y, round.y + begin, n_bytes);
    if (round.weight) __builtin_memcpy(rows.weight, round.weight + begin, n_bytes);
    for (int i = 0; i < n_padded; i += kLanes) {
        store(rows.g + i, Floats{});
        store(rows.h + i, Floats{});
        if (kWeighted && !round.weight) store(rows.weight + i, all(1.0f));
        if (kKeep) {
            store(rows.mantissa + i, all(1.0f));
            store(rows.exponent + i, Ints{});
        }
    }
    for (int i = n; i < n_padded; ++i) {
        rows.score[i] = rows.weight[i] = 0.0f;
        rows.y[i] = 0;
    }
    for (int i = 0; i < n_padded; i += kLanes) store(rows.t + i, exp(-load(rows.score + i)));
    for (int first = 0; first < round.n_thresholds; first += kTile) {
        const int last = first + kTile < round.n_thresholds ? first + kTile : round.n_thresholds;
        one_tile<kMajorized, kMasked, kWeighted, kKeep>(round, constants, rows, n_padded, first, last, begin,
                                                        n, sums);
    }
    if (kKeep && round.want_loss) {
        Floats loss = Floats{};
        for (int i = 0; i < n_padded; i += kLanes) {
            const Floats log = log_scaled(load(rows.mantissa + i), load(rows.exponent + i));
            loss -= kWeighted ? load(rows.weight + i) * log : log;
        }
        sums.loss += sum(loss);
    }
    __builtin_memcpy(round.gradient + begin, rows.g, n_bytes);
    __builtin_memcpy(round.hessian + begin, rows.h, n_bytes);
    if (round.beside) {
        for (int i = 0; i < n; ++i) {
            float* row = round.beside + (begin + i) * round.cross_step;
            row[0] = rows.g[i];
            row[1] = rows.h[i];
        }
    }
}

using Block = void (*)(const LogitRound&, const LogitConstants&, std::int64_t, int, BlockSums&);

template <bool kMajorized, bool kMasked>
Block pick(bool weighted, bool keep) {
    if (weighted)
        return keep ? block<kMajorized, kMasked, true, true> : block<kMajorized, kMasked, true, false>;
    return keep ? block<kMajorized, kMasked, false, true> : block<kMajorized, kMasked, false, false>;
}

}  // namespace

void ORDINAL_PASTE(logit_block_, ORDINAL_ISA)(const LogitRound& round, const LogitConstants& constants,
                                              std::int64_t begin, int n, BlockSums& sums) {
    // A last, partly filled vector is padded with rows of weight 0.
    const bool weighted = round.weight || n % kLanes != 0;
    const bool keep = round.want_loss || round.cross;
    const bool masked = round.loss != Loss::all_threshold;
    const Block run = round.majorized
                          ? (masked ? pick<true, true>(weighted, keep) : pick<true, false>(weighted, keep))
                          : (masked ? pick<false, true>(weighted, keep) : pick<false, false>(weighted, keep));
    run(round, constants, begin, n, sums);
}

}  // namespace ordinal
