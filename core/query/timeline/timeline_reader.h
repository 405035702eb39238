#pragma once

#include "core/query/timeline/timeline.h"

#include <functional>
#include <optional>

namespace tilescope::store {
class RunReader;
}

namespace tilescope::query {

/// A builder that knows kernels, and texts by `textOf`.
TimelineBuilder builderFor(TimelineBuilder::TextOf textOf, Timestamp origin);

/// All lanes of a run: from its tracks where the file keeps them ready made, else from its events, of which
/// some ten thousand are held at a time. Empty where the run has no events; none where cancelled.
/// \throws Error  a damaged file
std::optional<Timeline> readTimeline(const store::RunReader& reader, RunId run,
                                     const std::function<bool()>& cancelled);

/// The same from the events whatever the file keeps.
std::optional<Timeline> timelineFromEvents(const store::RunReader& reader, RunId run,
                                           const std::function<bool()>& cancelled);

} // namespace tilescope::query
