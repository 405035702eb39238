#pragma once

#include "core/base/mutex.h"

#include <filesystem>
#include <stop_token>
#include <thread>

namespace tilescope::store {

/// The right to write one .tscope file: a lock on FILE-lock beside it, held from construction to destruction.
///
/// The operating system releases it when the process ends in any way. A separate thread writes a heartbeat to
/// the file every two seconds, which distinguishes a living writer from one on a host that is gone (network
/// filesystems). A side file, because closing any descriptor of the database itself would release SQLite's
/// locks. The constructing thread owns it.
class WriterLock {
public:
    /// \throws Error  where another writer holds it (names that process), or the folder cannot be written
    explicit WriterLock(const std::filesystem::path& file);
    ~WriterLock();
    WriterLock(const WriterLock&) = delete;
    WriterLock& operator=(const WriterLock&) = delete;

    /// Whether a living writer is at work on `file`. Changes nothing.
    static bool isHeld(const std::filesystem::path& file);

    /// Beside the file itself, whatever link leads to it.
    static std::filesystem::path sideFile(const std::filesystem::path& file);

private:
    void take(const std::filesystem::path& file);
    void beat();

    std::filesystem::path side_;
    int descriptor_ = -1;
    Mutex mutex_; // protects only the condition of the waiting thread
    StoppableCondition wake_;
    std::jthread heart_; // last: it ends before the rest goes
};

} // namespace tilescope::store
