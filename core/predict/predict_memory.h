#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"
#include "core/predict/memory.h"
#include "core/predict/target_device.h"

#include <optional>

namespace tilescope::predict {

/// What a point will need.
struct MemoryPrediction {
    Bytes peakAllocated{};                    ///< within the timed steps
    std::optional<Bytes> peakReserved = {};   ///< none on a CPU, whose allocator keeps nothing back
    std::optional<Bytes> beforeBackward = {}; ///< allocated between forward and backward, where there is one
    BytesByCategory atPeak{};                 ///< what peakAllocated is made of
    /// Where it would fail, given what the device and the spec allow. The peaks are those without that limit.
    std::optional<OomInfo> outOfMemory = {};
};

/// Peak memory of a point before it is run: the allocations of its steps replayed, without LibTorch, into a
/// model of the allocator. Thread-safe.
///
/// \return  none where it is not known: workloads without steps, and packages that AOTInductor made
/// O(layers) operations, some microseconds each layer.
std::optional<MemoryPrediction> predictMemory(const ExperimentSpec& spec, const TargetDevice& device);

/// As predictMemory, telling each allocation and free of one step in the steady state.
void replayStep(const ExperimentSpec& spec, const TargetDevice& device, Memory::Observer observer);

} // namespace tilescope::predict
