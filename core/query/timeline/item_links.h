#pragma once

#include "core/query/timeline/timeline.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace tilescope::store {
class RunReader;
}

namespace tilescope::query {

/// The boxes that a box is connected with: by launch, by autograd, which gives an op and its backward node the same
/// sequence number, and as parts of one collective.
struct ItemLinks {
    std::optional<TimelineItem> frame = {};   ///< the innermost call of the stack that launched it
    std::optional<TimelineItem> launch = {};  ///< of a device activity: the CUDA call, otherwise the
                                              ///< innermost op
    std::vector<TimelineItem> launched = {};  ///< of a host box: the device activities it launched, in
                                              ///< order; at most kMost
    std::optional<TimelineItem> forward = {}; ///< of a box in backward: the corresponding forward op
    std::vector<TimelineItem> backward = {};  ///< of a box in forward: its backward ops
    /// Of a collective: its boxes on all ranks, the item included, by rank. Empty if only one rank recorded it.
    std::vector<TimelineItem> collective = {};

    static constexpr std::size_t kMost = 1000;
    bool empty() const
    {
        return !frame && !launch && launched.empty() && !forward && backward.empty() && collective.empty();
    }
};

/// Reads the events around the item and, for autograd, the ops of its step. Empty if cancelled.
/// \throws Error  the file is damaged
ItemLinks linksOf(const store::RunReader& reader, RunId run, const Timeline& timeline,
                  const TimelineItem& item, const std::function<bool()>& cancelled);

/// A device activity and the host box that launched it.
struct LaunchLink {
    TimelineItem host;
    TimelineItem device;

    bool operator==(const LaunchLink&) const = default;
};

/// The launches of the activities within [from, to), by the start of the activity. Empty if there are more
/// than `most`, which would not be readable as lines.
std::vector<LaunchLink> launchesWithin(const store::RunReader& reader, RunId run, const Timeline& timeline,
                                       std::int64_t from, std::int64_t to, std::size_t most,
                                       const std::function<bool()>& cancelled);

/// The deepest box of a thread at a moment, or none. O(rows log n).
std::optional<TimelineItem> hostBoxAt(const Timeline& timeline, ThreadId thread, std::int64_t time);

/// Passes every box of a stream with that name to `take`, by lane, row and start: the instances of a kernel.
/// Reads four bytes per event.
/// \return  false if cancelled
bool eachInstance(const Timeline& timeline, std::string_view name,
                  const std::function<void(const TimelineItem&)>& take,
                  const std::function<bool()>& cancelled);

} // namespace tilescope::query
