// The arrays behind LogitConstants.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "rows/logit_lanes.hpp"

namespace ordinal {

struct LogitTables {
    std::vector<float> theta, scale;
    LogitConstants constants;

    explicit LogitTables(const LogitRound& round)
        : theta(static_cast<std::size_t>(round.n_thresholds)), scale(theta.size()), constants() {
        const auto [lowest, highest] =
            std::minmax_element(round.thresholds, round.thresholds + round.n_thresholds);
        // Scores may be float32: what is subtracted from them must be one as well.
        constants.center = static_cast<float>(0.5 * (*lowest + *highest));
        for (std::size_t k = 0; k < theta.size(); ++k) {
            const double relative = round.thresholds[k] - constants.center;
            theta[k] = static_cast<float>(relative);
            scale[k] = static_cast<float>(std::exp(relative));
        }
        constants.lowest_score = static_cast<float>(*highest - constants.center - kMaxDistance);
        constants.highest_score = static_cast<float>(*lowest - constants.center + kMaxDistance);
        constants.theta = theta.data();
        constants.scale = scale.data();
    }
    // `constants` points into this object.
    LogitTables(const LogitTables&) = delete;
    LogitTables& operator=(const LogitTables&) = delete;
};

}  // namespace ordinal
