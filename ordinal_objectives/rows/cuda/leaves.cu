// Leaves of rows, sums over the rows of each leaf, and scores with a tree more.
//
// A block takes kBlockRows rows, sorts them by leaf, and adds up runs of one leaf: parts of kWindow rows by
// one thread each, then these parts, always in one order. It goes on with other rows and adds to the same
// cells. Which block has which rows depends on their number alone.

constexpr int kWindow = 16;
constexpr int kSide = 4;  // columns that are added up together
constexpr int kPadded = kBlockRows + kBlockRows / kWindow + 1;
constexpr unsigned kNoRow = 0xffffffffu;
constexpr int kPlaces = 1024;  // a key is leaf * kPlaces + row

static_assert(kPlaces == kBlockRows, "a key holds a row of a block");
static_assert(kThreads == kSide * kBlockRows / kWindow, "each thread has a window and a column");

// What is added up: the weights; gradient, Hessian and minus each exact curvature; or each threshold's
// gradient in the score and its curvature, side by side.
constexpr int kOfWeights = 0, kOfRows = 1;

// Windows begin in different banks of the memory.
DEVICE int padded(int place) { return place + place / kWindow; }

DEVICE void sort_keys(unsigned* keys) {
    for (int size = 2; size <= kBlockRows; size *= 2) {
        for (int distance = size / 2; distance > 0; distance /= 2) {
            EACH_THREAD(t) {
                for (int pair = t; pair < kBlockRows / 2; pair += kThreads) {
                    const int a = 2 * pair - pair % distance, b = a + distance;
                    const unsigned low = smaller_of(keys[a], keys[b]), high = larger_of(keys[a], keys[b]);
                    const bool rises = (a & size) == 0;
                    keys[a] = rises ? low : high;
                    keys[b] = rises ? high : low;
                }
            }
        }
    }
}

DEVICE double of_leaf(const Pass& pass, int what, int column, Index i, const float* gradient,
                      const float* hessian) {
    if (what == kOfWeights) return pass.weight_of(i);
    if (what == kOfRows && column < 2) return column == 0 ? gradient[i] : hessian[i];
    const int k = what == kOfRows ? column - 2 : column / 2;
    const REAL share = pass.share_of(pass.y[i], k);
    if (share == 0) return 0.0;
    const Said said = say(pass, i, pass.y[i], k);
    const REAL value = what == kOfRows ? -said.bend : column % 2 ? said.curvature : -said.slope;
    return pass.weight_of(i) * share * value;
}

