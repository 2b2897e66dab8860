// Counters for benchmarks: when each parallel region began and ended, and the seconds of each of its tasks.
// With ORDINAL_REGION_TIMES set, when the module is loaded, a region runs its tasks one after another on the
// calling thread, parted as for the threads that were asked for: what these would take is computed from the
// tasks. Otherwise a region looks at one pointer.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

namespace ordinal {

struct Region {
    const char* phase = "";
    bool shared = false;            // among threads; else the caller alone does it, since it is little
    double begin = 0.0, end = 0.0;  // seconds that the calling thread has run, as Python's time.thread_time
    std::vector<float> tasks;       // seconds
};

class RegionTimes {
  public:
    // Null unless they are asked for.
    static RegionTimes* asked() {
        static RegionTimes* const times = std::getenv("ORDINAL_REGION_TIMES") ? new RegionTimes : nullptr;
        return times;
    }

    // Calls task(i) for every i in [0, n).
    template <class Task>
    void run(const char* phase, std::int64_t n, bool shared, const Task& task) {
        Region region;
        region.phase = phase;
        region.shared = shared && n > 1;
        region.tasks.reserve(static_cast<std::size_t>(n));
        region.begin = region.end = now();
        for (std::int64_t i = 0; i < n; ++i) {
            task(i);
            const double after = now();
            region.tasks.push_back(static_cast<float>(after - region.end));
            region.end = after;
        }
        std::lock_guard<std::mutex> lock(mutex_);
        regions_.push_back(std::move(region));
    }

    // Those since the last call.
    std::vector<Region> take() {
        std::lock_guard<std::mutex> lock(mutex_);
        return std::exchange(regions_, {});
    }

  private:
    // Of the thread, so that other work on the machine does not count.
    static double now() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
#else
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
    }

    std::mutex mutex_;
    std::vector<Region> regions_;
};

}  // namespace ordinal
