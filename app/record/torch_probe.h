#pragma once

#include <cstdint>

namespace tilescope::record {

/// Lets the host's logs ask the PyTorch of this process which backward node a thread evaluates, so that backward
/// work finds the module of its forward pass.
///
/// The library does not link LibTorch. It finds LibTorch's functions by name in the library that the program loaded.
/// Before it relies on the layout of a node, it checks the layout with a node whose numbers are known. Any thread.

/// \return  whether PyTorch is loaded and has the functions
bool findTorch();
/// The calling thread created a node with this sequence number; confirmNode() is called while it is evaluated.
void expectNode(std::uint64_t sequence) noexcept;
/// The same for the next node that the calling thread creates.
void expectNextNode() noexcept;
/// Called while that node is evaluated: if its numbers are as expected, the nodes of this process are read from now on.
void confirmNode() noexcept;

} // namespace tilescope::record
