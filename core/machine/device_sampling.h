#pragma once

#include "core/machine/cupti_functions.h"
#include "core/machine/cupti_sampling.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::machine {

/// Starts to sample a device: what SamplingLibrary::start() returns.
std::unique_ptr<DeviceSampling> sampleDevice(std::shared_ptr<SamplingFunctions> library, int device,
                                             std::vector<std::string> metrics, std::size_t constants,
                                             Nanoseconds interval);

} // namespace tilescope::machine
