// Counters for benchmarks: what each parallel region took, and each of its tasks. They are asked for by the
// variable ORDINAL_REGION_TIMES, when the module is loaded. "1": a region runs its tasks one after another on
// the calling thread, parted as for the threads that were asked for: what these would take is computed from
// the tasks. "threads": regions run as ever, and who has worked is counted. Without it a region looks at one
// pointer.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

namespace ordinal {

struct Region {
    const char* phase = "";
    int threads = 1;                // that worked; in turn: at most so many would
    double begin = 0.0, end = 0.0;  // seconds that the calling thread has run, as Python's time.thread_time
    double wall = 0.0;              // seconds from begin to end
    std::vector<float> tasks;       // seconds of the processor
};

class RegionTimes {
  public:
    // Null unless they are asked for.
    static RegionTimes* asked() {
        static RegionTimes* const times = std::getenv("ORDINAL_REGION_TIMES") ? new RegionTimes : nullptr;
        return times;
    }

    // Whether regions run their tasks one after another.
    static bool in_turn() { return asked() && asked()->in_turn_; }

    // Calls task(i, thread) for every i in [0, n). share(work) calls work(i, thread) for them, on several
    // threads if it likes: `most` of them, the caller says.
    template <class Task, class Share>
    void run(const char* phase, std::int64_t n, int most, const Task& task, const Share& share) {
        Region region;
        std::vector<int> who(static_cast<std::size_t>(n));
        region.phase = phase;
        region.tasks.resize(who.size());
        const auto timed = [&](std::int64_t i, int thread = 0) {
            const double before = processor_seconds();
            task(i, thread);
            region.tasks[static_cast<std::size_t>(i)] = static_cast<float>(processor_seconds() - before);
            who[static_cast<std::size_t>(i)] = number_of_thread();
        };
        region.begin = processor_seconds();
        const double begin = wall_seconds();
        if (in_turn_)
            for (std::int64_t i = 0; i < n; ++i) timed(i, static_cast<int>(i * most / n));
        else
            share(timed);
        region.wall = wall_seconds() - begin;
        region.end = processor_seconds();
        std::sort(who.begin(), who.end());
        const std::int64_t worked = std::unique(who.begin(), who.end()) - who.begin();
        region.threads = std::max(1, static_cast<int>(in_turn_ ? std::min<std::int64_t>(most, n) : worked));
        std::lock_guard<std::mutex> lock(mutex_);
        regions_.push_back(std::move(region));
    }

    // Those since the last call.
    std::vector<Region> take() {
        std::lock_guard<std::mutex> lock(mutex_);
        return std::exchange(regions_, {});
    }

  private:
    RegionTimes() : in_turn_(std::strcmp(std::getenv("ORDINAL_REGION_TIMES"), "threads") != 0) {}

    static double wall_seconds() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }

    // Of the thread, so that other work on the machine does not count.
    static double processor_seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
#else
        return wall_seconds();
#endif
    }

    static int number_of_thread() {
        static std::atomic<int> next{0};
        static thread_local const int number = next++;
        return number;
    }

    const bool in_turn_;
    std::mutex mutex_;
    std::vector<Region> regions_;
};

}  // namespace ordinal
