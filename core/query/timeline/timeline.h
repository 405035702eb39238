#pragma once

#include "core/base/ids.h"
#include "core/model/events.h"
#include "core/query/timeline/step_curve.h"
#include "core/query/timeline/timeline_levels.h"
#include "core/store/rows/lanes.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// A horizontal band of the timeline: rows of boxes, or a curve.
struct Lane {
    enum class Kind { Ranges, Thread, Stream, Busy, Memory };

    Kind kind = Kind::Stream;
    std::string title;  ///< Ranges, main 412, stream 7, GPU busy, Memory
    std::string detail; ///< second line of the label: "ops, API calls"
    ThreadId thread;    ///< Ranges and Thread
    DeviceIndex device; ///< Stream, Busy and Memory
    StreamId stream;    ///< Stream
    std::vector<Track> rows;
    StepCurve allocated; ///< Memory: bytes
    StepCurve reserved;

    std::size_t events() const;
};

/// A text that boxes carry.
struct TimelineName {
    std::string text;  ///< as recorded; a range's path
    std::string label; ///< what fits in a box
};

/// A traced step.
struct TimelineStep {
    std::int32_t step = 0;
    std::int64_t start = 0;
    std::int64_t end = 0;
};

/// A box: lane, row in it, index in the row.
struct TimelineItem {
    std::size_t lane = 0;
    std::size_t row = 0;
    std::size_t index = 0;

    bool operator==(const TimelineItem&) const = default;
};

/// All lanes of one run, ready to be drawn at any zoom. Times are nanoseconds from `origin`. Published once
/// as shared_ptr<const Timeline>, never changed after.
struct Timeline {
    Timestamp origin{};
    std::int64_t length = 0; ///< nanoseconds from the first event's start to the last one's end
    std::vector<Lane> lanes;
    std::vector<TimelineName> names; ///< Track::name() is an index into it
    std::vector<TimelineStep> steps;

    /// The stretch that a first look should show: the traced steps, or everything where there are none.
    std::pair<std::int64_t, std::int64_t> interesting() const;

    /// The box of `row` at `time`, or the nearest one within `slack` nanoseconds; none where there is
    /// nothing.
    std::optional<std::size_t> hit(const Track& row, std::int64_t time, std::int64_t slack) const;

    /// Bytes that the rows and curves occupy.
    std::size_t memory() const;
};

/// Makes a Timeline from a run's records.
///
/// Each list comes in start order; a list may come in several calls. One thread.
class TimelineBuilder {
public:
    using TextOf = std::function<std::string_view(StringId)>;
    /// Tells a device activity's short name and family.
    struct DeviceName {
        std::string label;
        Hue hue = Hue::Other;
    };
    using DeviceNameOf = std::function<DeviceName(std::string_view name, DeviceEventKind kind)>;

    /// \param textOf        resolves the records' string ids while building
    /// \param deviceNameOf  asked once per distinct kernel name
    /// \param origin        start of the first event
    TimelineBuilder(TextOf textOf, DeviceNameOf deviceNameOf, Timestamp origin);
    ~TimelineBuilder();
    TimelineBuilder(TimelineBuilder&&) noexcept;

    void nameThread(ThreadId thread, std::string_view name);
    void addRanges(std::span<const Range> ranges);
    /// Ops and CUDA calls of the host share the rows of their thread.
    void addHost(std::span<const Op> ops, std::span<const ApiCall> calls);
    void addDevice(std::span<const DeviceEvent> events);
    void addAllocations(std::span<const AllocEvent> events);

    /// The same from what a file keeps ready made: stretches of a row in start order, the rows of all lanes
    /// in any order. Not both for one lane.
    /// \param zero  the moment from which their times count
    void addBoxes(const store::TrackInfo& track, std::span<const store::Box> boxes, Timestamp zero);
    void addPoints(const store::TrackInfo& track, std::span<const store::MemoryPoint> points, Timestamp zero);
    Timeline build() &&;
    /// What was added so far, while more may come. O(events), 17 bytes each.
    Timeline snapshot();

private:
    struct State;
    explicit TimelineBuilder(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

} // namespace tilescope::query
