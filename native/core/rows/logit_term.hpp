// Terms of one threshold for several rows, in float32 lanes. Like lanes.hpp, only for files that are compiled
// once for each instruction set.
#pragma once

#include "simd/lanes.hpp"

namespace ordinal {
namespace {

struct Term {
    Floats wrong;      // probability of the side without the label
    Floats right;      // 1 - wrong, without cancellation
    Floats curvature;  // majorised or exact
    Floats lean;       // 1 - 2 sigma: the exact curvature's derivative is this multiple of it
    Mask above;        // the label is above the threshold
};

// With z = exp(theta_k - f) and d = f - theta_k, so that sigma(d) = 1 / (1 + z).
template <bool kMajorized>
inline Term one_term(Floats z, Floats d, Mask above) {
    Floats sigma, curvature;
    if (kMajorized) {
        const Floats d2 = d * d;
        const Mask near = d2 < 0.01f;
        const Floats safe_d = select(near, all(1.0f), d);
        // One division gives sigma and (sigma - 1/2) / d. At d = 0 the latter is 0/0: a series is used there.
        const Floats r = reciprocal((1.0f + z) * safe_d);
        sigma = r * safe_d;
        const Floats series = 0.25f - d2 * (1.0f / 48 - d2 * (1.0f / 480));
        curvature = select(near, series, (0.5f - 0.5f * z) * r);
    } else {
        sigma = reciprocal(1.0f + z);
    }
    const Floats rest = z * sigma;
    if (!kMajorized) curvature = sigma * rest;
    return {select(above, rest, sigma), select(above, sigma, rest), curvature, rest - sigma, above};
}

// Product of the probabilities of the label's side over the thresholds, as mantissa and exponent: the loss
// takes one logarithm a row.
struct Product {
    Floats mantissa = all(1.0f);
    Ints exponent = Ints{};
    // 1 minus the product: near 1 this keeps the digits.
    Floats missing = Floats{};

    void take(Floats right, Floats wrong) {
        missing += wrong * (1.0f - missing);
        const Ints bits = reinterpret<Ints>(mantissa * right);
        exponent += (bits >> 23) - 127;
        mantissa = reinterpret<Floats>((bits & 0x7fffff) | 0x3f800000);
    }

    Floats log() const { return log_product(mantissa, exponent, missing); }
};

// Logarithm of one probability.
inline Floats log_of(Floats right, Floats wrong) {
    Product one;
    one.take(right, wrong);
    return one.log();
}

}  // namespace
}  // namespace ordinal
