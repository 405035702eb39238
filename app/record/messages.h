#pragma once

#include <string_view>

namespace tilescope::record {

/// Takes a message of the Python bootstrap, or of a program by a mark in the NVTX domain `tilescope`:
///
///     step            a step of the program ends
///     torch           PyTorch was imported
///     ops             the ranges of PyTorch are operators from now on (nvtx_ops.h)
///     yield           the device is left to torch.profiler if the user asked for it
///     yield to proton the device is left to Proton, which cannot start otherwise
///     flush           the process will end without exit()
///     end             the recording ends; the process goes on
///
/// Others are ignored. Any thread.
void takeMessage(std::string_view text) noexcept;

} // namespace tilescope::record
