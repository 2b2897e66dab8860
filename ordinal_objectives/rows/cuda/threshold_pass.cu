// One pass over rows: gradient and Hessian of each, and the sums over thresholds.
//
// The rows have one score each (step = 0), or one for every threshold, one threshold after the other in
// memory (step = n). A thread keeps kRows rows and goes through the thresholds; the block adds up kGroup
// thresholds at a time.

constexpr int kGroup = kSums / 2;

// What a pass is asked for: one bit each.
constexpr int kWeighted = 1, kCosts = 2, kBeside = 4, kMajorized = 8, kLoss = 16, kColumns = 32;

// What belongs to all rows of a pass, as each kernel is given it.
struct Pass {
    Index n, step;
    int n_thresholds, asked;
    const SCORE* scores;
    const int* y;
    const float* weight;  // (n,), with kWeighted
    const double* costs;  // (n_thresholds + 1, n_thresholds), with kCosts
    const double* theta;  // (n_thresholds,)
    double low, high;     // derivatives are taken within these scores
    double limit;         // and with margins up to this

    DEVICE REAL weight_of(Index i) const { return asked & kWeighted ? weight[i] : 1.0f; }

    // What threshold k counts for a row of class y.
    DEVICE REAL share_of(int of, int k) const {
        if (asked & kBeside) return REAL(of == k || of == k + 1);
        return asked & kCosts ? REAL(costs[of * n_thresholds + k]) : REAL(1);
    }
};

// What one row says of one threshold.
struct Said {
    REAL value, slope, bend, curvature;  // the slope in the threshold; exact, and the curvature of the step
    int beyond, floored;
};

DEVICE Terms side_of(bool above, REAL x) {
    if (!above) return LINK::lower(x);
    const Terms mirror = LINK::Mirror::lower(-x);
    return {mirror.value, -mirror.slope, mirror.bend};
}

DEVICE Said say(const Pass& pass, Index i, int of, int k) {
    const double score = double(pass.scores[i + k * pass.step]);
    if (!is_number(score)) {
        const REAL none = REAL(score - score);
        return {none, none, none, none, 0, 0};
    }
    const bool above = of > k;
    const REAL distance = REAL(pass.theta[k] - score);
    REAL x = REAL(pass.theta[k] - smaller_of(larger_of(score, pass.low), pass.high));
    const REAL limit = REAL(pass.limit);
    // The side on which terms do not grow is cut in float alone, as in the CPU's lanes.
    if (above || sizeof(REAL) == sizeof(float)) x = smaller_of(x, limit);
    if (!above || sizeof(REAL) == sizeof(float)) x = larger_of(x, -limit);
    const Terms exact = side_of(above, x);
    Said said = {exact.value, exact.slope, exact.bend, exact.bend, fabs(distance) > limit, 0};
    if (x != distance && pass.asked & kLoss) said.value = side_of(above, distance).value;
    if (pass.asked & kMajorized) {
        said.curvature = LINK::sharp(x);
    } else if (exact.bend < REAL(LINK::kFloor)) {
        said.curvature = REAL(LINK::kFloor);
        said.floored = 1;
    }
    return said;
}

