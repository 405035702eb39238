#pragma once

#include "core/base/mutex.h"
#include "core/query/file_session.h"
#include "core/query/timeline/timeline_follower.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::query {

/// A file that is open in the window and may still be written. Any thread; a job borrows a session for the
/// lifetime of a lease.
///
/// A writer on a local disk appends to the file and its log; a writer on a network disk replaces the file
/// with each snapshot. look() detects both. Between calls, all functions refer to the file as of the last
/// look().
class SharedFile {
public:
    /// \param shown  the path to display if it differs from the file: the source of an import
    explicit SharedFile(std::filesystem::path path, std::filesystem::path shown = {})
        : path_(std::move(path)), shown_(shown.empty() ? path_ : shown)
    {
    }

    class Lease {
    public:
        Lease(SharedFile& owner, std::unique_ptr<FileSession> session, std::uint64_t edition)
            : owner_(&owner), session_(std::move(session)), edition_(edition)
        {
        }
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        FileSession* operator->() const { return session_.get(); }

    private:
        SharedFile* owner_;
        std::unique_ptr<FileSession> session_;
        std::uint64_t edition_;
    };

    /// An idle session, or a new one.
    /// \throws Error  the file cannot be opened
    Lease borrow();
    const std::filesystem::path& path() const { return path_; }
    const std::filesystem::path& shown() const { return shown_; }

    /// The current runs; null if nothing has changed since the last call. Cheap if nothing has changed,
    /// otherwise O(samples of the runs that have not ended).
    /// \throws Error  from FileSession
    std::shared_ptr<const FileSnapshot> look();

    /// The timeline of a run; null if cancelled. Recently used timelines are cached. For a run that is still
    /// being written, returns its current events: each call reads only new ones and returns the same object
    /// if there are none. Blocks while another thread reads a timeline of this file.
    /// \throws Error  from FileSession
    std::shared_ptr<const Timeline> timeline(RunId run, const Cancelled& cancelled);
    /// The same with the stacks of Python's threads, which take longer to read. timeline() returns them too from
    /// then on.
    std::shared_ptr<const Timeline> timelineWithFrames(RunId run, const Cancelled& cancelled);

private:
    /// Attributes that change with the file, readable without opening it: inode, times and sizes of the file
    /// and its log.
    struct Stamp {
        std::uint64_t device = 0;
        std::uint64_t node = 0;
        std::int64_t size = -1;
        std::int64_t changed = 0;
        std::int64_t logSize = -1;
        std::int64_t logChanged = 0;
        bool operator==(const Stamp&) const = default;
    };
    /// A run whose events are read while they are written, with its own session.
    struct Followed {
        std::uint64_t edition = 0; ///< of the file that `session` reads
        std::unique_ptr<FileSession> session;
        std::unique_ptr<TimelineFollower> follower;
    };
    struct Kept {
        std::string uid; ///< identifies the run in every snapshot of a file
        RunStatus status;
        std::shared_ptr<const Timeline> timeline;
        bool hasFrames = false; ///< those that the run has
    };

    Stamp stamp() const;
    std::uint64_t edition();
    std::shared_ptr<const Timeline> read(RunId run, bool frames, const Cancelled& cancelled)
        REQUIRES(reading_);
    std::shared_ptr<const Timeline> follow(RunId run, const std::string& uid, const Cancelled& cancelled)
        REQUIRES(reading_);

    const std::filesystem::path path_;
    const std::filesystem::path shown_;

    Mutex mutex_;
    std::vector<std::unique_ptr<FileSession>> idle_ GUARDED_BY(mutex_);
    std::uint64_t edition_ GUARDED_BY(mutex_) = 0; // counts replacements of the file

    Mutex looking_; // held by look()
    Stamp last_ GUARDED_BY(looking_);
    std::shared_ptr<const FileSnapshot> snapshot_ GUARDED_BY(looking_);
    std::chrono::steady_clock::time_point lookedAt_ GUARDED_BY(looking_){};

    Mutex reading_;                                                 // held while a timeline is read
    std::vector<Kept> kept_ GUARDED_BY(reading_);                   // the most recently used at the end
    std::map<std::string, Followed> followed_ GUARDED_BY(reading_); // by uid
};

} // namespace tilescope::query
