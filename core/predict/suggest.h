#pragma once

#include "core/model/spec.h"
#include "core/predict/target_device.h"

#include <string>
#include <utility>
#include <vector>

namespace tilescope::predict {

/// A change of a spec that makes it fit.
struct Suggestion {
    std::vector<std::pair<std::string, std::string>>
        keys; ///< checkpointing: block; keys of the spec and their values
    Bytes peakAllocated{};
    std::optional<Bytes> peakReserved = {};

    /// `--set checkpointing=block --set precision=bf16`
    std::string flags() const;
};

/// Changes that make a point fit into memory, according to the predictor. First single changes that keep all
/// sizes: an attention backend that keeps no scores, recomputation, half precision; if none of them suffices,
/// all combined. Then the largest smaller batch and the longest shorter context. Empty if nothing helps or
/// the point cannot be predicted. Evaluates several predictions: milliseconds.
std::vector<Suggestion> suggestions(const ExperimentSpec& spec, const TargetDevice& device);

} // namespace tilescope::predict
