#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope::exchange {

/// `4525974680813.322`: nanoseconds as the decimal microseconds of Chrome's trace format, exactly.
/// \param nanoseconds  at least 0
void appendMicroseconds(std::string& text, std::int64_t nanoseconds);

/// `"Input Dims": [[4, 128], [128]], "Input type": ["float", "float"]` for `f32[4, 128] f32[128]`; empty if the
/// text is not a list of shapes.
std::string kinetoInputs(std::string_view shapes);

/// PyTorch's name of a collective: allreduce for all_reduce; other names as they are.
std::string_view kinetoCollective(std::string_view op);

/// PyTorch's name of a collective's type: Float for f32; empty for unknown ones.
std::string_view kinetoDtype(std::string_view dtype);

} // namespace tilescope::exchange
