#pragma once

namespace tilescope::record {

/// Records the calls of Python functions of the calling thread from now on, as a profiler of Python does: name,
/// start and end. Calls shorter than a microsecond are left out. Takes the place of another profiler that the
/// program has set. The caller holds the interpreter's lock.
/// \return  whether this Python can; from 3.9 on
bool recordFrames() noexcept;

} // namespace tilescope::record
