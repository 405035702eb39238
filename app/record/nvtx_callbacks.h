#pragma once

#include "core/base/mutex.h"

#include <nvtx3/nvToolsExt.h>

namespace tilescope::record {

/// Replaces the NVTX functions of one image: ranges go to the calling thread's log. Marks are not recorded. Marks in
/// the domain `tilescope` are messages of the Python bootstrap:
///
///     step            a step of the program ends
///     torch           PyTorch was imported
///     node SEQUENCE   the calling thread created this autograd node; `node` follows while it is evaluated
///     next node       the same for the next node that the calling thread creates
///     ops             the ranges of PyTorch are operators from now on (nvtx_ops.h)
///     flush           the process will end without exit()
///     end             the recording ends; the process goes on
///
/// \return  whether the image gave its table of functions
bool installNvtxCallbacks(NvtxGetExportTableFunc_t getExportTable);
/// Guards registered texts and started ranges. For fork().
Mutex& nvtxMutex();

} // namespace tilescope::record
