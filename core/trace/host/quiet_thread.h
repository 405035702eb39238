#pragma once

#include <functional>
#include <thread>

namespace tilescope::trace {

/// Whether threads of this process may wait for each other. The C library ends the process at a wait if a system-call filter (seccomp)
/// refuses futex().
bool mayWait() noexcept;

/// Whether a new thread can run. The C library ends the process if a filter refuses what the thread needs: futex(), rseq() and mmap().
bool mayStartThread() noexcept;

/// Starts a thread that takes no signals: those of the program are for the program's own threads.
/// \param name  of at most 15 characters
/// \throws std::system_error  the process may not start a thread
std::thread startQuietThread(const char* name, std::function<void()> run);

} // namespace tilescope::trace
