// Tails of the normal distribution without cancellation: what the probit link is made of.
// The formulas are those of ordinal_objectives/links/normal_tail.py.
#pragma once

#include <algorithm>
#include <cmath>

#include "rows/link_terms.hpp"

namespace ordinal {

constexpr double kLogSqrt2Pi = 0.91893853320467274178;
constexpr double kSqrtHalfPi = 1.2533141373155002512;
constexpr double kSqrtHalf = 0.70710678118654752440;

// R(t) = Phi(-t) / phi(t), and 1 / R(t) - t.
struct MillsRatio {
    double ratio, excess;

    explicit MillsRatio(double t) {
        if (t > 5.0) {
            // 1 / (t + 2 / (t + 3 / ...)): the difference itself would cancel.
            double fraction = t;
            for (int level = t < 10.0 ? 30 : 16; level > 1; --level) fraction = t + level / fraction;
            excess = 1.0 / fraction;
            ratio = 1.0 / (t + excess);
        } else {
            ratio = kSqrtHalfPi * std::exp(0.5 * t * t) * std::erfc(kSqrtHalf * t);
            excess = 1.0 / ratio - t;
        }
    }
};

// Phi(-t) for t > 0, accurate in the tail.
inline double normal_tail(double t) { return 0.5 * std::erfc(kSqrtHalf * t); }

inline double minus_log_normal(double x) {
    if (x > 0.0) return -std::log1p(-normal_tail(x));
    if (x > -5.0) return -std::log(normal_tail(-x));
    return 0.5 * x * x + kLogSqrt2Pi - std::log(MillsRatio(-x).ratio);
}

// Gauss-Legendre sums of the density over (a, b): all terms positive, so close ends keep all digits.
inline IntervalTerms narrow_normal_interval(double a, double b) {
    constexpr double kNode[8] = {0.09501250983763744019, 0.2816035507792589132, 0.4580167776572273863,
                                 0.6178762444026437484,  0.7554044083550030339, 0.8656312023878317439,
                                 0.9445750230732325761,  0.9894009349916499326};
    constexpr double kWeight[8] = {0.1894506104550684963,  0.1826034150449235889, 0.1691565193950025382,
                                   0.1495959888165767321,  0.1246289712555338721, 0.09515851168249278481,
                                   0.06225352393864789286, 0.02715245941175409485};
    const double middle = 0.5 * (a + b);
    const double half = 0.5 * (b - a);
    double mass = 0.0;
    double moment = 0.0;
    for (int j = 0; j < 8; ++j) {
        const double step = half * kNode[j];
        const double shape = kWeight[j] * std::exp(-0.5 * step * step);
        const double tilt = std::exp(middle * step);
        const double left = shape * tilt;
        const double right = shape / tilt;
        mass += left + right;
        moment += kNode[j] * (right - left);
    }
    const double mean = moment / mass;
    const double scale = std::exp(-0.5 * half * half) / (half * mass);
    const double rate_a = std::exp(middle * half) * scale;
    const double rate_b = std::exp(-middle * half) * scale;
    return {0.5 * middle * middle + kLogSqrt2Pi - std::log(half * mass),
            rate_a,
            -rate_b,
            middle + half * mean,
            rate_a * half * (1.0 + mean),
            rate_b * half * (1.0 - mean)};
}

// Mills ratios scaled by phi(b); b is clipped to 37, where Phi(b) is 1 to 300 digits.
inline IntervalTerms wide_normal_interval(double a, double b) {
    b = std::min(b, 37.0);
    const MillsRatio at_a(-a);
    const MillsRatio at_b(-b);
    const double exponent = 0.5 * (b - a) * (a + b);
    const double decay = std::exp(exponent);
    const double shrunk = decay * at_a.ratio;
    const double mass = at_b.ratio - shrunk;
    // Divides first: the ratios reach 1e297, and their products with a large b - a would overflow.
    const double share_a = shrunk / mass;
    const double share_b = at_b.ratio / mass;
    const double value = b > 0.0 ? -std::log1p(-(normal_tail(-a) + normal_tail(b)))
                                 : 0.5 * b * b + kLogSqrt2Pi - std::log(mass);
    return {value,
            decay / mass,
            -1.0 / mass,
            std::expm1(exponent) / mass,
            decay / mass * (share_b * ((b - a) - at_b.excess) + share_a * at_a.excess),
            (share_b * at_b.excess - share_a * (at_a.excess + (b - a))) / mass};
}

}  // namespace ordinal
