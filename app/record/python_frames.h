#pragma once

#include <string>
#include <string_view>

namespace tilescope::record {

/// The name of a function in recordings: `torch/nn/modules/module.py(1739): _wrapped_call_impl`. The file is as its package
/// or the working folder names it. Any thread.
/// \param line  first one of the function
std::string frameName(std::string_view file, long line, std::string_view function);

/// Records the calls of Python functions of the calling thread from now on, as a profiler of Python does: name,
/// start and end. Calls shorter than a microsecond are left out. Takes the place of another profiler that the
/// program has set. The caller holds the interpreter's lock.
/// \return  whether this Python can; from 3.9 on
bool recordFrames() noexcept;

} // namespace tilescope::record
