#pragma once

#include "core/trace/cupti/cupti_api.h"

#include <memory>
#include <string>

namespace tilescope::record {

/// The CUPTI that this process has loaded, otherwise one that it can load: two copies in one process do not
/// work. The library does not link CUPTI. From CUDA 13.3 on, other profilers can use CUPTI at the same time.
/// \param reason  receives one sentence if there is no usable CUPTI
/// \return        null if there is no usable CUPTI
std::unique_ptr<trace::CuptiApi> loadedCupti(std::string& reason);
/// Its handle, as of dlopen(); null if there is none.
void* loadedCuptiLibrary();

/// Name and UUID of a CUDA device of this process, in the form of nvidia-smi; empty where unknown. Asks the
/// driver that is loaded, and loads none.
struct DeviceFacts {
    std::string name;
    std::string uuid;
};
DeviceFacts factsOfDevice(int ordinal);

} // namespace tilescope::record
