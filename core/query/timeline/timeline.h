#pragma once

#include "core/base/ids.h"
#include "core/base/tasks.h"
#include "core/model/counter_track.h"
#include "core/model/events.h"
#include "core/model/topology_index.h"
#include "core/query/timeline/host_pauses.h"
#include "core/query/timeline/sampled_frames.h"
#include "core/query/timeline/step_curve.h"
#include "core/query/timeline/timeline_levels.h"
#include "core/query/timeline/timeline_names.h"
#include "core/store/rows/lanes.h"
#include "core/store/tracks/packed_track.h"
#include "core/store/tracks/totals.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::query {

/// A horizontal band of the timeline: rows of boxes, or a curve.
struct Lane {
    enum class Kind { Ranges, Frames, Thread, Stream, Busy, Memory, Counter };

    Kind kind = Kind::Stream;
    bool isOfPauses = false; ///< Frames: HostPause, no stacks
    std::string
        title; ///< Ranges, Python, main 412, stream 7, GPU busy, Memory; of several processes: rank 1 stream 7
    std::string detail;        ///< second line of the label: "ops, API calls"
    ThreadId thread;           ///< Ranges, Frames and Thread
    DeviceIndex device;        ///< Stream, Busy, Memory and Counter
    StreamId stream;           ///< Stream
    ProcessIndex process = {}; ///< none: the only one, or a device that several share
    std::vector<Track> rows;
    StepCurve allocated; ///< Memory: bytes
    StepCurve reserved;
    StepCurve values;           ///< Counter: thousandths of its unit
    std::int64_t valuesEnd = 0; ///< until when the last value holds
    std::string counter, unit;  ///< Counter: SM clock, Hz
    /// Counter: where no value is known between two that are, by time: from, to.
    std::vector<std::pair<std::int64_t, std::int64_t>> holes = {};

    std::size_t events() const;
    /// Whether the counter is a metric: measured inside the GPU (core/model/metric.h).
    bool isMetric() const;
    /// The hole of the curve around `time`, or none.
    std::optional<std::pair<std::int64_t, std::int64_t>> holeAt(std::int64_t time) const;
};

/// A traced step. On the host it may be long over when the device begins it (analysis::stepWalls).
struct TimelineStep {
    std::int32_t step = 0;
    std::int64_t start = 0; ///< of its wall time
    std::int64_t end = 0;
    ProcessIndex process = {};  ///< none: the only one
    std::int64_t hostStart = 0; ///< of its range on the host
    std::int64_t hostEnd = 0;
};

/// Identifies a box: lane, row in the lane, index in the row.
struct TimelineItem {
    std::size_t lane = 0;
    std::size_t row = 0;
    std::size_t index = 0;

    bool operator==(const TimelineItem&) const = default;
};

/// All lanes of one run, ready to draw at any zoom. Times are nanoseconds from `origin`. Published as
/// shared_ptr<const Timeline> and immutable.
struct Timeline {
    Timestamp origin{};
    std::int64_t length = 0; ///< nanoseconds from the start of the first event to the end of the last
    std::vector<Lane> lanes;
    std::vector<TimelineName> names; ///< indexed by Track::name()
    std::vector<TimelineStep> steps; ///< by start on the host
    std::vector<std::pair<ProcessIndex, std::string>>
        processes; ///< and their titles, by rank; empty: one process

    /// The steps of one process: that of the lane, otherwise the first one that has steps.
    std::vector<TimelineStep> stepsOf(ProcessIndex process) const;
    std::vector<TimelineStep> firstSteps() const;
    /// "step 3"; of several processes "rank 0 step 3".
    std::string titleOf(const TimelineStep& step) const;

    /// The boxes of a thread in the lane of that kind that are open at a moment, outermost first. O(rows log n).
    std::vector<TimelineItem> openAt(Lane::Kind kind, ThreadId thread, std::int64_t time) const;

    /// The initially visible interval: the traced steps, or everything if there are none.
    std::pair<std::int64_t, std::int64_t> interesting() const;

    /// The box of `row` at `time`, or the nearest within `slack` nanoseconds; none otherwise.
    std::optional<std::size_t> hit(const Track& row, std::int64_t time, std::int64_t slack) const;

    /// Memory of rows and curves in bytes.
    std::size_t memory() const;
};

/// Builds a Timeline from a run's records.
///
/// Each list is in start order; a list may be passed in several calls. One thread.
class TimelineBuilder {
public:
    using TextOf = TimelineNames::TextOf;
    using DeviceName = TimelineNames::DeviceName;
    using DeviceNameOf = TimelineNames::DeviceNameOf;

    /// \param textOf        resolves the records' string ids while building
    /// \param deviceNameOf  called once per distinct kernel name
    /// \param origin        start of the first event
    TimelineBuilder(TextOf textOf, DeviceNameOf deviceNameOf, Timestamp origin);
    ~TimelineBuilder();
    TimelineBuilder(TimelineBuilder&&) noexcept;

    void nameThread(const ThreadName& thread, std::string_view name);
    /// Begins with the lanes of an earlier build of the same run, to which only frames may be added.
    void startFrom(const Timeline& timeline);
    /// States who took part in a run of several processes: their lanes lie together, by rank.
    void setTopology(TopologyIndex topology);
    void addRanges(std::span<const Range> ranges);
    /// Calls in the stacks of an interpreter.
    void addFrames(std::span<const Frame> frames);
    /// The same as samples show them.
    void addFrames(std::span<const SampledFrame> frames);
    /// Imports, garbage collections and the like of the host.
    void addPauses(std::span<const HostPause> pauses);
    /// Ops and CUDA calls of a thread share its rows.
    void addHost(std::span<const Op> ops, std::span<const ApiCall> calls);
    void addDevice(std::span<const DeviceEvent> events);
    void addAllocations(std::span<const AllocEvent> events);
    void addCounter(const CounterTrack& track);

    /// Adds a prepared track of the file, a row or the steps, once; rows in any order. Other threads unpack it until
    /// build(), which throws Error if it is damaged. Do not mix with events in one lane.
    /// \param zero  the time origin of the track
    void addTrack(const store::TrackInfo& track, std::vector<store::PackedBoxes> pieces, Timestamp zero);
    void addPoints(const store::TrackInfo& track, std::span<const store::MemoryPoint> points, Timestamp zero);
    /// Adds the stored wall times of the steps, which prepared tracks do not hold.
    void addStepTimes(std::span<const store::StepTotal> steps);
    Timeline build() &&;
    /// The events added so far, while more may follow. O(events), 17 bytes each.
    Timeline snapshot();

private:
    struct Pieces;
    struct State;
    explicit TimelineBuilder(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
    std::unique_ptr<Tasks> tasks_; // last: its threads use the rows
};

} // namespace tilescope::query
