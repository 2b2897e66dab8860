#include "trees/histogram_builder.hpp"

#include <algorithm>
#include <cmath>

#include "simd/dispatch.hpp"
#include "threads/sizes.hpp"

namespace ordinal {
namespace {

constexpr int kGroup = 32;  // planes whose tables one thread fills together

// Bits of a row's integer. With the most a float32 rounds it; with the least, 8,191 rows of a code fit into
// an integer, and planes that have more are moved to float64 in between, which few codes make cheap.
constexpr int kMostBits = 21, kLeastBits = 18;
constexpr int kFewCodes = 32;

// What shared work costs, in additions of a row to a plane.
constexpr std::int64_t kReadRow = 6;             // for each group of planes
constexpr std::int64_t kJoinPlane = 512;         // for each table
constexpr std::int64_t kRegion = 8'000;          // to hand out its tasks, and to wait for the last one
constexpr std::int64_t kMostTogether = 1 << 13;  // rows of a task: the last one keeps nobody waiting for long
constexpr std::int64_t kLeastTogether = 1 << 8;

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t most_rows(int bits) { return (std::int64_t{1} << (31 - bits)) - 1; }

}  // namespace

HistogramBuilder::HistogramBuilder(const BinnedData& data, Pool& pool, bool in_float64)
    : data_(data), pool_(pool), in_float64_(in_float64) {
    few_.resize(static_cast<std::size_t>(kFewRoom * pool_.n_threads()));
}

void HistogramBuilder::begin(const float* statistics, RowLayout layout, int n_gradients, TreePlanes& planes,
                             const std::uint32_t* rows, std::int64_t n) {
    statistics_ = statistics;
    layout_ = layout;
    planes_ = &planes;
    n_shared_ = 0;
    units_ = {};
    any_deep_ = may_share_ = false;
    // With few rows float64 is as fast, and no histogram is joined.
    if (!in_float64_ && n > kFewRows && !any_far(n_gradients, rows, n) && find_units(rows, n)) {
        for (int p = 0; p < planes.count(); ++p) {
            const std::int64_t fullest = fullest_[static_cast<std::size_t>(planes[p].column)];
            planes[p].is_deep = std::min(fullest, n) > most_rows_;
            any_deep_ |= planes[p].is_deep;
        }
        may_share_ = pool_.n_threads() > 1 && planes.count() <= kMostShared && n_sums() <= kLargestShared;
    }
    // A thread fills the same places for one group of planes after the other, so that its cache keeps them.
    const int groups = std::min(n_groups(), fewest_groups());
    n_places_ = may_share_ ? planes.count() : planes.count() / groups + 1;
    n_tables_ = may_share_ ? n_slices() : 1;
    tables_.reserve(kHugePage / sizeof(std::int32_t));
    tables_.resize(
        units_.unit ? static_cast<std::size_t>(pool_.n_threads() * n_tables_ * n_places_ * kSlots * slice())
                    : 0);
    deep_.resize(may_share_ && any_deep_ ? static_cast<std::size_t>(pool_.n_threads() * n_sums()) : 0);
}

int HistogramBuilder::n_groups() const {
    const int together = kGroup * pool_.n_threads();
    return std::min(planes_->count(), (planes_->count() + together - 1) / together * pool_.n_threads());
}

int HistogramBuilder::fewest_groups() const { return (planes_->count() + kGroup - 1) / kGroup; }

void HistogramBuilder::count_fullest() {
    const int n_planes = data_.planes->n_planes();
    std::vector<const std::uint8_t*> column_of(static_cast<std::size_t>(n_planes), nullptr);
    for (int f = 0; f < data_.n_features; ++f) {
        const std::int32_t plane = data_.planes->of(f).plane;
        if (!data_.planes->is_shared(plane))
            column_of[static_cast<std::size_t>(plane)] = data_.columns + f * data_.n_rows;
    }
    fullest_.resize(static_cast<std::size_t>(n_planes));
    pool_.run("count codes", n_planes, data_.n_rows * n_planes > kWorthValues, [&](std::int64_t plane) {
        const std::uint8_t* column = column_of[static_cast<std::size_t>(plane)];
        const std::uint8_t* codes = column ? column : data_.rows + plane;
        const std::int64_t step = column ? 1 : data_.stride;
        std::vector<std::int64_t> counts(kMostCodes, 0);
        for (std::int64_t i = 0; i < data_.n_rows; ++i) ++counts[codes[i * step]];
        fullest_[static_cast<std::size_t>(plane)] = *std::max_element(counts.begin(), counts.end());
    });
}

// Whether rows far on the wrong side of their thresholds have a noticeable part of all gradients. Their
// Hessians are hardly any, and decide the gain of a leaf: a common unit would round them away. Rows that are
// far on the right side have hardly any gradient either. Some of the rows tell.
bool HistogramBuilder::any_far(int n_gradients, const std::uint32_t* rows, std::int64_t n) const {
    constexpr float kFar = 1024.0f;
    double far = 0.0, all = 0.0;
    for (std::int64_t i = 0; i < n; i += ceiling(n, kFewRows)) {
        const float* row = statistics_ + (rows ? rows[i] : i) * layout_.width();
        for (int k = 0; k < n_gradients; ++k) {
            const float size = std::abs(row[k]);
            all += size;
            if (size > kFar * row[n_gradients + k]) far += size;
        }
    }
    return far > 0.01 * all;
}

// Returns false where a column has no largest number.
bool HistogramBuilder::find_units(const std::uint32_t* rows, std::int64_t n) {
    const std::size_t width = static_cast<std::size_t>(layout_.width());
    const std::int64_t n_blocks = ceiling(n, kEngineBlock);
    AlignedVector<float> bounds(static_cast<std::size_t>(n_blocks) * width, 0.0f);
    const BoundColumns bound_columns = active_instruction_set().bound_columns;
    pool_.run("bound columns", n_blocks, n >= kWorthRows, [&](std::int64_t block) {
        const std::int64_t begin = block * kEngineBlock;
        bound_columns({statistics_, layout_.width(), rows, begin, std::min(n, begin + kEngineBlock),
                       bounds.data() + static_cast<std::size_t>(block) * width});
    });
    std::vector<float> largest(width, 0.0f);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        if (!std::isfinite(bounds[i])) return false;
        largest[i % width] = std::max(largest[i % width], bounds[i]);
    }
    if (fullest_.empty()) count_fullest();
    std::int64_t fullest = 0;
    for (int p = 0; p < planes_->count(); ++p) {
        const TreePlane& plane = planes_->data()[p];
        if (plane.n_codes > kFewCodes)
            fullest = std::max(fullest, std::min(n, fullest_[static_cast<std::size_t>(plane.column)]));
    }
    int bits = kMostBits;
    while (bits > kLeastBits && most_rows(bits) < fullest) --bits;
    set_units(largest, bits);
    return true;
}

