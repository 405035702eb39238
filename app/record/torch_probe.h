#pragma once

#include <cstddef>
#include <cstdint>

namespace tilescope::record {

/// Lets the host's logs ask the PyTorch of this process which backward node a thread evaluates, so that backward
/// work finds the module of its forward pass.
///
/// The library does not link LibTorch. It finds LibTorch's functions by name in the library that the program loaded.
/// Before it relies on the layout of a node, it checks the layout with a node whose numbers are known: checkNode(). Any
/// thread.

/// \return  whether PyTorch is loaded and has the functions
bool findTorch();
/// The sequence number of a node that the calling thread has just created.
inline constexpr std::uint64_t kLatestNode = ~std::uint64_t{0};
/// Checks the layout of a node that the calling thread created. If the node's pointer to itself, its sequence number and its thread are
/// where they are expected, the nodes of this process are read from now on. Evaluates nothing.
/// \param object       the Python object of the node, which consists of its header and a std::shared_ptr
/// \param headerBytes  object.__basicsize__ of this Python
/// \param sequence     the node's sequence number, or kLatestNode
/// \return  false if this node does not confirm the layout: it may be of another thread, and another node may confirm it
bool checkNode(const void* object, std::size_t headerBytes, std::uint64_t sequence) noexcept;

} // namespace tilescope::record
