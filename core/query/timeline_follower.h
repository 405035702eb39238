#pragma once

#include "core/query/timeline.h"
#include "core/store/run_reader.h"

#include <functional>
#include <memory>
#include <optional>

namespace tilescope::query {

/// The timeline of a run that is still being written, as far as it is committed.
///
/// Each look reads only what is new and places it; what was drawn before is copied, 17 bytes an event. Times
/// count from the run's start. One thread; the reader outlives it.
class TimelineFollower {
public:
    TimelineFollower(const store::RunReader& reader, RunId run);

    /// What is there now: the same object as before where nothing is new; null where cancelled, and then
    /// the next call goes on. \throws Error  damaged, no such run
    std::shared_ptr<const Timeline> follow(const std::function<bool()>& cancelled);

private:
    const store::RunReader& reader_;
    const RunId run_;
    store::EventMark mark_;
    TimelineBuilder builder_;
    std::size_t namedThreads_ = 0;
    bool changed_ = true; ///< since `latest_` was made
    std::shared_ptr<const Timeline> latest_;
};

} // namespace tilescope::query
