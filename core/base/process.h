#pragma once

namespace tilescope {

/// Call this first in main. It turns exceeding the file size limit (`ulimit -f`) into an ordinary error
/// instead of a signal. If the caller ignores SIGCHLD, it restores the default action, without which no exit status can be
/// waited for. It also opens standard descriptors that the caller closed, so that no other file gets
/// the number of standard output and using them fails.
void prepareProcess();

/// Between fork() and exec(): what prepareProcess() changed becomes what it was. The descriptors that it opened close at
/// exec().
void restoreProcess() noexcept;

} // namespace tilescope
