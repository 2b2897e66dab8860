// Threads of one call: those of the training that the caller is in, or else started for the call. No runtime
// is shared with OpenMP, and no state that a fork could break.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

#include "threads/pool.hpp"
#include "threads/region_times.hpp"
#include "threads/sizes.hpp"

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

template <class Body>
void share_blocks(std::int64_t n_blocks, int n_threads, const Body& body) {
    const std::shared_ptr<Pool> pool = n_threads > 1 ? pool_of_thread().lock() : nullptr;
    if (pool && pool->n_threads() >= n_threads && pool->is_free())
        return pool->share(n_blocks, true, body, n_threads);
    const auto blocks = std::make_shared<SharedBlocks<Body>>(n_blocks, body);
    for (int t = 1; t < n_threads; ++t) {
        try {
            std::thread([blocks] { blocks->work(); }).detach();
        } catch (const std::exception&) {
            break;  // no thread to be had, or no memory for its record: those there are do the work
        }
    }
    blocks->work();
    while (blocks->done.load(std::memory_order_acquire) < n_blocks) std::this_thread::yield();
}

// Calls body(block) for every block in [0, n_blocks). Blocks are handed out on demand, so body must write
// only to its own block; results summed over blocks in order are then the same for any number of threads.
// body must not throw. block_ns: what a block takes, so that no thread is woken for less than it is worth.
// The caller waits for blocks, not for threads: where those of a framework still spin, a helper may not run
// before milliseconds have passed. phase: what the counters call it.
template <class Body>
void parallel_blocks(const char* phase, std::int64_t n_blocks, int n_threads, const Body& body,
                     std::int64_t block_ns = kWorthThread) {
    const std::int64_t useful =
        std::clamp<std::int64_t>(n_blocks * block_ns / kWorthThread, 1, std::max<std::int64_t>(n_blocks, 1));
    const int wanted = static_cast<int>(std::min<std::int64_t>(n_threads, useful));
    RegionTimes* const times = RegionTimes::asked();
    if (!times) return share_blocks(n_blocks, wanted, body);
    times->run(
        phase, n_blocks, wanted, [&](std::int64_t block, int) { body(block); },
        [&](const auto& work) { share_blocks(n_blocks, wanted, work); });
}

// Calls body(piece, begin, end) for the pieces of the rows.
template <class Body>
void parallel_rows(const char* phase, std::int64_t n_rows, Piece piece, int n_threads, const Body& body) {
    parallel_blocks(
        phase, piece.count(n_rows), n_threads,
        [&](std::int64_t p) { body(p, p * piece.rows, std::min(n_rows, (p + 1) * piece.rows)); }, piece.ns());
}

}  // namespace ordinal