void HistogramBuilder::set_units(const std::vector<float>& bounds, int bits) {
    most_rows_ = most_rows(bits);
    unit_.resize(bounds.size());
    per_unit_.resize(bounds.size());
    for (std::size_t c = 0; c < bounds.size(); ++c) {
        int exponent = 0;
        std::frexp(bounds[c], &exponent);            // bound < 2^exponent
        exponent = std::max(exponent, -100 + bits);  // units and their inverses are normal float32
        unit_[c] = std::ldexp(1.0f, exponent - bits);
        per_unit_[c] = std::ldexp(1.0f, bits - exponent);
    }
    units_ = {unit_.data(), per_unit_.data()};
}

HistogramBuilder::Share HistogramBuilder::fastest_share(std::int64_t n) const {
    Share best;
    if (!may_share_ || n <= kFewRows) return best;
    const std::int64_t threads = pool_.n_threads(), n_planes = planes_->count(), slices = n_slices();
    const std::int64_t alone = ceiling(n_groups(), threads);
    std::int64_t least = alone * slices * n * (ceiling(n_planes, n_groups()) + kReadRow);
    for (std::int64_t groups = 1; groups <= std::min(threads, n_planes); ++groups) {
        const std::int64_t beside = std::max<std::int64_t>(1, threads / (groups * slices));
        const std::int64_t in_turn = ceiling(n, kMostTogether * beside);
        const std::int64_t blocks = std::min(in_turn * beside, ceiling(n, kLeastTogether));
        const std::int64_t tasks = ceiling(blocks * groups * slices, threads);
        const std::int64_t joined = std::min(blocks, threads) * n_planes * slices * kJoinPlane / threads;
        const std::int64_t cost =
            tasks * ceiling(n, blocks) * (ceiling(n_planes, groups) + kReadRow) + joined + kRegion;
        if (cost < least) {
            least = cost;
            best = {blocks, groups};
        }
    }
    return best;
}

