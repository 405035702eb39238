#pragma once

#include "core/model/spec.h"
#include "core/predict/target_device.h"

#include <string>
#include <utility>
#include <vector>

namespace tilescope::predict {

/// A change of a spec after which it would fit.
struct Suggestion {
    std::vector<std::pair<std::string, std::string>>
        keys; ///< checkpointing: block; of spec keys and their values
    Bytes peakAllocated{};
    std::optional<Bytes> peakReserved = {};

    /// `--set checkpointing=block --set precision=bf16`
    std::string flags() const;
};

/// What would make a point fit that does not, by the predictor's word: each change by itself (the largest
/// smaller batch, the longest shorter context, half precision, recomputation, an attention that keeps no
/// scores), then together those that change no size, where none does alone. Only those that fit, the least
/// change first. Empty where nothing helps, or nothing is known of the point. Some predictions of a spec:
/// milliseconds.
std::vector<Suggestion> suggestions(const ExperimentSpec& spec, const TargetDevice& device);

} // namespace tilescope::predict
