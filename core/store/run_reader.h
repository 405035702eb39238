#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/counter_track.h"
#include "core/model/events.h"
#include "core/model/memory.h"
#include "core/model/processes.h"
#include "core/model/run.h"
#include "core/store/rows/lanes.h"
#include "core/store/rows/run_record.h"
#include "core/store/tracks/packed_track.h"
#include "core/store/tracks/totals.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tilescope::store {

struct CallTotals;
struct StepPathTotal;

/// A read-only connection. One thread at a time may use it; open one per thread.
///
/// Opening checks the schema, the version and the counts, and refuses a schema that is not Tilescope's. Each
/// member sees the data that was committed when it is called; while there is a writer, the next call sees
/// more.
/// \throws Error  from any member; the file is not changed, and nothing is omitted silently from a damaged
///                file
class RunReader {
public:
    explicit RunReader(const std::filesystem::path& file);
    ~RunReader();
    RunReader(RunReader&&) noexcept;
    RunReader& operator=(RunReader&&) noexcept;

    /// All that `work` reads is of one moment, and the file is opened once for it while a writer is at work,
    /// not for each call. The writer cannot seal the file meanwhile.
    void atOnce(const std::function<void()>& work) const;

    std::vector<RunRecord> runs() const;
    std::optional<RunRecord> run(RunId id) const;
    std::vector<Sample> samples(RunId run) const;

    /// The same for files of many runs, which need not be in memory at once: run by run, in the order of
    /// their numbers. Either ends early where `take` returns false. `take` may call this reader.
    void eachRun(const std::function<bool(RunRecord&&)>& take) const;
    /// The runs from `first` to `last`, inclusive.
    void eachRun(RunId first, RunId last, const std::function<bool(RunRecord&&)>& take) const;
    /// The samples of several runs, grouped by run.
    void eachSample(std::span<const RunId> runs, const std::function<void(RunId, const Sample&)>& take) const;
    /// The numbers of all runs, ascending.
    std::vector<RunId> runIds() const;
    /// Those of runIds() that recorded ranges.
    std::vector<RunId> runsWithRanges() const;
    /// Phases with timed steps in at least one run. O(samples).
    std::vector<Phase> timedPhases() const;
    std::vector<EnvironmentEntry> environment(RunId run) const;
    std::vector<ThreadName> threads(RunId run) const;
    /// Processes, devices, streams and clocks; empty for a run of one process that Tilescope ran itself.
    RunTopology topology(RunId run) const;
    /// In the order of writing.
    std::vector<Collective> collectives(RunId run) const;
    std::vector<Wait> waits(RunId run) const;
    /// Hardware counters of its ranges.
    std::vector<CounterValue> counters(RunId run) const;
    /// The counters read while the run was traced, in the order of writing.
    std::vector<CounterTrack> counterTracks(RunId run) const;
    /// Facts about its memory besides the events; empty if not recorded.
    MemoryFacts memory(RunId run) const;
    /// The ceilings of all devices in the file, in the order of measurement.
    std::vector<Ceiling> ceilings() const;

    /// Loss rows with their texts.
    struct LossRecord {
        std::string kind;
        std::string severity;
        std::int64_t count = 0;
        std::string detail;
    };
    std::vector<LossRecord> losses(RunId run) const;
    /// The losses of several runs, grouped by run.
    void eachLoss(std::span<const RunId> runs, const std::function<void(RunId, LossRecord&&)>& take) const;
    /// Records that the tracer checked, for "Nothing lost (N records checked)".
    std::int64_t recordsChecked(RunId run) const;

    /// Events in start order. String ids are the file's: text() resolves them.
    std::vector<Range> ranges(const EventWindow& window) const { return all(&RunReader::eachRange, window); }
    std::vector<Op> ops(const EventWindow& window) const { return all(&RunReader::eachOp, window); }
    std::vector<ApiCall> apiCalls(const EventWindow& window) const
    {
        return all(&RunReader::eachApiCall, window);
    }
    std::vector<DeviceEvent> deviceEvents(const EventWindow& window) const
    {
        return all(&RunReader::eachDeviceEvent, window);
    }
    std::vector<AllocEvent> allocEvents(const EventWindow& window) const
    {
        return all(&RunReader::eachAllocEvent, window);
    }
    std::vector<Frame> frames(const EventWindow& window) const { return all(&RunReader::eachFrame, window); }

