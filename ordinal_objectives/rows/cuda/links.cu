// The links: -log G(x) and its derivatives, with the formulas of ordinal_objectives/links.
//
// A struct has Mirror, the link m with G_m(x) = 1 - G(-x); kFloor, which exact curvatures are raised to;
// lower(x); and sharp(x), the curvature of a majoriser, 0 where there is none.

struct Terms {
    REAL value, slope, bend;
};

// In float or double; the others are in double.
struct Logit {
    typedef Logit Mirror;
    static constexpr double kFloor = 0.0;

    static DEVICE Terms lower(REAL x) {
        const REAL e = exp(-fabs(x));
        const REAL larger = 1 / (1 + e), smaller = e * larger;
        return {larger_of(-x, REAL(0)) + log1p(e), x >= 0 ? -smaller : -larger, smaller * larger};
    }

    static DEVICE REAL sharp(REAL x) {
        const REAL square = x * x;
        if (square < REAL(1e-4)) return REAL(0.25) - square * (REAL(1.0 / 48) - square * REAL(1.0 / 480));
        return tanh(REAL(0.5) * x) / (2 * x);
    }
};

// Phi(-t) / phi(t), and 1 / that - t, without cancellation.
struct Mills {
    double ratio, excess;
};

DEVICE Mills mills(double t) {
    if (t > 5.0) {
        double fraction = t;
        for (int level = t < 10.0 ? 30 : 16; level > 1; --level) fraction = t + level / fraction;
        return {1.0 / (t + 1.0 / fraction), 1.0 / fraction};
    }
    const double ratio = 1.2533141373155002512 * exp(0.5 * t * t) * erfc(0.70710678118654752440 * t);
    return {ratio, 1.0 / ratio - t};
}

struct Probit {
    typedef Probit Mirror;
    static constexpr double kFloor = 0.0;

    static DEVICE Terms lower(double x) {
        const Mills tail = mills(-x);
        double value;
        if (x > 0.0)
            value = -log1p(-0.5 * erfc(0.70710678118654752440 * x));
        else if (x > -5.0)
            value = -log(0.5 * erfc(-0.70710678118654752440 * x));
        else
            value = 0.5 * x * x + 0.91893853320467274178 - log(tail.ratio);
        return {REAL(value), REAL(-1.0 / tail.ratio), REAL(tail.excess / tail.ratio)};
    }

    static DEVICE REAL sharp(double) { return 1; }
};

constexpr double kLargestExponent = 700.0;  // exp of more is infinite

struct Loglog;

struct Cloglog {
    typedef Loglog Mirror;
    static constexpr double kFloor = 0.0;

    // u / (1 - exp(-u)) - 1, given ratio = u / (exp(u) - 1).
    static DEVICE double excess_over_one(double u, double ratio) {
        if (!(u < 0.25)) return u + ratio - 1.0;
        const double s = u * u;
        return 0.5 * u +
               s * (1.0 / 12 - s * (1.0 / 720 - s * (1.0 / 30240 - s * (1.0 / 1209600 - s / 47900160))));
    }

    static DEVICE Terms lower(double x) {
        const double u = exp(smaller_of(x, kLargestExponent));
        const double ratio = u < 1e-300 ? 1.0 : u / expm1(u);
        double value;
        if (u < 1e-300)
            value = -x;
        else if (u < 1.0)
            value = -(x + log(-expm1(-u) / u));
        else
            value = -log1p(-exp(-u));
        return {REAL(value), REAL(-ratio), REAL(ratio * excess_over_one(u, ratio))};
    }

    static DEVICE REAL sharp(double) { return 0; }
};

struct Loglog {
    typedef Cloglog Mirror;
    static constexpr double kFloor = 0.0;

    static DEVICE Terms lower(double x) {
        const REAL u = REAL(exp(smaller_of(-x, kLargestExponent)));
        return {u, -u, u};
    }

    static DEVICE REAL sharp(double) { return 0; }
};

struct Cauchit {
    typedef Cauchit Mirror;
    static constexpr double kFloor = 0.2343941370007245618;

    static DEVICE Terms lower(double x) {
        const double pi = 3.14159265358979323846;
        const double square = 1.0 / (1.0 + x * x);  // cos^2 of the angle atan x
        const double angle = atan2(1.0, -x);        // pi G(x)
        const double rate = square / angle;
        const double value = x > 0.0 ? -log1p(-atan2(1.0, x) / pi) : -log(angle / pi);
        return {REAL(value), REAL(-rate), REAL(rate * (rate + 2.0 * x * square))};
    }

    static DEVICE REAL sharp(double) { return REAL(0.5141347958443855761); }
};
