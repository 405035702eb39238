#pragma once

#include <nvtx3/nvToolsExt.h>

namespace tilescope::record {

/// Puts the recorder behind the NVTX functions of one image: ranges go to the calling thread's log. Marks are
/// not recorded, but those in the domain `tilescope`, by which the bootstrap of Python says what is no range:
///
///     step            a step of the program ends
///     torch           PyTorch was imported
///     node SEQUENCE   the calling thread created this autograd node; `node` follows while it is evaluated
///     ops             the ranges of PyTorch are operators from now on (nvtx_ops.h)
///     flush           the process will end without exit()
///     end             the recording ends; the process goes on
///
/// \return  whether the image gave its table of functions
bool installNvtxCallbacks(NvtxGetExportTableFunc_t getExportTable);

} // namespace tilescope::record
