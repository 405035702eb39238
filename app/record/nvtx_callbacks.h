#pragma once

#include "core/base/mutex.h"

#include <nvtx3/nvToolsExt.h>

namespace tilescope::record {

/// Replaces the NVTX functions of one image: ranges go to the calling thread's log. Marks are not
/// recorded; those in the domain `tilescope` are messages (messages.h).
/// \return  whether the image gave its table of functions
bool installNvtxCallbacks(NvtxGetExportTableFunc_t getExportTable);
/// Guards registered texts and started ranges. For fork().
Mutex& nvtxMutex();

} // namespace tilescope::record
