#pragma once

#include "core/base/units.h"
#include "core/model/cpu_instruction_set.h"
#include "core/model/spec.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilescope::predict {

/// The device that a prediction is for.
struct TargetDevice {
    bool isCuda = false;
    std::string name = {}; ///< NVIDIA H200; as the driver reports it
    std::string uuid = {}; ///< of a GPU of this machine
    int computeMajor = 9;  ///< compute capability
    int computeMinor = 0;
    std::optional<Bytes> capacity = {}; ///< available to a point; ranks share that of a CPU; none: unlimited
    int multiprocessors = 132;          ///< default: H100 and H200, if not calibrated
    int threads = 1;                    ///< of a CPU
    /// The threads of a CPU need the memory that each takes for a moment at the same instant; false: one after the other.
    /// Which of the two is chance.
    bool threadsMeet = true;
    CpuInstructionSet instructionSet = CpuInstructionSet::Avx512; ///< of a CPU
};

} // namespace tilescope::predict
