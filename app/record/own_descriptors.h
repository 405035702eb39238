#pragma once

#include <functional>

namespace tilescope::record {

/// Gives the calling thread a table of file descriptors of its own. Whatever the program closes, reuses or duplicates
/// does not reach the files that this thread opens, and this thread cannot reach those of the program. The new table
/// holds none of the program's descriptors, so that its pipes and sockets end when the program closes them; 0 to 2 can
/// neither be read nor written.
///
/// A thread that has called it must not call CUDA or CUPTI, which use descriptors of the program.
/// \return  0, or the errno of the kernel or the seccomp filter that refuses it
int separateDescriptors() noexcept;

/// Calls a function that opens, uses and closes files, where separateDescriptors() is refused: in a short-lived process that
/// shares all memory with this one, but has a copy of its descriptors. The calling thread waits. In the function, getpid()
/// and /proc/self are those of the other process.
/// \return  false if no process can be started; the function was not called
bool callWithCopiedDescriptors(const std::function<void()>& function) noexcept;

} // namespace tilescope::record
