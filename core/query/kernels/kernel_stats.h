#pragma once

#include "core/query/timeline/timeline.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tilescope::query {

/// The times of the device activities of one name, in nanoseconds.
struct KernelStat {
    std::uint32_t name = 0; ///< of the timeline
    Hue hue = Hue::Other;
    std::int64_t instances = 0;
    std::int64_t total = 0;
    std::int64_t shortest = 0;
    std::int64_t longest = 0;
    double mean = 0;
    std::optional<double> standardDeviation = {}; ///< of the sample; none for one instance
};

/// A stretch of a timeline, [from, to).
using Stretch = std::pair<std::int64_t, std::int64_t>;

/// What the device did within `stretch`, by name, the costliest first; empty if cancelled. An activity
/// that begins before the stretch or ends after it counts with its part inside, so that the times of one
/// stream add up to the time in which it was busy. Shortest, longest and mean are those of the parts.
/// \param process  counts only activities of this process; none: of all processes
/// \param lane     counts only those of this lane of the timeline; none: of all
std::vector<KernelStat> kernelsWithin(const Timeline& timeline, Stretch stretch,
                                      const std::function<bool()>& cancelled, ProcessIndex process = {},
                                      std::optional<std::size_t> lane = {});

/// Like the function above, for a host's ops by self time (without the ops that they call), which is the
/// activity of a CPU. The times of one thread add up to the time within any op; an op that only calls other
/// ops counts as an instance without time. Ops are in rows below their callers.
std::vector<KernelStat> opsWithin(const Timeline& timeline, Stretch stretch,
                                  const std::function<bool()>& cancelled, ProcessIndex process = {},
                                  std::optional<std::size_t> lane = {});

/// Whether an activity, by its name's number and its hue, is one of those in question.
using ActivityChoice = std::function<bool(std::uint32_t name, Hue hue)>;

/// The stretch of a lane that counts; none: the lane does not count.
using StretchOf = std::function<std::optional<Stretch>(const Lane&)>;
/// The given stretch for every lane; without a stretch, the whole lanes.
StretchOf everywhere(std::optional<Stretch> stretch = {});

/// How long the chosen device activities took that start within the stretch of their lane: one entry an instance,
/// in no order; empty if cancelled. Reads the timeline's rows, not the file.
std::vector<std::int64_t> lengthsOf(const Timeline& timeline, const ActivityChoice& isChosen,
                                    const StretchOf& stretchOf, const std::function<bool()>& cancelled);

/// Where the host is in a traced step, in the lanes of a process (none: of all); one for every step if none is
/// chosen; everywhere if the timeline has no steps.
std::vector<StretchOf> hostSteps(const std::shared_ptr<const Timeline>& timeline,
                                 std::optional<std::int32_t> step, ProcessIndex process = {});

/// How long the chosen ops that start within these stretches took without the ops that they call: one entry an
/// instance, in no order; empty if cancelled.
std::vector<std::int64_t> selfTimesOf(const Timeline& timeline, const ActivityChoice& isChosen,
                                      const std::vector<StretchOf>& stretches,
                                      const std::function<bool()>& cancelled);

/// The times of all ops by name, the costliest first. Unlike in opsWithin(), an op counts with its full time.
std::vector<KernelStat> opStats(const Timeline& timeline, const std::vector<StretchOf>& stretches,
                                const std::function<bool()>& cancelled);

/// The longest device activity with that name, the first of equal ones; otherwise the longest host op. None if there is
/// neither, or if cancelled.
std::optional<TimelineItem> longestInstance(const Timeline& timeline, std::string_view text,
                                            const std::function<bool()>& cancelled);

/// The timeline's name with that text; none if there is none.
std::optional<std::uint32_t> findName(const Timeline& timeline, std::string_view text);

/// What devices did within a stretch: time by hue of their busy lanes, their gaps among them.
struct BusyShare {
    int devices = 0;
    std::int64_t length = 0; ///< of the stretch, times the devices
    std::array<std::int64_t, kHueCount> time{};

    double of(Hue hue) const { return length > 0 ? double(time[std::size_t(hue)]) / double(length) : 0; }
    double busy() const { return of(Hue::Busy); }
};

/// Of the devices whose activities kernelsWithin() counts. None if no device was traced.
std::optional<BusyShare> busyShare(const Timeline& timeline, Stretch stretch, ProcessIndex process = {});

/// Allocated bytes at both ends of a stretch, on that of these devices with the greatest peak.
std::optional<std::pair<std::int64_t, std::int64_t>> memoryAcross(const Timeline& timeline, Stretch stretch,
                                                                  ProcessIndex process = {});

} // namespace tilescope::query
