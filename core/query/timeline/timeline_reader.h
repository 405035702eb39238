#pragma once

#include "core/query/timeline/timeline.h"

#include <functional>
#include <optional>

namespace tilescope::store {
class RunReader;
}

namespace tilescope::query {

/// A builder with kernel names, and texts from `textOf`.
TimelineBuilder builderFor(TimelineBuilder::TextOf textOf, Timestamp origin);

/// All lanes of a run but those of Python's stacks: from the file's prepared tracks if there are any, otherwise
/// from its events, of which about ten thousand are in memory at a time. Empty if the run has no events; none if
/// cancelled.
/// \throws Error  the file is damaged
std::optional<Timeline> readTimeline(const store::RunReader& reader, RunId run,
                                     const std::function<bool()>& cancelled);

/// Like readTimeline(), but always from the events.
std::optional<Timeline> timelineFromEvents(const store::RunReader& reader, RunId run,
                                           const std::function<bool()>& cancelled);

/// `timeline` and the stacks of the run's threads, which no prepared track holds. O(frames); none if cancelled.
/// \param timeline  of readTimeline() or timelineFromEvents()
std::optional<Timeline> withFrames(const store::RunReader& reader, RunId run, const Timeline& timeline,
                                   const std::function<bool()>& cancelled);

} // namespace tilescope::query
