#include "core/query/shared_file.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/store/run_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tilescope::query {

namespace {

/// After this time without a change of the file, running runs are checked again: their writer may have died.
constexpr auto kTrusted = std::chrono::seconds(2);

bool isBeingWritten(const FileSnapshot& snapshot)
{
    return std::ranges::any_of(snapshot.runs,
                               [](const RunSummary& run) { return run.result.status == RunStatus::Running; });
}

std::pair<std::string, RunStatus> stateOf(const store::RunReader& reader, RunId run)
{
    const std::optional<store::RunRecord> record = reader.run(run);
    if (!record)
        throw Error{.what = "there is no run " + std::to_string(run.value) + " any more",
                    .where = reader.file().string()};
    return {record->uid, record->result.status};
}

std::int64_t nanoseconds(const timespec& time)
{
    return 1'000'000'000LL * time.tv_sec + time.tv_nsec;
}

} // namespace

SharedFile::Stamp SharedFile::stamp() const
{
    struct stat file {};
    if (stat(path_.c_str(), &file) != 0)
        throw Error{.what = std::string("cannot be opened (") + std::strerror(errno) + ")",
                    .where = path_.string(),
                    .remedy = "check the path"};
    Stamp stamp{.device = file.st_dev,
                .node = file.st_ino,
                .size = file.st_size,
                .changed = nanoseconds(file.st_mtim)};
    if (struct stat log{}; stat((withLinksFollowed(path_).string() + "-wal").c_str(), &log) == 0) {
        stamp.logSize = log.st_size;
        stamp.logChanged = nanoseconds(log.st_mtim);
    }
    return stamp;
}

std::uint64_t SharedFile::edition()
{
    const MutexLock lock(mutex_);
    return edition_;
}

SharedFile::Lease SharedFile::borrow()
{
    std::uint64_t edition = 0;
    {
        const MutexLock lock(mutex_);
        edition = edition_;
        if (!idle_.empty()) {
            auto session = std::move(idle_.back());
            idle_.pop_back();
            return {*this, std::move(session), edition};
        }
    }
    return {*this, std::make_unique<FileSession>(path_), edition};
}

SharedFile::Lease::~Lease()
{
    const MutexLock lock(owner_->mutex_);
    // A session on a replaced file is not reused.
    if (edition_ == owner_->edition_)
        owner_->idle_.push_back(std::move(session_));
}

std::shared_ptr<const FileSnapshot> SharedFile::look()
{
    const MutexLock looking(looking_);
    // Taken before reading: changes during the read are found by the next call.
    const Stamp now = stamp();
    const auto time = std::chrono::steady_clock::now();
    const bool mayBeDead = snapshot_ && isBeingWritten(*snapshot_) && time - lookedAt_ > kTrusted;
    if (snapshot_ && now == last_ && !mayBeDead)
        return nullptr;
    if (snapshot_ && (now.device != last_.device || now.node != last_.node)) {
        const MutexLock lock(mutex_);
        ++edition_;
        idle_.clear();
    }
    snapshot_ = std::make_shared<const FileSnapshot>(borrow()->snapshot(snapshot_.get()));
    last_ = now;
    lookedAt_ = time;
    return snapshot_;
}

std::shared_ptr<const Timeline> SharedFile::timeline(RunId run, const Cancelled& cancelled)
{
    const MutexLock lock(reading_);
    return read(run, false, cancelled);
}

std::shared_ptr<const Timeline> SharedFile::timelineWithFrames(RunId run, const Cancelled& cancelled)
{
    const MutexLock lock(reading_);
    return read(run, true, cancelled);
}

std::shared_ptr<const Timeline> SharedFile::read(RunId run, bool frames, const Cancelled& cancelled)
{
    constexpr std::size_t kMostKept = 6;
    const Lease session = borrow();
    const auto [uid, status] = stateOf(session->reader(), run);
    if (status == RunStatus::Running) {
        std::erase_if(kept_, [&uid = uid](const Kept& kept) { return kept.uid == uid; });
        return follow(run, uid, cancelled);
    }
    followed_.erase(uid);
    const auto known = std::ranges::find_if(kept_, [&uid = uid, status = status](const Kept& kept) {
        return kept.uid == uid && kept.status == status;
    });
    if (known != kept_.end()) {
        std::rotate(known, known + 1, kept_.end());
    } else {
        std::shared_ptr<const Timeline> timeline = session->timeline(run, cancelled);
        if (!timeline)
            return nullptr;
        kept_.push_back({uid, status, std::move(timeline)});
        if (kept_.size() > kMostKept)
            kept_.erase(kept_.begin());
    }
    Kept& kept = kept_.back();
    if (frames && !kept.hasFrames) {
        std::shared_ptr<const Timeline> whole = session->withFrames(run, kept.timeline, cancelled);
        if (!whole)
            return nullptr;
        kept.timeline = std::move(whole);
        kept.hasFrames = true;
    }
    return kept.timeline;
}

std::shared_ptr<const Timeline> SharedFile::follow(RunId run, const std::string& uid,
                                                   const Cancelled& cancelled)
{
    const std::uint64_t now = edition();
    Followed& followed = followed_[uid];
    if (!followed.session || followed.edition != now) {
        auto session = std::make_unique<FileSession>(path_);
        if (followed.follower)
            followed.follower->continueWith(session->reader());
        else
            followed.follower = std::make_unique<TimelineFollower>(session->reader(), run);
        followed.session = std::move(session);
        followed.edition = now;
    }
    return followed.follower->follow(cancelled);
}

} // namespace tilescope::query
