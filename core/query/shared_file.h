#pragma once

#include "core/query/file_session.h"
#include "core/query/timeline/timeline_follower.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tilescope::query {

/// A file that is open in the window, and perhaps still being written. Any thread; a job borrows a session
/// and gives it back by ending the lease.
///
/// A writer on a local disk adds to the file and its log; one on a network disk replaces the file by its next
/// snapshot. look() notices either; in between, everything tells of the file as it was looked at last.
class SharedFile {
public:
    explicit SharedFile(std::filesystem::path path) : path_(std::move(path)) {}

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
    /// \throws Error  where the file cannot be opened
    Lease borrow();
    const std::filesystem::path& path() const { return path_; }

    /// The runs as they are now; null where nothing has changed since the call before. Cheap where nothing
    /// has; else O(samples of the runs that have not ended).
    /// \throws Error  as FileSession
    std::shared_ptr<const FileSnapshot> look();

    /// The timeline of a run; null where cancelled. Read once and kept while it is among the last that were
    /// asked for. Of a run that is being written, what is there now: the same object where nothing is new,
    /// and each call reads only what is. Blocks while another thread reads the same file's.
    /// \throws Error  as FileSession
    std::shared_ptr<const Timeline> timeline(RunId run, const Cancelled& cancelled);

private:
    /// What changes when a file does, without opening it: its place on the disk, times and sizes of it and of
    /// its log.
    struct Stamp {
        std::uint64_t device = 0;
        std::uint64_t node = 0;
        std::int64_t size = -1;
        std::int64_t changed = 0;
        std::int64_t logSize = -1;
        std::int64_t logChanged = 0;
        bool operator==(const Stamp&) const = default;
    };
    /// A run whose events are read as they come, through a session of its own.
    struct Followed {
        std::uint64_t edition = 0; ///< of the file that `session` reads
        std::unique_ptr<FileSession> session;
        std::unique_ptr<TimelineFollower> follower;
    };
    struct Kept {
        std::string uid; ///< of the run: the same in every snapshot of a file
        RunStatus status;
        std::shared_ptr<const Timeline> timeline;
    };

    Stamp stamp() const;
    std::uint64_t edition();
    std::shared_ptr<const Timeline> follow(RunId run, const std::string& uid, const Cancelled& cancelled);

    const std::filesystem::path path_;

    std::mutex mutex_;
    std::vector<std::unique_ptr<FileSession>> idle_; // guarded by mutex_
    std::uint64_t edition_ = 0; // guarded by mutex_; grows when another file has taken the place of this

    std::mutex looking_;                           // held by look()
    Stamp last_;                                   // guarded by looking_
    std::shared_ptr<const FileSnapshot> snapshot_; // guarded by looking_
    std::chrono::steady_clock::time_point lookedAt_{};

    std::mutex reading_;                       // held while a timeline is read
    std::vector<Kept> kept_;                   // guarded by reading_; the last asked for at the back
    std::map<std::string, Followed> followed_; // guarded by reading_; by uid
};

} // namespace tilescope::query
