// Threads of one call: those of the training that the caller is in, or else started for the call. No runtime
// is shared with OpenMP, and no state that a fork could break.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

#include "threads/pool.hpp"
#include "threads/region_times.hpp"

namespace ordinal {

// What threadpoolctl set as the largest number of threads; 0 for no limit. Python asks before each call.
inline std::atomic<int>& thread_limit() {
    static std::atomic<int> limit{0};
    return limit;
}

// The blocks of one call. A helper that is late outlives the call; it finds no block left, and touches no
// body.
template <class Body>
struct SharedBlocks {
    SharedBlocks(std::int64_t n, const Body& call) : n_blocks(n), body(&call) {}

    void work() {
        for (std::int64_t block = next++; block < n_blocks; block = next++) {
            (*body)(block);
            done.fetch_add(1, std::memory_order_release);
        }
    }

    const std::int64_t n_blocks;
    const Body* body;
    std::atomic<std::int64_t> next{0}, done{0};
};

// Calls body(block) for every block in [0, n_blocks). Blocks are handed out on demand, so body must write
// only to its own block; results summed over blocks in order are then the same for any number of threads.
// body must not throw. Every thread gets `least` blocks or more. The caller waits for blocks, not for
// threads: where those of a framework still spin, a helper may not run before milliseconds have passed.
// phase: what the counters call it.
template <class Body>
void parallel_blocks(const char* phase, std::int64_t n_blocks, int n_threads, const Body& body,
                     std::int64_t least = 1) {
    if (RegionTimes* times = RegionTimes::asked()) {
        times->run(phase, n_blocks, n_blocks > least, body);
        return;
    }
    const std::int64_t useful = (n_blocks + least - 1) / least;
    const std::int64_t wanted = n_threads < useful ? n_threads : useful;
    const std::shared_ptr<Pool> pool = wanted > 1 ? pool_of_thread().lock() : nullptr;
    if (pool && pool->n_threads() >= wanted && pool->is_free()) {
        pool->run(phase, n_blocks, true, body, static_cast<int>(wanted));
        return;
    }
    const auto blocks = std::make_shared<SharedBlocks<Body>>(n_blocks, body);
    for (std::int64_t t = 1; t < wanted; ++t) {
        try {
            std::thread([blocks] { blocks->work(); }).detach();
        } catch (const std::exception&) {
            break;  // no thread to be had, or no memory for its record: those there are do the work
        }
    }
    blocks->work();
    while (blocks->done.load(std::memory_order_acquire) < n_blocks) std::this_thread::yield();
}

}  // namespace ordinal
