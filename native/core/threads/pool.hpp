// Threads that live as long as one training call: started with it, joined at its end, so that a fork before
// or after finds none of them. A fork in between leaves the child without helpers: it does all work itself,
// and waits for none of them, nor for the condition that they sleep on.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "threads/region_times.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace ordinal {

class Pool {
  public:
    // How often a helper looks for the next region before it falls asleep: about 100 microseconds. Where
    // another library's threads take the processors between two regions, it should not look at all.
    static constexpr int kPatience = 4000;

    // Starts fewer helpers where the system gives no more, and none where tasks run in turn to be timed.
    explicit Pool(int n_threads, int patience = kPatience)
        : patience_(patience), planned_(RegionTimes::in_turn() ? n_threads : 0) {
        if (planned_) return;
        try {
            for (int t = 1; t < n_threads; ++t) helpers_.emplace_back([this, t] { serve(t); });
        } catch (const std::exception&) {
            // No thread to be had, or no memory for its record. Those that run already must not be left
            // behind.
        }
    }

    ~Pool() {
        if (!owns_helpers()) {
            // Left in memory: there is no such thread to join or to detach.
            static_cast<void>(new std::vector<std::thread>(std::move(helpers_)));
            static_cast<void>(wake_.release());
            return;
        }
        closed_.store(true);
        publish(0);
        for (std::thread& helper : helpers_) helper.join();
    }

    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    int n_threads() const { return planned_ ? planned_ : static_cast<int>(helpers_.size()) + 1; }

    // Whether `run` would share its tasks now: not in the child of a fork, nor inside another region.
    bool is_free() const { return !busy_.load(std::memory_order_relaxed) && owns_helpers(); }

    // Calls body(task) or body(task, thread) for every task in [0, n_tasks), handed out in this order to any
    // of the threads in [0, min(most, n_threads())); body must not throw. The caller waits for tasks, not
    // for helpers: one that the system does not run holds nobody up.
    // With `worth` false the caller does all of it: waking a thread costs some ten microseconds.
    // phase: what the counters call it.
    template <class Body>
    void run(const char* phase, std::int64_t n_tasks, bool worth, const Body& body,
             int most = std::numeric_limits<int>::max()) {
        RegionTimes* const times = RegionTimes::asked();
        if (!times) return share(n_tasks, worth, body, most);
        times->run(
            phase, n_tasks, worth ? std::min(most, n_threads()) : 1,
            [&](std::int64_t task, int thread) { call(body, task, thread); },
            [&](const auto& work) { share(n_tasks, worth, work, most); });
    }

    // The same without the counters.
    template <class Body>
    void share(std::int64_t n_tasks, bool worth, const Body& body, int most) {
        const bool alone = !worth || helpers_.empty() || n_tasks < 2 || n_tasks > kMostTasks ||
                           !owns_helpers() || busy_.exchange(true, std::memory_order_acquire);
        if (alone) {
            for (std::int64_t task = 0; task < n_tasks; ++task) call(body, task, 0);
            return;
        }
        call_ = [](const void* context, std::int64_t task, int thread) {
            call(*static_cast<const Body*>(context), task, thread);
        };
        context_ = &body;
        n_tasks_ = n_tasks;
        most_.store(most, std::memory_order_relaxed);
        done_.store(0, std::memory_order_relaxed);
        publish(n_tasks);
        work(0, left_.load(std::memory_order_relaxed) >> kTaskBits);
        while (done_.load(std::memory_order_acquire) < n_tasks) std::this_thread::yield();
        busy_.store(false, std::memory_order_release);
    }

  private:
    static constexpr int kTaskBits = 32;
    static constexpr std::int64_t kMostTasks = (std::int64_t{1} << kTaskBits) - 1;

    template <class Body>
    static void call(const Body& body, std::int64_t task, [[maybe_unused]] int thread) {
        if constexpr (std::is_invocable_v<const Body&, std::int64_t, int>)
            body(task, thread);
        else
            body(task);
    }

    // Begins the next region. Either a helper that falls asleep sees it, or this sees that one sleeps.
    void publish(std::int64_t n_tasks) {
        const std::uint64_t region = (left_.load(std::memory_order_relaxed) >> kTaskBits) + 1;
        left_.store(region << kTaskBits | static_cast<std::uint64_t>(n_tasks));
        if (asleep_.load() == 0) return;
        {
            std::lock_guard<std::mutex> lock(mutex_);
        }
        wake_->notify_all();
    }

    // Does tasks of a region while there are any. Number of the region and of the tasks left change together:
    // who has taken a task is in a region that has not ended, whose body and numbers stand.
    void work(int thread, std::uint64_t region) {
        std::uint64_t left = left_.load(std::memory_order_acquire);
        while (left >> kTaskBits == region && static_cast<std::uint32_t>(left) != 0) {
            if (!left_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) continue;
            call_(context_, n_tasks_ - static_cast<std::uint32_t>(left), thread);
            done_.fetch_add(1, std::memory_order_release);
            left = left_.load(std::memory_order_acquire);
        }
    }

    void serve(int thread) {
        std::uint64_t seen = 0;
        const auto is_next = [&] { return left_.load() >> kTaskBits != seen; };
        for (;;) {
            for (int look = 0; look < patience_ && !is_next(); ++look) pause();
            if (!is_next()) {
                std::unique_lock<std::mutex> lock(mutex_);
                ++asleep_;
                wake_->wait(lock, is_next);
                --asleep_;
            }
            seen = left_.load() >> kTaskBits;
            if (closed_.load()) return;
            if (thread < most_.load(std::memory_order_relaxed)) work(thread, seen);
        }
    }

    static void pause() {
#if defined(__x86_64__) && defined(__GNUC__)
        __builtin_ia32_pause();
#endif
    }

#if defined(__unix__) || defined(__APPLE__)
    bool owns_helpers() const { return process_ == getpid(); }
    const pid_t process_ = getpid();
#else
    static bool owns_helpers() { return true; }
#endif

    const int patience_, planned_;
    std::vector<std::thread> helpers_;
    std::mutex mutex_;
    std::unique_ptr<std::condition_variable> wake_ = std::make_unique<std::condition_variable>();
    alignas(64) std::atomic<std::uint64_t> left_{0};
    alignas(64) std::atomic<std::int64_t> done_{0};
    std::atomic<int> asleep_{0}, most_{0};
    std::atomic<bool> busy_{false}, closed_{false};
    void (*call_)(const void*, std::int64_t, int) = nullptr;
    const void* context_ = nullptr;
    std::int64_t n_tasks_ = 0;
};

// The pool of the training that this thread is in, for the passes over its rows; null outside of one.
inline std::weak_ptr<Pool>& pool_of_thread() {
    static thread_local std::weak_ptr<Pool> pool;
    return pool;
}

// A pool of this thread that belongs to no engine.
class ThreadHelpers {
  public:
    explicit ThreadHelpers(int n_threads) : pool_(std::make_shared<Pool>(n_threads, 0)) {
        pool_of_thread() = pool_;
    }

  private:
    std::shared_ptr<Pool> pool_;
};

}  // namespace ordinal
