#pragma once

#include <functional>
#include <thread>

namespace tilescope::trace {

/// Starts a thread that takes no signals: those of the program are for the program's own threads.
/// \param name  of at most 15 characters
/// \throws std::system_error  the process may not start a thread
std::thread startQuietThread(const char* name, std::function<void()> run);

} // namespace tilescope::trace
