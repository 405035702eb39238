#pragma once

#include <cstdint>

namespace tilescope::record {

/// Lets the host's logs ask the PyTorch of this process which backward node a thread evaluates, so that backward
/// work finds the module of its forward pass.
///
/// LibTorch is not linked: its functions are found by name in the library that the program loaded, and the layout
/// of a node is confirmed by a node whose numbers are known before it is relied on. Any thread.

/// \return  whether PyTorch is there and has the functions
bool findTorch();
/// The calling thread created a node with this sequence number, which confirmNode() will be called in.
void expectNode(std::uint64_t sequence) noexcept;
/// Called while that node is evaluated: from now on nodes count if its numbers are as expected.
void confirmNode() noexcept;

} // namespace tilescope::record