// Partial sums of a block, sum q of block b at q n_blocks + b: u, V, then loss, clipped rows and floored
// curvatures.
KERNEL threshold_pass(Index n, Index step, int n_thresholds, int asked, const SCORE* scores, const int* y,
                      const float* weight, const double* costs, const double* theta, double low, double high,
                      double limit, float* gradient, float* hessian, float* columns, double* partials) {
    SHARED double lanes[kSums][kThreads];
    SHARED double parts[kSums][kParts];
    PER_THREAD(int, code, kRows);
    PER_THREAD(int, beyond, kRows);
    PER_THREAD(REAL, w, kRows);
    PER_THREAD(REAL, g, kRows);
    PER_THREAD(REAL, h, kRows);
    PER_THREAD(double, whole, 2);  // loss, floored
    const Pass pass = {n, step, n_thresholds, asked, scores, y, weight, costs, theta, low, high, limit};
    const Index begin = Index(blockIdx.x) * kBlockRows;
    EACH_THREAD(t) {
        UNROLL for (int j = 0; j < kRows; ++j) {
            const Index i = begin + j * kThreads + t;
            MINE(code)[j] = i < n ? y[i] : 0;
            MINE(w)[j] = i < n ? pass.weight_of(i) : REAL(0);
            MINE(g)[j] = MINE(h)[j] = 0;
            MINE(beyond)[j] = 0;
        }
        MINE(whole)[0] = MINE(whole)[1] = 0.0;
    }
    for (int first = 0; first < n_thresholds; first += kGroup) {
        EACH_THREAD(t) {
            for (int at = 0; at < kGroup; ++at) {
                const int k = first + at;
                REAL u = 0, v = 0, loss = 0;
                UNROLL for (int j = 0; j < kRows; ++j) {
                    const Index i = begin + j * kThreads + t;
                    if (k >= n_thresholds || i >= n) continue;
                    const Said said = say(pass, i, MINE(code)[j], k);
                    const REAL share = pass.share_of(MINE(code)[j], k);
                    // Terms that do not count may be infinite, but not NaN: that is a score's.
                    const bool counts = share != 0 || said.slope != said.slope;
                    const REAL slope = counts ? MINE(w)[j] * share * said.slope : REAL(0);
                    const REAL bend = counts ? MINE(w)[j] * share * said.curvature : REAL(0);
                    u += slope;
                    v += bend;
                    MINE(g)[j] -= slope;
                    MINE(h)[j] += bend;
                    if (counts) loss += MINE(w)[j] * share * said.value;
                    if (counts) MINE(whole)[1] += said.floored;
                    MINE(beyond)[j] |= said.beyond;
                    if (asked & kColumns) {
                        columns[k * n + i] = float(-slope);
                        columns[(n_thresholds + k) * n + i] = float(bend);
                    }
                }
                lanes[2 * at][t] = u;
                lanes[2 * at + 1][t] = v;
                MINE(whole)[0] += loss;
            }
        }
        add_threads(lanes, parts);
        EACH_THREAD(t) {
            const int k = first + t / 2;
            if (t < kSums && k < n_thresholds)
                partials[Index((t % 2) * n_thresholds + k) * gridDim.x + blockIdx.x] = lanes[t][0];
        }
    }
    EACH_THREAD(t) {
        int clipped = 0;
        UNROLL for (int j = 0; j < kRows; ++j) {
            const Index i = begin + j * kThreads + t;
            clipped += MINE(beyond)[j];
            if (i < n) {
                gradient[i] = float(MINE(g)[j]);
                hessian[i] = float(MINE(h)[j]);
            }
        }
        for (int q = 0; q < kSums; ++q) lanes[q][t] = 0.0;
        lanes[0][t] = MINE(whole)[0];
        lanes[1][t] = clipped;
        lanes[2][t] = MINE(whole)[1];
    }
    add_threads(lanes, parts);
    EACH_THREAD(t) {
        if (t < 3) partials[Index(2 * n_thresholds + t) * gridDim.x + blockIdx.x] = lanes[t][0];
    }
}

// Scores whose margins at thresholds of 0 are those of each row in ascending order, which is nearly the order
// they have.
KERNEL sort_margins(Index n, int n_thresholds, const SCORE* scores, const double* theta, SCORE* sorted) {
    EACH_THREAD(t) {
        const Index i = Index(blockIdx.x) * kThreads + t;
        for (int k = 0; i < n && k < n_thresholds; ++k) {
            const SCORE minus = SCORE(double(scores[i + k * n]) - theta[k]);
            int at = k;
            for (; at > 0 && sorted[i + (at - 1) * n] < minus; --at)
                sorted[i + at * n] = sorted[i + (at - 1) * n];
            sorted[i + at * n] = minus;
        }
    }
}
