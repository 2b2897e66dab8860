// What a row carries through the histograms: the columns of a criterion, a 1 that counts the row, columns
// that a criterion has behind it, and zeros up to the width of a vector. Leaves and bins carry the sums of
// the same columns.
#pragma once

namespace ordinal {

constexpr int kMostColumns = 1024;

struct RowLayout {
    int n_columns = 0;  // of the criterion, in front
    int n_behind = 0;

    int count() const { return n_columns; }
    int used() const { return n_columns + 1 + n_behind; }

    int width() const {
        if (used() <= 4) return 4;
        if (used() <= 8) return 8;
        return (used() + 15) / 16 * 16;
    }

    bool operator==(const RowLayout& other) const {
        return n_columns == other.n_columns && n_behind == other.n_behind;
    }
};

// Lanes of a row that are added at a time; the passes over a wider row use the same scratch.
constexpr int kSlice = 16;
// Rows of several vectors: for these, testing whether a bin is empty costs less than reading it.
inline bool is_wide(int width) { return width > kSlice; }
inline int slice_width(int width) { return width < kSlice ? width : kSlice; }

}  // namespace ordinal
