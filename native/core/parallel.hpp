// Threads that live for one call: no runtime to share with OpenMP, no state that a fork could break.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace ordinal {

// What threadpoolctl set as the largest number of threads; 0 for no limit. Python asks before each call.
inline std::atomic<int>& thread_limit() {
    static std::atomic<int> limit{0};
    return limit;
}

// Calls body(block) for every block in [0, n_blocks). Blocks are handed out on demand, so body must write
// only to its own block; results summed over blocks in order are then the same for any number of threads.
// body must not throw. Every thread gets `least` blocks or more: starting one, beside the threads of a
// framework that are still spinning, costs as much as half a millisecond of work.
template <class Body>
void parallel_blocks(std::int64_t n_blocks, int n_threads, const Body& body, std::int64_t least = 1) {
    std::atomic<std::int64_t> next{0};
    const auto work = [&] {
        for (std::int64_t block = next++; block < n_blocks; block = next++) body(block);
    };
    std::vector<std::thread> helpers;
    const std::int64_t useful = (n_blocks + least - 1) / least;
    const std::int64_t wanted = n_threads < useful ? n_threads : useful;
    for (std::int64_t t = 1; t < wanted; ++t) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
}

}  // namespace ordinal
