// Threads that live as long as one training call: started with it, joined at its end, so that a fork before
// or after finds none of them. A fork in between leaves the child without helpers: it does all work itself,
// and waits for none of them, nor for the condition that they sleep on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace ordinal {

class Pool {
  public:
    // Starts fewer helpers where the system gives no more.
    explicit Pool(int n_threads) {
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
        {
            std::lock_guard<std::mutex> lock(mutex_);
            closed_ = true;
            ++job_;
        }
        wake_->notify_all();
        for (std::thread& helper : helpers_) helper.join();
    }

    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    int n_threads() const { return static_cast<int>(helpers_.size()) + 1; }

    // Calls body(task) or body(task, thread) for every task in [0, n_tasks), in any order and on any thread
    // in [0, n_threads()); body must not throw.
    // With `worth` false the caller does all of it: waking a thread costs some ten microseconds.
    template <class Body>
    void run(std::int64_t n_tasks, bool worth, const Body& body) {
        if (!worth || helpers_.empty() || n_tasks < 2 || !owns_helpers()) {
            for (std::int64_t task = 0; task < n_tasks; ++task) call(body, task, 0);
            return;
        }
        {
            std::lock_guard<std::mutex> lock(mutex_);
            call_ = [](const void* context, std::int64_t task, int thread) {
                call(*static_cast<const Body*>(context), task, thread);
            };
            context_ = &body;
            n_tasks_ = n_tasks;
            next_.store(0);
            busy_.store(static_cast<int>(helpers_.size()));
            ++job_;
        }
        wake_->notify_all();
        work(0);
        while (busy_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
    }

  private:
    static constexpr int kPatience = 4000;  // looks at the counter before a helper falls asleep

    template <class Body>
    static void call(const Body& body, std::int64_t task, [[maybe_unused]] int thread) {
        if constexpr (std::is_invocable_v<const Body&, std::int64_t, int>)
            body(task, thread);
        else
            body(task);
    }

    void work(int thread) {
        for (std::int64_t task = next_++; task < n_tasks_; task = next_++) call_(context_, task, thread);
    }

    void serve(int thread) {
        std::int64_t done = 0;
        for (;;) {
            for (int look = 0; look < kPatience && job_.load(std::memory_order_acquire) == done; ++look)
                pause();
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_->wait(lock, [&] { return job_.load() != done; });
                done = job_.load();
                if (closed_) return;
            }
            work(thread);
            busy_.fetch_sub(1, std::memory_order_release);
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

    std::vector<std::thread> helpers_;
    std::mutex mutex_;
    std::unique_ptr<std::condition_variable> wake_ = std::make_unique<std::condition_variable>();
    std::atomic<std::int64_t> job_{0};
    std::atomic<std::int64_t> next_{0};
    std::atomic<int> busy_{0};
    void (*call_)(const void*, std::int64_t, int) = nullptr;
    const void* context_ = nullptr;
    std::int64_t n_tasks_ = 0;
    bool closed_ = false;
};

}  // namespace ordinal
