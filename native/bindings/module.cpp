// Registration only: arrays arrive checked (ordinal_objectives/statistics.py), the core does the work.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../core/dispatch.hpp"
#include "../core/parallel.hpp"
#include "../core/round_statistics.hpp"

namespace nb = nanobind;
using namespace nb::literals;

// A C symbol, so that threadpoolctl can tell this library among those loaded.
extern "C" NB_EXPORT int ordinal_objectives_thread_limit() { return ordinal::thread_limit().load(); }

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutputMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::dict as_dict(const ordinal::RoundSums& sums) {
    nb::dict result;
    result["threshold_gradient"] = sums.threshold_gradient;
    result["threshold_hessian"] = sums.threshold_hessian;
    result["threshold_hessian_off"] = sums.threshold_hessian_off;
    result["loss"] = sums.loss;
    result["n_clipped"] = sums.n_clipped;
    result["n_floored"] = sums.n_floored;
    return result;
}

template <class Raw>
nb::dict logit_statistics(Vector<Raw> raw, Vector<std::int32_t> y, Vector<double> thresholds,
                          std::optional<Vector<float>> weight, Output<float> gradient, Output<float> hessian,
                          std::optional<OutputMatrix<float>> cross, int loss, bool majorized, bool want_loss,
                          int n_threads) {
    ordinal::LogitRound round;
    if constexpr (sizeof(Raw) == sizeof(float))
        round.raw32 = raw.data();
    else
        round.raw64 = raw.data();
    round.y = y.data();
    round.weight = weight ? weight->data() : nullptr;
    round.thresholds = thresholds.data();
    round.n_thresholds = static_cast<int>(thresholds.size());
    round.loss = static_cast<ordinal::Loss>(loss);
    round.majorized = majorized;
    round.want_loss = want_loss;
    round.gradient = gradient.data();
    round.hessian = hessian.data();
    round.cross = cross ? cross->data() : nullptr;
    ordinal::RoundSums sums;
    {
        // Only pointers into arrays that the caller's frame keeps alive are used from here on.
        nb::gil_scoped_release release;
        sums = ordinal::logit_statistics(round, static_cast<std::int64_t>(raw.size()), n_threads);
    }
    return as_dict(sums);
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
    m.doc() = "Native kernels of ordinal_objectives; call them through ordinal_objectives.statistics.";
    const auto arguments = [&](auto function) {
        m.def("logit_statistics", function, "raw_prediction"_a.noconvert(), "y"_a.noconvert(),
              "thresholds"_a.noconvert(), "sample_weight"_a.noconvert().none(), "gradient"_a.noconvert(),
              "hessian"_a.noconvert(), "cross"_a.noconvert().none(), "loss"_a, "majorized"_a, "want_loss"_a,
              "n_threads"_a);
    };
    arguments(&logit_statistics<float>);
    arguments(&logit_statistics<double>);
    m.def("thread_limit", [] { return ordinal::thread_limit().load(); });
    m.def("set_thread_limit", [](int limit) { ordinal::thread_limit().store(limit); }, "limit"_a);
    m.def("instruction_set", [] { return std::string(ordinal::active_instruction_set().name); });
    m.def("instruction_sets", &supported_instruction_sets);
    m.def("select_instruction_set",
          [](const std::string& name) { return ordinal::select_instruction_set(name.c_str()); }, "name"_a);
}
