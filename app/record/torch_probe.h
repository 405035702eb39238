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
/// Checks a node that the calling thread created: if its numbers are as expected, the nodes of this process are read from now
/// on. Nothing is evaluated.
/// \param object       the Python object of the node, which consists of its header and a std::shared_ptr
/// \param headerBytes  object.__basicsize__ of this Python
/// \return  false if they are not: of a node of another thread
bool checkNode(const void* object, std::size_t headerBytes, std::uint64_t sequence) noexcept;

} // namespace tilescope::record
