#pragma once

#include "core/query/timeline/timeline.h"
#include "core/store/run_reader.h"

#include <functional>
#include <memory>
#include <optional>

namespace tilescope::query {

/// The timeline of a run that is still being written, as far as it is committed.
///
/// Each look reads only what is new and places it; what was drawn before is copied, 17 bytes an event. Times
/// count from the first event that was seen, as nearly as the first look tells. One thread; the reader
/// outlives it or what it is continued with.
class TimelineFollower {
public:
    TimelineFollower(const store::RunReader& reader, RunId run) : reader_(&reader), run_(run) {}
    TimelineFollower(const TimelineFollower&) = delete;
    TimelineFollower& operator=(const TimelineFollower&) = delete;

    /// From now on reads a later snapshot of the same file.
    void continueWith(const store::RunReader& reader) { reader_ = &reader; }

    /// What is there now: the same object as before where nothing is new; null where cancelled, and then
    /// the next call goes on.
    /// \throws Error  damaged, no such run
    std::shared_ptr<const Timeline> follow(const std::function<bool()>& cancelled);

private:
    std::size_t addNew();
    void add(const TraceBatch& batch);
    void nameThreads();

    const store::RunReader* reader_;
    const RunId run_;
    store::EventMark mark_;
    std::optional<TimelineBuilder> builder_; ///< none before the first event
    std::size_t namedThreads_ = 0;
    bool changed_ = true; ///< since `latest_` was made
    std::shared_ptr<const Timeline> latest_;
};

} // namespace tilescope::query
