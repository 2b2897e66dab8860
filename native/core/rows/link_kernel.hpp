// The links in scalar float64, with the formulas of ordinal_objectives/links.
//
// Each link is a struct of static functions:
//   kName                    its name in Python
//   lower<kValue>(x)         -log G(x) and its derivatives; the value only if kValue
//   interval<kValue>(a, b)   -log[G(b) - G(a)] and its derivatives, a < b finite
//   sharp_curvature(d)       curvature of a majoriser, for links with kMajorizes
// with kFloor (the curvature that `exact` does not go below), kLimit (larger arguments are clipped to it,
// because exp overflows) and Mirror, the link m with G_m(x) = 1 - G(-x). To add a link: one struct here, in
// the list `Links` at the end too, and one class in ordinal_objectives/links, with a line in its __init__.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "rows/link_terms.hpp"
#include "rows/normal_tail.hpp"
#include "rows/round.hpp"

namespace ordinal {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct LogitLink {
    static constexpr const char* kName = "logit";
    using Mirror = LogitLink;
    static constexpr bool kMajorizes = true;
    static constexpr double kFloor = 0.0;
    static constexpr double kLimit = kNoLimit;

    template <bool kValue>
    static PairTerms lower(double x) {
        const double e = std::exp(-std::abs(x));
        const double larger = 1.0 / (1.0 + e);
        const double smaller = e * larger;
        return {kValue ? std::max(-x, 0.0) + std::log1p(e) : 0.0, x >= 0.0 ? -smaller : -larger,
                smaller * larger};
    }

    template <bool kValue>
    static IntervalTerms interval(double a, double b) {
        // G(b) - G(a) = G(b) (1 - G(a)) (1 - exp(a - b)): two thresholds and a gap that no shift changes.
        const double share = -std::expm1(a - b);
        const double pull = std::exp(a - b) / share;
        const PairTerms below = lower<kValue>(b);
        const PairTerms above = lower<kValue>(-a);
        return {kValue ? below.value + above.value - std::log(share) : 0.0,
                pull - above.slope,
                below.slope - pull,
                below.slope - above.slope,
                above.bend,
                below.bend};
    }

    static double sharp_curvature(double d) {
        const double d2 = d * d;
        if (d2 < 1e-4) return 0.25 - d2 * (1.0 / 48 - d2 * (1.0 / 480));
        return std::tanh(0.5 * d) / (2.0 * d);
    }
};

struct ProbitLink {
    static constexpr const char* kName = "probit";
    using Mirror = ProbitLink;
    static constexpr bool kMajorizes = true;
    static constexpr double kFloor = 0.0;
    static constexpr double kLimit = kNoLimit;

    template <bool kValue>
    static PairTerms lower(double x) {
        const MillsRatio tail(-x);
        return {kValue ? minus_log_normal(x) : 0.0, -1.0 / tail.ratio, tail.excess / tail.ratio};
    }

    template <bool kValue>
    static IntervalTerms interval(double a, double b) {
        // Reflected so that the midpoint is not positive: the left tail is the one with small numbers.
        if (a + b > 0.0) return mirrored(interval<kValue>(-b, -a));
        const bool narrow = (b - a) * std::max(1.0, -0.5 * (a + b)) <= 2.0;
        return narrow ? narrow_normal_interval(a, b) : wide_normal_interval(a, b);
    }

    static double sharp_curvature(double) { return 1.0; }
};

// u / (1 - exp(-u)) - 1 for u >= 0, given ratio = u / (exp(u) - 1).
inline double excess_over_one(double u, double ratio) {
    if (!(u < 0.25)) return u + ratio - 1.0;
    const double s = u * u;
    return 0.5 * u +
           s * (1.0 / 12 - s * (1.0 / 720 - s * (1.0 / 30240 - s * (1.0 / 1209600 - s / 47900160))));
}

struct LoglogLink;

struct CloglogLink {
    static constexpr const char* kName = "cloglog";
    using Mirror = LoglogLink;
    static constexpr bool kMajorizes = false;
    static constexpr double kFloor = 0.0;
    static constexpr double kLimit = 700.0;

    // u / (exp(u) - 1), 1 at 0.
    static double ratio(double u) { return u < 1e-300 ? 1.0 : u / std::expm1(u); }

    // -log(1 - exp(-u)), given log u.
    static double minus_log_share(double u, double log_u) {
        if (u < 1e-300) return -log_u;
        if (u < 1.0) return -(log_u + std::log(-std::expm1(-u) / u));
        return -std::log1p(-std::exp(-u));
    }

    template <bool kValue>
    static PairTerms lower(double x) {
        const double u = std::exp(std::min(x, kLimit));
        const double r = ratio(u);
        return {kValue ? minus_log_share(u, x) : 0.0, -r, r * excess_over_one(u, r)};
    }

