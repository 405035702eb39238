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

/// What a box is tied to: by the launch of what ran on the device, and by autograd, which gives the op that
/// makes a backward node and that node one sequence number.
struct ItemLinks {
    std::optional<TimelineItem> launch = {}; ///< of a device activity: the host's call, else the innermost op
    std::vector<TimelineItem> launched = {}; ///< of a host box: what ran for it, in order; at most kMost
    std::optional<TimelineItem> forward = {}; ///< of what runs in backward: the op that it is the backward of
    std::vector<TimelineItem> backward = {};  ///< of what runs in forward: its backward ops

    static constexpr std::size_t kMost = 1000;
    bool empty() const { return !launch && launched.empty() && !forward && backward.empty(); }
};

/// Reads the events around the item, and for autograd the ops of its step. Empty where cancelled.
/// \throws Error  a damaged file
ItemLinks linksOf(const store::RunReader& reader, RunId run, const Timeline& timeline,
                  const TimelineItem& item, const std::function<bool()>& cancelled);

/// Where something that ran was launched from.
struct LaunchLink {
    TimelineItem host;
    TimelineItem device;

    bool operator==(const LaunchLink&) const = default;
};

/// The launches of what runs within [from, to), in the order in which that starts; empty where there are more
/// than `most`: as lines they would hide each other.
std::vector<LaunchLink> launchesWithin(const store::RunReader& reader, RunId run, const Timeline& timeline,
                                       std::int64_t from, std::int64_t to, std::size_t most,
                                       const std::function<bool()>& cancelled);

/// The deepest box of a thread at a moment; none where it has none there. O(rows log n).
std::optional<TimelineItem> hostBoxAt(const Timeline& timeline, ThreadId thread, std::int64_t time);

/// Gives all boxes of streams that have that name, in the order of lanes, rows and start: the instances of a
/// kernel. Four bytes an event are read.
/// \return  false where cancelled
bool eachInstance(const Timeline& timeline, std::string_view name,
                  const std::function<void(const TimelineItem&)>& take,
                  const std::function<bool()>& cancelled);

} // namespace tilescope::query