    /// The same, one by one and nearly in start order, for those who need not keep them; ends early where
    /// `take` returns false. `take` may call this reader.
    template <class Event> using Take = std::function<bool(const Event&)>;
    void eachRange(const EventWindow& window, const Take<Range>& take) const;
    void eachOp(const EventWindow& window, const Take<Op>& take) const;
    void eachApiCall(const EventWindow& window, const Take<ApiCall>& take) const;
    void eachDeviceEvent(const EventWindow& window, const Take<DeviceEvent>& take) const;
    void eachAllocEvent(const EventWindow& window, const Take<AllocEvent>& take) const;
    void eachFrame(const EventWindow& window, const Take<Frame>& take) const;

    /// Events that were committed since `mark`, each once, in any order of time; advances the mark. Returns
    /// about `most` if there are that many (then call again); empty if there are no new ones.
    TraceBatch newEvents(RunId run, EventMark& mark, std::size_t most = 200'000) const;

    /// The precomputed tracks of a run: steps, ranges, threads, streams, devices, memory. None if the run is
    /// small, is still being written, or is from an older program; compute them from the events then.
    std::vector<TrackInfo> tracks(RunId run) const;
    /// The boxes of such a track in start order, some thousand in each piece, to be unpacked on any thread.
    std::vector<PackedBoxes> packedBoxes(RunId run, const TrackInfo& track) const;
    /// The boxes of such a track, some thousand at a time, in start order; ends early where `take` returns
    /// false.
    void eachBoxes(RunId run, const TrackInfo& track,
                   const std::function<bool(std::span<const Box>)>& take) const;
    /// The precomputed track of kind Memory.
    void eachPoints(RunId run, const TrackInfo& track,
                    const std::function<bool(std::span<const MemoryPoint>)>& take) const;

    /// The totals of its traced steps, without reading events; none if the file does not have them, like
    /// tracks().
    std::optional<RunTotals> totals(RunId run) const;
    /// The steps of the totals, which are few; empty if there are no totals.
    std::vector<StepTotal> stepTotals(RunId run) const;
    /// The totals of a run's calls, within traced steps and outside; none also if too few calls are alike.
    std::optional<CallTotals> callTotals(RunId run) const;

    /// What the critical paths of all steps spend their time on, without reading events; empty if the file does not have it, or by
    /// other rules than this program's.
    std::vector<StepPathTotal> pathTotals(RunId run) const;

    /// From the file's chunks, without reading events.
    EventCounts counts(RunId run) const;

    /// Text of a file's string id; cached, valid as long as the reader.
    std::string_view text(StringId id) const;
    /// The file's id of a text; none if no event has it.
    StringId find(std::string_view text) const;

    /// The earliest start and the latest end + 1 of all events of the run; none if it has no events.
    std::optional<std::pair<Timestamp, Timestamp>> span(RunId run) const;

    const std::filesystem::path& file() const;

private:
    /// Keeps all that `each` gives, in start order.
    template <class Event>
    std::vector<Event> all(void (RunReader::*each)(const EventWindow&, const Take<Event>&) const,
                           const EventWindow& window) const
    {
        std::vector<Event> events;
        (this->*each)(window, [&events](const Event& event) {
            events.push_back(event);
            return true;
        });
        const auto start = [](const Event& event) {
            if constexpr (std::is_same_v<Event, AllocEvent>)
                return event.time;
            else
                return event.start;
        };
        // Nearly sorted already: only events that were open for long are late.
        if (!std::ranges::is_sorted(events, {}, start))
            std::ranges::stable_sort(events, {}, start);
        return events;
    }

    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::store
