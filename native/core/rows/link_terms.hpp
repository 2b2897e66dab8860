// Terms of a link for one row and one threshold, or one row and the two thresholds beside its class.
#pragma once

namespace ordinal {

// -log G(x) with its first and second derivative.
struct PairTerms {
    double value, slope, bend;
};

// -log[G(b) - G(a)] and its derivatives. Those along the common shift of a and b are
// computed directly: as differences of larger terms they would lose all digits between close thresholds.
struct IntervalTerms {
    double value, d_lower, d_upper, d_shift, d_lower_shift, d_upper_shift;

    double d_cross() const { return d_lower * d_upper; }
    double d_lower2() const { return d_lower_shift - d_cross(); }
    double d_upper2() const { return d_upper_shift - d_cross(); }
};

// The same interval seen from a link m with G_m(x) = 1 - G(-x).
inline IntervalTerms mirrored(const IntervalTerms& t) {
    return {t.value, -t.d_upper, -t.d_lower, -t.d_shift, t.d_upper_shift, t.d_lower_shift};
}

}  // namespace ordinal