// Cell (leaf, column) of block b is added to cells[b (n_leaves n_columns + 1) + leaf n_columns + column],
// which must be 0 before; the last one counts rows whose leaf does not exist.
KERNEL leaf_sums(Index n, Index step, int n_thresholds, int asked, const SCORE* scores, const int* y,
                 const float* weight, const double* costs, const double* theta, double low, double high,
                 double limit, const float* gradient, const float* hessian, const int* leaves, int n_leaves,
                 int what, int n_columns, double* cells) {
    SHARED unsigned keys[kBlockRows];
    SHARED double values[kSide][kPadded];
    SHARED double wrong[kThreads];
    const Pass pass = {n, step, n_thresholds, asked, scores, y, weight, costs, theta, low, high, limit};
    double* mine = cells + blockIdx.x * (Index(n_leaves) * n_columns + 1);
    EACH_THREAD(t) { wrong[t] = 0.0; }
    for (Index begin = Index(blockIdx.x) * kBlockRows; begin < n; begin += Index(gridDim.x) * kBlockRows) {
        EACH_THREAD(t) {
            for (int place = t; place < kBlockRows; place += kThreads) {
                const int leaf = begin + place < n ? leaves[begin + place] : 0;
                const bool exists = leaf >= 0 && leaf < n_leaves;
                if (!exists) wrong[t] += 1.0;
                keys[place] = exists && begin + place < n ? unsigned(leaf) * kPlaces + place : kNoRow;
            }
        }
        sort_keys(keys);
        for (int first = 0; first < n_columns; first += kSide) {
            EACH_THREAD(t) {
                for (int place = t; place < kBlockRows; place += kThreads) {
                    const Index i = begin + keys[place] % kPlaces;
                    for (int c = 0; c < kSide; ++c)
                        values[c][padded(place)] = keys[place] != kNoRow && first + c < n_columns
                                                       ? of_leaf(pass, what, first + c, i, gradient, hessian)
                                                       : 0.0;
                }
            }
            // The first place of each run, within a window, gets its sum.
            EACH_THREAD(t) {
                double* column = values[t % kSide];
                const int window = t / kSide * kWindow;
                for (int place = window + kWindow - 1; place > window; --place)
                    if (keys[place] / kPlaces == keys[place - 1] / kPlaces)
                        column[padded(place - 1)] += column[padded(place)];
            }
            EACH_THREAD(t) {
                const int c = t % kSide, window = t / kSide * kWindow;
                for (int place = window; place < window + kWindow; ++place) {
                    const unsigned leaf = keys[place] / kPlaces;
                    const bool starts = place == 0 || keys[place - 1] / kPlaces != leaf;
                    if (!starts || keys[place] == kNoRow || first + c >= n_columns) continue;
                    double total = values[c][padded(place)];
                    for (int next = window + kWindow; next < kBlockRows; next += kWindow) {
                        if (keys[next] / kPlaces != leaf) break;
                        total += values[c][padded(next)];
                    }
                    mine[leaf * Index(n_columns) + first + c] += total;
                }
            }
        }
    }
    EACH_THREAD(t) {
        if (t == 0) {
            double total = 0.0;
            for (int i = 0; i < kThreads; ++i) total += wrong[i];
            mine[Index(n_leaves) * n_columns] = total;
        }
    }
}

// The leaf whose value, of ascending ones, is closest to the change of each score. Of block b: the worst
// distance from it at b, the largest score at n_blocks + b.
KERNEL match_leaves(Index n, int n_leaves, const SCORE* before, const SCORE* after, const double* values,
                    const int* order, int* leaves, double* partials) {
    SHARED double lanes[2][kThreads];
    EACH_THREAD(t) {
        double error = 0.0, largest = 0.0;
        for (int j = 0; j < kRows; ++j) {
            const Index i = Index(blockIdx.x) * kBlockRows + j * kThreads + t;
            if (i >= n) continue;
            const double now = double(after[i]), change = now - double(before[i]);
            int low = 0, high = n_leaves - 1;
            while (low < high) {
                const int middle = (low + high) / 2;
                if (0.5 * (values[middle] + values[middle + 1]) < change)
                    low = middle + 1;
                else
                    high = middle;
            }
            leaves[i] = order[low];
            error = worse_of(error, fabs(change - values[low]));
            largest = worse_of(largest, fabs(now));
        }
        lanes[0][t] = error;
        lanes[1][t] = largest;
    }
    for (int width = kThreads / 2; width > 0; width /= 2) {
        EACH_THREAD(t) {
            for (int q = 0; q < 2 && t < width; ++q) lanes[q][t] = worse_of(lanes[q][t], lanes[q][t + width]);
        }
    }
    EACH_THREAD(t) {
        if (t < 2) partials[Index(t) * gridDim.x + blockIdx.x] = lanes[t][0];
    }
}

// Scores, one column after the other, with the value of each row's leaf in each column, (n_columns,
// n_leaves).
KERNEL move_scores(Index n, int n_columns, int n_leaves, const SCORE* from, const int* leaves,
                   const SCORE* values, SCORE* to) {
    EACH_THREAD(t) {
        const Index i = Index(blockIdx.x) * kThreads + t;
        for (int k = 0; i < n && k < n_columns; ++k)
            to[i + k * n] = from[i + k * n] + values[Index(k) * n_leaves + leaves[i]];
    }
}
