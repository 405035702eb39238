#pragma once

namespace tilescope::record {

/// Writes what was recorded before os._exit(), os.execv() and os.execve() end this program: nothing that exit() runs is run
/// then. The functions stay the same objects; they get another C function.
///
/// watch_ends(headerBytes, _exit, execv, execve), a function of Python.
void* watchEnds(void* self, void* tuple) noexcept;

} // namespace tilescope::record
