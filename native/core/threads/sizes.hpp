// How work is parted for threads, all of it in one place. Sums over rows are those of pieces, added up in
// order: they go by the rows of a piece, and never by the number of threads.
#pragma once

#include <cstdint>

namespace ordinal {

// Rows that a thread takes at a time, and about what one of them costs. A piece is long enough for its sums
// to be few beside its rows, and short enough for the last one to keep nobody waiting.
struct Piece {
    std::int64_t rows;
    std::int64_t row_ns;

    std::int64_t count(std::int64_t n_rows) const { return (n_rows + rows - 1) / rows; }
    std::int64_t ns() const { return rows * row_ns; }
};

// Waking a thread takes some ten microseconds: it should have twice as many to do.
constexpr std::int64_t kWorthThread = 20'000;  // nanoseconds

// Passes over the rows. Those in lanes take a multiple of kLaneBlock or kMarginBlock.
constexpr Piece kLanePass{1 << 13, 4};  // sums by leaf, too, unless there are many rows: then 64 pieces
constexpr Piece kMarginPass{1 << 12, 10};
constexpr Piece kLinkPass{1 << 12, 100};
constexpr Piece kLeafCounts{1 << 13, 1};
constexpr Piece kLeafMatch{1 << 13, 1};
constexpr Piece kScoreMoves{1 << 12, 2};
constexpr Piece kScoreHistogram{1 << 17, 1};
constexpr Piece kDraw{1 << 14, 1};
constexpr Piece kForestSums{1 << 14, 2};

// Of the engine, whose threads are awake: rows of a piece, and below how many the caller does all of it.
constexpr std::int64_t kEngineBlock = 1 << 14;
constexpr std::int64_t kBinBlock = 1 << 12;
constexpr std::int64_t kPartitionBlock = 1 << 13, kLeastPartitionBlock = 1 << 10;
constexpr std::int64_t kListBlock = 1 << 10;
constexpr std::int64_t kWorthRows = 1 << 12;
constexpr std::int64_t kWorthValues = 1 << 14;  // of features that are binned
constexpr std::int64_t kWorthSums = 1 << 14;    // numbers of a histogram

}  // namespace ordinal
