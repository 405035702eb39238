#pragma once

#include <cstdint>
#include <string>

namespace tilescope::trace {

/// The range in which a thread created an autograd node: step/forward/layers.3/ffn. Empty if unknown: outside
/// any range, or too long ago. Any thread, while a tracer records.
/// \param thread    logical thread of the node (at::RecordFunction's)
/// \param sequence  its autograd sequence number
std::string pathCreating(std::uint64_t thread, std::uint64_t sequence);

} // namespace tilescope::trace
