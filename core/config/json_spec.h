#pragma once

#include "core/model/spec.h"

#include <nlohmann/json_fwd.hpp>

namespace tilescope::config {

/// fromJson() for an object that is part of a larger text.
ExperimentSpec fromJson(const nlohmann::ordered_json& object);

} // namespace tilescope::config
