// What the kernels ask of the machine. A kernel is a block of kThreads threads that work in phases.
//
// - EACH_THREAD(t) { ... } is a phase: every thread runs it with its own number t, then all wait for each
//   other.
// - PER_THREAD(type, name, size) is an array that a thread keeps from phase to phase, and MINE(name) is its
//   own.
// - UNROLL stands before a loop over such arrays. They lie in registers where terms are float; in double the
//   compiler would take too long for the code of so many terms.
// - SHARED is an array that all threads of a block see.
//
// So no barrier can be forgotten, and a C++ compiler runs the same text thread by thread, with other meanings
// of these names (tests/cuda_on_cpu.hpp). NVRTC has no standard headers: nothing is included here.
//
// The compiler is told LINK (one of the structs of links.cu), REAL (float or double: what the terms are
// computed in) and SCORE (float or double: what the scores are).

constexpr int kThreads = 256;
constexpr int kRows = 4;  // of a thread
constexpr int kBlockRows = kRows * kThreads;

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#define DEVICE __device__ inline
#define SHARED __shared__
#define PER_THREAD(type, name, size) type name[size]
#define MINE(name) name
#define UNROLL _Pragma("unroll (sizeof(REAL) == sizeof(float) ? kRows : 1)")
#define EACH_THREAD(t) for (int t = threadIdx.x, once_ = 1; once_; __syncthreads(), once_ = 0)
#endif

typedef long long Index;

DEVICE bool is_number(double x) { return x - x == 0.0; }

template <class Real>
DEVICE Real smaller_of(Real a, Real b) {
    return a < b ? a : b;
}

template <class Real>
DEVICE Real larger_of(Real a, Real b) {
    return a > b ? a : b;
}

// The larger one, and NaN if either is.
DEVICE double worse_of(double a, double b) { return a >= b || a != a ? a : b; }

constexpr int kSums = 16;  // that a block adds up together
constexpr int kParts = kThreads / kSums;

// Adds up each of kSums numbers of all threads, always in the same order; lanes[q][0] is the sum of number q.
DEVICE void add_threads(double (*lanes)[kThreads], double (*parts)[kParts]) {
    EACH_THREAD(t) {
        const int q = t / kParts, part = t % kParts;
        double total = 0.0;
        for (int i = part; i < kThreads; i += kParts) total += lanes[q][i];
        parts[q][part] = total;
    }
    EACH_THREAD(t) {
        if (t < kSums) {
            double total = 0.0;
            for (int part = 0; part < kParts; ++part) total += parts[t][part];
            lanes[t][0] = total;
        }
    }
}

// Block b combines cell b of all parts, always in the same order: their sum, or the worst of them.
KERNEL combine(int n_parts, Index part_step, Index cell_step, int worst, const double* parts, double* cells) {
    SHARED double lanes[kThreads];
    EACH_THREAD(t) {
        const double* cell = parts + blockIdx.x * cell_step;
        double total = 0.0;
        for (int p = t; p < n_parts; p += kThreads) {
            const double part = cell[p * part_step];
            total = worst ? worse_of(total, part) : total + part;
        }
        lanes[t] = total;
    }
    for (int width = kThreads / 2; width > 0; width /= 2) {
        EACH_THREAD(t) {
            if (t < width) {
                const double other = lanes[t + width];
                lanes[t] = worst ? worse_of(lanes[t], other) : lanes[t] + other;
            }
        }
    }
    EACH_THREAD(t) {
        if (t == 0) cells[blockIdx.x] = lanes[0];
    }
}