void HistogramBuilder::share(const std::uint32_t* rows, std::int64_t n) {
    share_ = fastest_share(n);
    n_shared_ = share_.blocks ? n : 0;
    if (!n_shared_) return;
    shared_rows_ = rows;
    used_.assign(static_cast<std::size_t>(pool_.n_threads() * share_.groups), 0);
    const AddRows add_integers = active_instruction_set().add_integers;
    const std::int64_t blocks = share_.blocks, groups = share_.groups, slices = n_slices();
    const std::int64_t n_planes = planes_->count();
    pool_.run("histogram in parts", blocks * groups * slices, true, [&](std::int64_t piece, int thread) {
        const std::int64_t n_slice = piece % slices, group = piece / slices % groups;
        const std::int64_t block = piece / slices / groups;
        const PlaneRange planes{static_cast<int>(group * n_planes / groups),
                                static_cast<int>((group + 1) * n_planes / groups)};
        HistogramTask task = task_of(rows, block * n / blocks, (block + 1) * n / blocks, planes, thread);
        task.lane = static_cast<int>(n_slice) * slice();
        task.table = table_of(thread, n_slice, planes.first);
        task.deep = {deep_.data() + thread * (any_deep_ ? n_sums() : 0), 0};
        add_integers(task);
        used_[static_cast<std::size_t>(thread * groups + group)] = 1;
    });
}

void HistogramBuilder::build(Bins bins, const std::uint32_t* rows, std::int64_t n, PlaneRange planes,
                             int thread) {
    HistogramTask task = task_of(rows, 0, n, planes, thread);
    task.histogram = task.deep = bins;
    const InstructionSet& set = active_instruction_set();
    if (n_shared_ == n && shared_rows_ == rows) return join_shared(task, planes);
    if (!units_.unit || n <= kFewRows) return set.add_few(task);
    for (int p = 0; any_deep_ && p < task.n_planes; ++p) {
        const TreePlane& plane = task.planes[p];
        for (int f = plane.first; plane.is_deep && f < plane.last; ++f) {
            const std::int32_t feature = task.features[f];
            double* first = bins.data + (planes_->offset(feature) - bins.first) * layout_.width();
            std::fill_n(first, (data_.n_bins[feature] + 1) * layout_.width(), 0.0);
        }
    }
    task.table = table_of(thread, 0, 0);
    for (task.lane = 0; task.lane < layout_.width(); task.lane += slice()) {
        set.add_integers(task);
        set.join_tables(task, {&task.table, nullptr, 1});
    }
}

void HistogramBuilder::join_shared(HistogramTask task, PlaneRange planes) {
    const std::int64_t n_planes = planes_->count(), groups = share_.groups;
    std::vector<int> threads;
    for (int thread = 0; thread < pool_.n_threads(); ++thread)
        for (std::int64_t group = 0; group < groups; ++group) {
            const bool is_near =
                (group + 1) * n_planes / groups > planes.first && group * n_planes / groups < planes.last;
            if (!is_near || !used_[static_cast<std::size_t>(thread * groups + group)]) continue;
            threads.push_back(thread);
            break;
        }
    std::vector<std::int32_t*> tables(threads.size());
    std::vector<double*> deep;
    for (const int thread : threads) deep.push_back(deep_.data() + thread * (any_deep_ ? n_sums() : 0));
    for (int n_slice = 0; n_slice < n_slices(); ++n_slice) {
        task.lane = n_slice * slice();
        for (std::size_t t = 0; t < threads.size(); ++t)
            tables[t] = table_of(threads[t], n_slice, planes.first);
        active_instruction_set().join_tables(task,
                                             {tables.data(), deep.data(), static_cast<int>(threads.size())});
    }
}

HistogramTask HistogramBuilder::task_of(const std::uint32_t* rows, std::int64_t begin, std::int64_t end,
                                        PlaneRange planes, int thread) {
    HistogramTask task;
    task.bins = data_.rows;
    task.stride = data_.stride;
    task.statistics = statistics_;
    task.width = layout_.width();
    task.units = units_;
    task.rows = rows;
    task.begin = begin;
    task.end = end;
    task.planes = planes_->data() + planes.first;
    task.n_planes = planes.last - planes.first;
    task.consecutive = planes_->consecutive();
    task.features = planes_->by_plane();
    task.bin_of = data_.planes->bins();
    task.n_bins = data_.n_bins;
    task.offsets = planes_->offsets();
    task.lane = 0;
    task.table = nullptr;
    task.most_rows = most_rows_;
    task.few = few_.data() + thread * kFewRoom;
    return task;
}

std::vector<double> HistogramBuilder::sums(const std::uint32_t* rows, std::int64_t n) const {
    std::vector<double> sums(static_cast<std::size_t>(layout_.width()), 0.0);
    active_instruction_set().sum_by_leaf(
        {statistics_, layout_.width(), units_, nullptr, rows, 0, n, sums.data()});
    return sums;
}

}  // namespace ordinal
