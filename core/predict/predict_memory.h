#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"
#include "core/predict/memory.h"
#include "core/predict/target_device.h"

#include <optional>

namespace tilescope::predict {

/// Predicted memory use of a point.
struct MemoryPrediction {
    /// During the timed steps; the most, if it depends on which threads of a CPU need memory at the same instant.
    Bytes peakAllocated{};
    Bytes leastPeakAllocated{};               ///< if they need it one after the other
    std::optional<Bytes> peakReserved = {};   ///< none on a CPU, which has no caching allocator
    std::optional<Bytes> beforeBackward = {}; ///< allocated between forward and backward; none if there is no
                                              ///< backward
    BytesByCategory atPeak{};                 ///< peakAllocated by category
    /// Where the point runs out of memory, given the limits of device and spec, on a CPU less a ten-thousandth for small
    /// tensors that are not counted. The peaks ignore those limits.
    std::optional<OomInfo> outOfMemory = {};
};

/// Predicts the peak memory of a point: replays the allocations of its steps in a model of the allocator,
/// without LibTorch. Thread-safe.
///
/// \return  none if it cannot be predicted: workloads without steps, packages, and models of compile: inductor
/// O(layers) operations, a few microseconds per layer.
std::optional<MemoryPrediction> predictMemory(const ExperimentSpec& spec, const TargetDevice& device);

/// Like predictMemory(); also reports each allocation and free of one step in the steady state.
void replayStep(const ExperimentSpec& spec, const TargetDevice& device, Memory::Observer observer);

} // namespace tilescope::predict
