#pragma once

#include "core/store/file/writer_lock.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace tilescope::session {

/// The file that a writer of a .tscope file opens: the file itself on a local disk, or a local copy if it is
/// on a network filesystem, where SQLite's log and locks are unreliable.
///
/// While a copy is written, this holds the writer's lock beside the original, so that writers on other nodes
/// are refused and readers know about the writer. Snapshots of committed data replace the original
/// atomically, every ten seconds and at the end. A copy whose writer was killed is kept: the next writer of
/// the file on this machine continues it.
///
/// TILESCOPE_SCRATCH=always always writes a copy, =never never does. Copies are in TMPDIR, or in another
/// local folder if TMPDIR is not local. One thread.
class WorkingCopy {
public:
    using Log = std::function<void(const std::string&)>;

    struct Timing {
        std::chrono::milliseconds between{10'000}; ///< snapshots
    };

    /// \param log  receives a sentence about where the file is written and what could not be published yet
    /// \throws Error  another process writes the file; there is no local disk; the copy cannot be made
    WorkingCopy(const std::filesystem::path& file, Log log, const Timing& timing);
    WorkingCopy(const std::filesystem::path& file, Log log);
    WorkingCopy(const WorkingCopy&) = delete;
    WorkingCopy& operator=(const WorkingCopy&) = delete;

    /// The file to open for writing.
    const std::filesystem::path& path() const { return copy_.empty() ? file_ : copy_; }

    /// Call after the writer may have committed.
    void touched() { changed_ = true; }
    /// When the next snapshot is due; none if nothing has changed.
    std::optional<std::chrono::steady_clock::time_point> due() const;
    /// Publishes a snapshot if one is due. A failure is logged and retried later.
    void publishIfDue();
    /// Call after the writer has sealed its file: publishes it and removes the copy.
    /// \throws Error  it cannot be published; the copy is kept, and the error names it
    void bringHome();

private:
    void lookForLeftCopy();
    void makeCopy();
    void putAside();
    void publish(const std::filesystem::path& whole);

    const std::filesystem::path file_;
    const Log log_;
    const Timing timing_;
    std::optional<store::WriterLock> lock_; ///< of `file_`; held while a copy is written
    std::filesystem::path folder_;          ///< of the copy
    std::filesystem::path copy_;            ///< empty: the file is written directly
    std::chrono::steady_clock::time_point publishedAt_;
    std::chrono::steady_clock::duration publishing_{}; ///< duration of the last snapshot
    bool changed_ = false;
};

/// Checks TILESCOPE_SCRATCH before anything is started.
/// \throws Error  it is not one of auto, always, never
void requireKnownScratch();

/// Publishes the copy that a killed writer left on this machine; does nothing if there is none. A writer that
/// was just killed may still hold its lock, so this waits for it: otherwise a resumed sweep would repeat
/// points that the copy contains.
/// \throws Error  another process still writes the file after `timeout`; the copy cannot be published
void bringHomeLeftCopy(const std::filesystem::path& file, const WorkingCopy::Log& log,
                       std::chrono::milliseconds timeout = std::chrono::seconds(3));

} // namespace tilescope::session
