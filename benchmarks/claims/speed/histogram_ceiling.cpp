// The adds of a histogram and nothing else: no missing values, no counts, no sums in float64. A row's
// statistics stay in registers while its features pass.
#include <cstdint>
#include <cstring>

namespace {

template <int Width>
void add(const std::uint8_t* bins, const float* statistics, std::int64_t n, int n_features,
         float* histogram) {
    typedef float Row __attribute__((vector_size(4 * Width)));
    for (std::int64_t i = 0; i < n; ++i) {
        Row row, sum;
        std::memcpy(&row, statistics + i * Width, sizeof row);
        float* of_feature = histogram;
        for (int f = 0; f < n_features; ++f, of_feature += 257 * Width) {
            float* to = of_feature + bins[i * n_features + f] * Width;
            std::memcpy(&sum, to, sizeof sum);
            sum += row;
            std::memcpy(to, &sum, sizeof sum);
        }
    }
}

}  // namespace

extern "C" void bare_adds(const std::uint8_t* bins, const float* statistics, std::int64_t n, int n_features,
                          int width, float* histogram) {
    switch (width) {
        case 4:
            return add<4>(bins, statistics, n, n_features, histogram);
        case 8:
            return add<8>(bins, statistics, n, n_features, histogram);
        case 16:
            return add<16>(bins, statistics, n, n_features, histogram);
        case 32:
            return add<32>(bins, statistics, n, n_features, histogram);
    }
}
