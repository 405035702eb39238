#pragma once

#include <cstdint>
#include <string>

namespace tilescope::trace {

/// The range in which a thread made an autograd node: step/forward/layers.3/ffn. Empty where that is not
/// known: outside any range, or long ago. Any thread, while a tracer records.
/// \param thread    logical thread of the node (at::RecordFunction's)
/// \param sequence  number that autograd gave it
std::string pathCreating(std::uint64_t thread, std::uint64_t sequence);

} // namespace tilescope::trace
