#pragma once

#include "core/query/timeline/timeline.h"
#include "core/store/run_reader.h"

#include <functional>
#include <memory>
#include <optional>

namespace tilescope::query {

/// The timeline of a run that is still being written, up to the last commit.
///
/// Each call reads and places only new events and copies the existing ones, 17 bytes each. Times are relative
/// to the first event known at the first call. One thread. The reader must outlive this object or its
/// replacement by continueWith().
class TimelineFollower {
public:
    TimelineFollower(const store::RunReader& reader, RunId run) : reader_(&reader), run_(run) {}
    TimelineFollower(const TimelineFollower&) = delete;
    TimelineFollower& operator=(const TimelineFollower&) = delete;

    /// Reads from a later snapshot of the same file from now on.
    void continueWith(const store::RunReader& reader) { reader_ = &reader; }

    /// The current timeline: the same object if nothing is new; null if cancelled, in which case the next
    /// call continues.
    /// \throws Error  the file is damaged; no such run
    std::shared_ptr<const Timeline> follow(const std::function<bool()>& cancelled);

private:
    std::size_t addNew();
    void add(const TraceBatch& batch);
    void nameThreads();

    const store::RunReader* reader_;
    const RunId run_;
    store::EventMark mark_;
    std::optional<TimelineBuilder> builder_; ///< empty before the first event
    std::size_t namedThreads_ = 0;
    bool changed_ = true; ///< since `latest_` was made
    std::shared_ptr<const Timeline> latest_;
};

} // namespace tilescope::query
