#pragma once

#include <nvtx3/nvToolsExt.h>

#include <string_view>

namespace tilescope::record {

/// NCCL opens a range for each of its functions and attaches the arguments to it. The bootstrap knows more
/// about the collectives of frameworks that it watches; these functions are for all other programs.
///
/// The calling thread enters a function of NCCL; ignores those that are no collectives.
void startNcclCall(std::string_view name, const nvtxEventAttributes_t* event) noexcept;
/// It leaves a function of NCCL.
void endNcclCall() noexcept;

} // namespace tilescope::record
