// Registration only: arrays arrive checked (ordinal_objectives/rows/native.py), the core does the work.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "engine.hpp"
#include "rows/link_kernel.hpp"
#include "rows/round_statistics.hpp"
#include "simd/dispatch.hpp"
#include "sums.hpp"
#include "threads/parallel.hpp"
#include "threads/region_times.hpp"

using namespace nb::literals;

void define_leaves(nb::module_& m);
void define_margins(nb::module_& m);

// A C symbol, so that threadpoolctl can tell this library among those loaded.
extern "C" NB_EXPORT int ordinal_objectives_thread_limit() { return ordinal::thread_limit().load(); }

namespace {

// float32 outputs: the vector lanes of the logit link. float64 outputs: any link, in double precision.
template <class Raw, class Real>
nb::dict statistics(Vector<Raw> raw, Vector<std::int32_t> y, Vector<double> thresholds,
                    std::optional<Vector<Real>> weight, Output<Real> gradient, Output<Real> hessian,
                    std::optional<OutputRows<Real>> cross, int loss, int link, bool majorized, bool want_loss,
                    double limit, int n_threads, std::optional<OutputRows<Real>> beside,
                    std::optional<Vector<std::int32_t>> cross_places, std::optional<OutputRows<Real>> higher,
                    std::optional<Costs<Real>> costs, std::optional<Vector<std::uint32_t>> rows,
                    std::optional<Vector<std::uint8_t>> light, double factor) {
    auto round = make_round<Raw, Real>(raw, y, thresholds, weight, gradient, hessian, cross, loss, link,
                                       majorized, want_loss, limit, costs);
    if (beside) {
        round.beside = beside->data();
        round.cross_step = beside->stride(0);
    }
    round.cross_places = cross_places ? cross_places->data() : nullptr;
    if (higher) {
        round.higher = higher->data();
        round.n_higher = static_cast<int>(higher->shape(1));
        round.higher_step = higher->stride(0);
    }
    round.rows = rows ? rows->data() : nullptr;
    round.light = light ? light->data() : nullptr;
    round.factor = factor;
    const auto n_rows = static_cast<std::int64_t>(rows ? rows->size() : raw.size());
    ordinal::RoundSums sums;
    {
        // Only pointers into arrays that the caller's frame keeps alive are used from here on.
        nb::gil_scoped_release release;
        if constexpr (sizeof(Real) == sizeof(float))
            sums = ordinal::logit_statistics(round, n_rows, n_threads);
        else
            sums = ordinal::link_statistics(round, n_rows, n_threads);
    }
    return as_dict(sums);
}

template <class... L>
nb::dict codes_of(ordinal::LinkList<L...>) {
    nb::dict codes;
    int code = 0;
    ((codes[L::kName] = code++), ...);
    return codes;
}

nb::dict loss_codes() {
    nb::dict codes;
    int code = 0;
    for (const char* name : ordinal::kLosses) codes[name] = code++;
    return codes;
}

std::vector<std::string> supported_instruction_sets() {
    int count = 0;
    const ordinal::InstructionSet* sets = ordinal::instruction_sets(count);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i)
        if (sets[i].supported) names.emplace_back(sets[i].name);
    return names;
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Native kernels of ordinal_objectives; call them through ordinal_objectives.rows.native.";
    const auto define = [&](const char* name, auto function) {
        m.def(name, function, "raw_prediction"_a.noconvert(), "y"_a.noconvert(), "thresholds"_a.noconvert(),
              "sample_weight"_a.noconvert().none(), "gradient"_a.noconvert(), "hessian"_a.noconvert(),
              "cross"_a.noconvert().none(), "loss"_a, "link"_a, "majorized"_a, "want_loss"_a, "limit"_a,
              "n_threads"_a, "beside"_a.noconvert().none() = nb::none(),
              "cross_places"_a.noconvert().none() = nb::none(), "higher"_a.noconvert().none() = nb::none(),
              "costs"_a.noconvert().none() = nb::none(), "rows"_a.noconvert().none() = nb::none(),
              "light"_a.noconvert().none() = nb::none(), "factor"_a = 1.0);
    };
    define("logit_statistics", &statistics<float, float>);
    define("logit_statistics", &statistics<double, float>);
    define("link_statistics", &statistics<float, double>);
    define("link_statistics", &statistics<double, double>);
    m.attr("loss_codes") = loss_codes();
    m.attr("link_codes") = codes_of(ordinal::Links{});
    // Of the lanes, and of higher derivatives.
    m.attr("lane_link") = ordinal::LogitLink::kName;
    m.attr("max_lane_classes") = ordinal::kMaxThresholds + 1;
    define_leaves(m);
    define_margins(m);
    register_sampler(m);
    register_engine(m);
    // Empty unless they are asked for (threads/region_times.hpp): (phase, threads, begin, end, wall, seconds
    // of each task).
    m.def("region_times", [] {
        std::vector<std::tuple<std::string, int, double, double, double, std::vector<float>>> found;
        if (ordinal::RegionTimes* times = ordinal::RegionTimes::asked())
            for (const ordinal::Region& one : times->take())
                found.emplace_back(one.phase, one.threads, one.begin, one.end, one.wall, one.tasks);
        return found;
    });
    // Helpers of the thread that makes them, for all passes over rows until they go. They sleep between two
    // passes: what else runs then, such as a framework's own threads, has the processors.
    nb::class_<ordinal::ThreadHelpers>(m, "ThreadHelpers").def(nb::init<int>(), "n_threads"_a);
    m.def("thread_limit", [] { return ordinal::thread_limit().load(); });
    m.def("set_thread_limit", [](int limit) { ordinal::thread_limit().store(limit); }, "limit"_a);
    m.def("instruction_set", [] { return std::string(ordinal::active_instruction_set().name); });
    m.def("instruction_sets", &supported_instruction_sets);
    m.def(
        "select_instruction_set",
        [](const std::string& name) { return ordinal::select_instruction_set(name.c_str()); }, "name"_a);
}
