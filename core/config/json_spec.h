#pragma once

#include "core/model/spec.h"

#include <nlohmann/json_fwd.hpp>

namespace tilescope::config {

/// fromJson() for an object within a larger document.
ExperimentSpec fromJson(const nlohmann::ordered_json& object);

} // namespace tilescope::config