    template <bool kValue>
    static IntervalTerms interval(double a, double b) {
        // With A = exp(a) and D = exp(b) - exp(a): -log P = A - log(1 - exp(-D)).
        const double share = -std::expm1(a - b);
        const double start = std::exp(std::min(a, kLimit));
        const double log_width = std::min(b + std::log(share), kLimit);
        const double width = std::exp(log_width);
        const double r = ratio(width);
        const double d_upper = -r / share;
        const double d_lower = start + r * std::exp(a - b) / share;
        const double excess = excess_over_one(width, r);
        return {
            kValue ? start + minus_log_share(width, log_width) : 0.0, d_lower,          d_upper, start - r,
            d_lower * (width < 0.25 ? width - excess : 1.0 - r),      -d_upper * excess};
    }
};

struct LoglogLink {
    static constexpr const char* kName = "loglog";
    using Mirror = CloglogLink;
    static constexpr bool kMajorizes = false;
    static constexpr double kFloor = 0.0;
    static constexpr double kLimit = CloglogLink::kLimit;

    template <bool kValue>
    static PairTerms lower(double x) {
        const double u = std::exp(std::min(-x, kLimit));
        return {u, -u, u};
    }

    template <bool kValue>
    static IntervalTerms interval(double a, double b) {
        return mirrored(CloglogLink::interval<kValue>(-b, -a));
    }
};

struct CauchitLink {
    static constexpr const char* kName = "cauchit";
    using Mirror = CauchitLink;
    static constexpr bool kMajorizes = true;
    static constexpr double kFloor = 0.2343941370007245618;
    static constexpr double kLimit = kNoLimit;
    static constexpr double kPi = 3.14159265358979323846;

    template <bool kValue>
    static PairTerms lower(double x) {
        const double square = 1.0 / (1.0 + x * x);  // cos^2 of the angle atan x
        const double angle = std::atan2(1.0, -x);   // pi G(x)
        const double rate = square / angle;
        double value = 0.0;
        if (kValue) value = x > 0.0 ? -std::log1p(-std::atan2(1.0, x) / kPi) : -std::log(angle / kPi);
        return {value, -rate, rate * (rate + 2.0 * x * square)};
    }

    template <bool kValue>
    static IntervalTerms interval(double a, double b) {
        // Everything is a function of the sum and the difference of the angles atan a and atan b.
        const double cos_a = 1.0 / std::sqrt(1.0 + a * a);
        const double cos_b = 1.0 / std::sqrt(1.0 + b * b);
        const double product = (a * cos_a) * (b * cos_b);
        const double sin_gap = (b - a) * cos_b * cos_a;
        const double cos_gap = cos_a * cos_b + product;
        const double gap = std::atan2(sin_gap, cos_gap);
        const double sin_sum = (a * cos_a) * cos_b + (b * cos_b) * cos_a;
        const double cos_sum = cos_a * cos_b - product;
        const double g2 = gap * gap;
        const double bend = gap < 0.1 ? g2 * (1.0 / 3 - g2 * (1.0 / 30 - g2 * (1.0 / 840 - g2 / 45360)))
                                      : sin_gap / gap - cos_gap;
        const double d_lower = cos_a * cos_a / gap;
        const double d_upper = -cos_b * cos_b / gap;
        double value = 0.0;
        if (kValue) {
            const double outside = std::atan2(1.0, -a) + std::atan2(1.0, b);
            value = gap > 0.5 * kPi ? -std::log1p(-outside / kPi) : -std::log(gap / kPi);
        }
        return {value,
                d_lower,
                d_upper,
                sin_sum * (sin_gap / gap),
                d_lower * (sin_sum * bend + cos_sum * sin_gap),
                d_upper * (sin_sum * bend - cos_sum * sin_gap)};
    }

    static double sharp_curvature(double) { return 0.5141347958443855761; }
};

// -log(1 - G(x)).
template <class L, bool kValue>
PairTerms upper(double x) {
    const PairTerms mirror = L::Mirror::template lower<kValue>(-x);
    return {mirror.value, -mirror.slope, mirror.bend};
}

template <class... L>
struct LinkList {};

// A link's place in this list is the code that Python asks for and hands back.
using Links = LinkList<LogitLink, ProbitLink, CloglogLink, LoglogLink, CauchitLink>;

// Runs a function template over the link of a code: Run<L>::with(arguments...).
template <template <class> class Run, class First, class... Rest, class... Arguments>
auto with_link_of(LinkList<First, Rest...>, int code, Arguments&&... arguments)
    -> decltype(Run<First>::with(arguments...)) {
    if constexpr (sizeof...(Rest) > 0) {
        if (code > 0) return with_link_of<Run>(LinkList<Rest...>{}, code - 1, arguments...);
    }
    return Run<First>::with(arguments...);
}

template <template <class> class Run, class... Arguments>
auto with_link(Link link, Arguments&&... arguments) -> decltype(with_link_of<Run>(Links{}, 0, arguments...)) {
    return with_link_of<Run>(Links{}, static_cast<int>(link), arguments...);
}

}  // namespace ordinal
