// Logit link in float32 lanes: gradient, Hessian and threshold sums of a few hundred rows at a time.
//
// With E_k = exp(theta_k - c) fixed for the round and t = exp(c - f), z = E_k t gives
// sigma(f - theta_k) = 1 / (1 + z): one exponential a row whatever the number of classes.
// The immediate-threshold loss is the same sum over the two thresholds beside the label (a mask), and the
// cumulative link with logit adds to it a term free of f (core/round_statistics.cpp).
//
// Nothing from the standard library is instantiated here: an inline function compiled with AVX-512 must
// never be the copy that the linker keeps for everyone.
#include "logit_lanes.hpp"

#define ORDINAL_PASTE_(a, b) a##b
#define ORDINAL_PASTE(a, b) ORDINAL_PASTE_(a, b)

namespace ordinal {
namespace {

constexpr int kBlock = kLaneBlock;
constexpr float kMaxDistance = 80.0f;  // exp(80) and its square's reciprocal stay inside float32
constexpr float kLog2 = 0.693147180559945f;

inline float as_float(std::int32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

inline std::int32_t as_bits(float value) {
    std::int32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float clamp(float x, float low, float high) { return x < low ? low : (x > high ? high : x); }

// |x| <= 87. Adding 1.5 * 2^23 rounds to the nearest integer, found again in the low bits.
inline float exp_lane(float x) {
    constexpr float kRound = 12582912.0f;
    const float shifted = x * 1.44269504088896f + kRound;
    const float whole = shifted - kRound;
    const float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;  // log 2 in two pieces
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p * as_float((as_bits(shifted) - as_bits(kRound) + 127) << 23);
}

// log of m 2^e for m in [1, 2), by the series of artanh around 1.
inline float log_lane(float m, std::int32_t e) {
    const bool high = m > 1.41421356f;
    m = high ? 0.5f * m : m;
    const float whole = static_cast<float>(high ? e + 1 : e);
    const float s = (m - 1.0f) / (m + 1.0f);
    const float s2 = s * s;
    const float series = 2.0f + s2 * (2.0f / 3 + s2 * (2.0f / 5 + s2 * (2.0f / 7 + s2 * (2.0f / 9))));
    return s * series + whole * kLog2;
}

struct Lanes {
    alignas(64) float score[kBlock];     // f - c
    alignas(64) float t[kBlock];         // exp(c - f)
    alignas(64) float weight[kBlock];    //
    alignas(64) float g[kBlock];         //
    alignas(64) float h[kBlock];         //
    alignas(64) float right[kBlock];     // probability of the label's side of threshold k
    alignas(64) float wrong[kBlock];     // 1 - right, without cancellation
    alignas(64) float mantissa[kBlock];  // product of `right` over the thresholds, in [1, 2) ...
    alignas(64) std::int32_t exponent[kBlock];  // ... times 2^exponent: one logarithm a row
};

struct Sums {
    float u, v;
};

// One threshold, all rows of the block. theta is relative to c, scale = exp(theta).
template <bool kMajorized, bool kMasked, bool kKeep>
Sums one_threshold(Lanes& lanes, const std::int32_t* y, int n, int k, float theta, float scale,
                   float floor_z, float ceil_z) {
    float u = 0.0f;
    float v = 0.0f;
#pragma omp simd reduction(+ : u, v)
    for (int i = 0; i < n; ++i) {
        const float z = clamp(scale * lanes.t[i], floor_z, ceil_z);
        const float d = clamp(lanes.score[i] - theta, -kMaxDistance, kMaxDistance);
        const float magnitude = d < 0.0f ? -d : d;
        const bool near = magnitude < 0.1f;
        const float safe_d = near ? 1.0f : d;
        // One division serves sigma and the majoriser (sigma - 1/2) / d.
        const float r = 1.0f / ((1.0f + z) * safe_d);
        const float sigma = r * safe_d;
        const float rest = z * sigma;
        float curvature;
        if (kMajorized) {
            const float d2 = d * d;
            const float series = 0.25f - d2 * (1.0f / 48 - d2 * (1.0f / 480 - d2 * (17.0f / 80640)));
            curvature = near ? series : 0.5f * (1.0f - z) * r;
        } else {
            curvature = sigma * rest;
        }
        const bool above = y[i] > k;
        const float wrong = above ? rest : sigma;
        float w = lanes.weight[i];
        if (kMasked) {
            const std::int32_t distance = y[i] - k;
            w = (distance == 0) | (distance == 1) ? w : 0.0f;
        }
        const float slope = w * (above ? -wrong : wrong);
        const float bend = w * curvature;
        lanes.g[i] += slope;
        lanes.h[i] += bend;
        u -= slope;
        v += bend;
        if (kKeep) {
            const float right = above ? sigma : rest;
            lanes.right[i] = kMasked ? (w > 0.0f ? right : 1.0f) : right;
            lanes.wrong[i] = wrong;
        }
    }
    return {u, v};
}

void multiply_in(Lanes& lanes, int n) {
#pragma omp simd
    for (int i = 0; i < n; ++i) {
        const std::int32_t bits = as_bits(lanes.mantissa[i] * lanes.right[i]);
        lanes.exponent[i] += (bits >> 23) - 127;
        lanes.mantissa[i] = as_float((bits & 0x7fffff) | 0x3f800000);
    }
}

float total_loss(const Lanes& lanes, int n) {
    float loss = 0.0f;
#pragma omp simd reduction(+ : loss)
    for (int i = 0; i < n; ++i) loss -= lanes.weight[i] * log_lane(lanes.mantissa[i], lanes.exponent[i]);
    return loss;
}

template <class Raw>
void load_scores(Lanes& lanes, const Raw* raw, int n, double center) {
#pragma omp simd
    for (int i = 0; i < n; ++i) {
        const float score = static_cast<float>(raw[i] - static_cast<Raw>(center));
        lanes.score[i] = score;
        lanes.t[i] = exp_lane(clamp(-score, -kMaxDistance, kMaxDistance));
    }
}

template <bool kMajorized, bool kMasked, bool kKeep>
void block(const LogitRound& round, const LogitConstants& constants, std::int64_t begin, int n,
           BlockSums& sums) {
    Lanes lanes;
    if (round.raw32)
        load_scores(lanes, round.raw32 + begin, n, constants.center);
    else
        load_scores(lanes, round.raw64 + begin, n, constants.center);
    const std::int32_t* y = round.y + begin;
    const float farthest_low = constants.highest - kMaxDistance;
    const float farthest_high = constants.lowest + kMaxDistance;
    std::int32_t clipped = 0;
#pragma omp simd reduction(+ : clipped)
    for (int i = 0; i < n; ++i) {
        lanes.weight[i] = round.weight ? round.weight[begin + i] : 1.0f;
        lanes.g[i] = 0.0f;
        lanes.h[i] = 0.0f;
        lanes.mantissa[i] = 1.0f;
        lanes.exponent[i] = 0;
        clipped += (lanes.score[i] < farthest_low) | (lanes.score[i] > farthest_high) ? 1 : 0;
    }
    const float ceil_z = exp_lane(kMaxDistance);
    const float floor_z = exp_lane(-kMaxDistance);
    for (int k = 0; k < round.n_thresholds; ++k) {
        const Sums one = one_threshold<kMajorized, kMasked, kKeep>(lanes, y, n, k, constants.theta[k],
                                                                   constants.scale[k], floor_z, ceil_z);
        sums.threshold_gradient[k] += one.u;
        sums.threshold_hessian[k] += one.v;
        if (kKeep && round.want_loss) multiply_in(lanes, n);
        if (kKeep && round.cross) {
            float* cross = round.cross + begin * round.n_thresholds + k;
            for (int i = 0; i < n; ++i) {
                const bool counts = !kMasked || y[i] == k || y[i] == k + 1;
                cross[static_cast<std::int64_t>(i) * round.n_thresholds] =
                    counts ? -lanes.weight[i] * lanes.right[i] * lanes.wrong[i] : 0.0f;
            }
        }
    }
    if (kKeep && round.want_loss) sums.loss += total_loss(lanes, n);
    sums.n_clipped += clipped;
    for (int i = 0; i < n; ++i) {
        round.gradient[begin + i] = lanes.g[i];
        round.hessian[begin + i] = lanes.h[i];
    }
}

}  // namespace

void ORDINAL_PASTE(logit_block_, ORDINAL_ISA)(const LogitRound& round, const LogitConstants& constants,
                                              std::int64_t begin, int n, BlockSums& sums) {
    using Block = void (*)(const LogitRound&, const LogitConstants&, std::int64_t, int, BlockSums&);
    static constexpr Block kBlocks[2][2][2] = {
        {{block<false, false, false>, block<false, false, true>},
         {block<false, true, false>, block<false, true, true>}},
        {{block<true, false, false>, block<true, false, true>},
         {block<true, true, false>, block<true, true, true>}}};
    const bool keep = round.want_loss || round.cross;
    kBlocks[round.majorized][round.loss != Loss::all_threshold][keep](round, constants, begin, n, sums);
}

}  // namespace ordinal
