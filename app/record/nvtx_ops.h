#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope::record {

/// An operator in the text of an NVTX range of PyTorch (emit_nvtx):
/// "aten::addmm, seq = 5, op_id = 7, sizes = [[8], [4, 8], [8, 8]], input_op_ids = [(2,0)]".
struct NvtxOp {
    std::string_view name;
    std::int64_t sequence = -1; ///< autograd's number; -1: none
    bool isBackward = false;    ///< autograd evaluates this node
    std::string shapes;         ///< "[8] [4, 8] [8, 8]"; empty: not in the text
};

/// Reads such a text.
/// \return  false if it is the text of another range
bool readNvtxOp(std::string_view text, NvtxOp& op);

/// Lets the ranges of PyTorch become operators from now on. Any thread.
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
