#pragma once

#include "core/store/file/writer_lock.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace tilescope::session {

/// Where a .tscope file is written: in its place on a local disk, and in a copy on a local disk where it lies
/// on a network filesystem, which keeps neither SQLite's log nor its locks well.
///
/// While such a copy is written this holds the writer's lock beside the file, so that writers on other nodes
/// are refused and readers know that somebody writes. Snapshots of what is committed take the file's place in
/// one move, every ten seconds and at the end. A copy whose writer was killed stays: whoever writes the file
/// next on this machine goes on with it.
///
/// TILESCOPE_SCRATCH=always writes a copy wherever the file lies, =never none; copies lie in TMPDIR, or
/// another local folder where that is none. One thread.
class WorkingCopy {
public:
    using Log = std::function<void(const std::string&)>;

    struct Timing {
        std::chrono::milliseconds between{10'000}; ///< snapshots
    };

    /// \param log  told in a sentence what is written where, and what could not be brought home yet
    /// \throws Error  somebody writes the file; no local disk is there; the copy cannot be made
    WorkingCopy(const std::filesystem::path& file, Log log, const Timing& timing);
    WorkingCopy(const std::filesystem::path& file, Log log);
    WorkingCopy(const WorkingCopy&) = delete;
    WorkingCopy& operator=(const WorkingCopy&) = delete;

    /// What to open as a writer.
    const std::filesystem::path& path() const { return copy_.empty() ? file_ : copy_; }

    /// The writer may have committed something.
    void touched() { changed_ = true; }
    /// When the next snapshot is due; none where there is nothing to bring home.
    std::optional<std::chrono::steady_clock::time_point> due() const;
    /// Brings a snapshot home where one is due. One that fails is told and tried again later.
    void publishIfDue();
    /// After the writer has sealed its file: brings it home and clears the copy away.
    /// \throws Error  where that fails; the copy stays, and the error names it
    void bringHome();

private:
    void lookForLeftCopy();
    void makeCopy();
    void putAside();
    void publish(const std::filesystem::path& whole);

    const std::filesystem::path file_;
    const Log log_;
    const Timing timing_;
    std::optional<store::WriterLock> lock_; ///< of `file_`, while a copy is written
    std::filesystem::path folder_;          ///< of the copy
    std::filesystem::path copy_;            ///< empty: the file is written in its place
    std::chrono::steady_clock::time_point publishedAt_;
    std::chrono::steady_clock::duration publishing_{}; ///< what the last snapshot took
    bool changed_ = false;
};

/// Brings home what a killed writer left in a copy on this machine; nothing where there is none.
/// A writer that was killed a moment ago may still be on its way out, with its lock in hand: one that is met
/// is waited for. Passing over its copy would let a resumed sweep run points again that stand there.
/// \throws Error  somebody writes the file, still after `patience`; the copy cannot be brought home
void bringHomeLeftCopy(const std::filesystem::path& file, const WorkingCopy::Log& log,
                       std::chrono::milliseconds patience = std::chrono::seconds(3));

} // namespace tilescope::session
