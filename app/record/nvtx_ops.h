#pragma once

#include <string_view>

namespace tilescope::record {

/// Lets the ranges of PyTorch (core/model/nvtx_op.h) become operators from now on. Any thread.
void takeNvtxOps() noexcept;
/// A range of the calling thread begins. Opens an operator if it is one.
/// \return  whether it is: then popNvtxOp() ends it
bool pushNvtxOp(std::string_view text) noexcept;
/// A range that was no operator begins in the calling thread.
void pushOtherRange() noexcept;
/// The innermost range of the calling thread ends.
/// \return  whether it was an operator
bool popNvtxOp() noexcept;

} // namespace tilescope::record
