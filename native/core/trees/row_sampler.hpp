// The rows that a tree is grown on: drawn alike, or by their gradients.
//
// Each row has a random number by its place, and the rows with the smallest numbers are drawn: exactly as
// many as are wanted, every set of them equally likely, in order, and the same ones for any number of
// threads. Nothing is sorted: but for one time in ten thousand the limit between the numbers lies within a
// narrow range, which the share that is wanted tells. One pass over the rows counts the numbers below this
// range and keeps the few within it, and a second one lists the rows below the limit.
#pragma once

#include <cstdint>
#include <vector>

namespace ordinal {

class RowSampler {
  public:
    // weight: (n_rows,) rows of weight 0 are never drawn; null for none.
    RowSampler(std::int64_t n_rows, const double* weight);

    std::int64_t n_rows() const { return n_rows_; }
    // Rows that may be drawn.
    std::int64_t n_eligible() const { return n_eligible_; }

    // Draws so many of the eligible rows without replacement.
    void draw(std::int64_t n_drawn, std::uint64_t seed, std::uint64_t iteration, int n_threads);

    // Draws by gradients (GOSS): the share `top_rate` of the rows, those with the largest sums of |g h|, and
    // of the others the share `other_rate` of all rows. columns: (n_rows, width), gradients first, then
    // Hessians; rows without Hessians are left out. Returns how much more each of the others counts; 0 where
    // all rows are to be taken.
    double draw_by_gradients(const float* columns, int width, int n_gradients, double top_rate,
                             double other_rate, std::uint64_t seed, std::uint64_t iteration, int n_threads);

    // The newest sample, in order; and after draw() the rows that are not in it.
    const std::vector<std::uint32_t>& rows() const { return rows_; }
    const std::vector<std::uint32_t>& outside() const { return outside_; }
    // (rows().size(),) after draw_by_gradients: which of them stand for others as well.
    const std::vector<std::uint8_t>& light() const { return light_; }

  private:
    // A limit, and how many numbers of each block of rows are below it.
    struct Limit {
        std::uint64_t number = 0;
        std::vector<std::int64_t> below;
    };
    template <class Numbers>
    Limit limit_of(std::int64_t n_below, std::uint64_t low, std::uint64_t high, int n_threads,
                   const Numbers& numbers) const;
    // Of a batch of rows, by their places among the eligible ones: the others change no sample.
    void draw_numbers(std::uint64_t key, std::int64_t begin, std::int64_t n, std::uint64_t* numbers) const;
    // Calls work(first, n, place) for each run of eligible rows. `begin` starts a batch.
    template <class Work>
    void over_eligible(std::int64_t begin, std::int64_t end, const Work& work) const;
    template <class Numbers>
    Limit random_limit(std::int64_t n_below, std::int64_t n, int n_threads, const Numbers& numbers) const;

    std::int64_t n_rows_, n_eligible_;
    std::vector<std::uint8_t> left_out_;  // empty where no row is
    std::vector<std::int64_t> n_before_;  // eligible rows before each batch, where some are left out
    std::vector<std::uint32_t> rows_, outside_;
    std::vector<std::uint8_t> light_;
    std::vector<std::uint64_t> by_size_;  // the larger the gradients of a row, the smaller
};

}  // namespace ordinal
