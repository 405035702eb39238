#include "core/query/tables/path_steps.h"

#include "core/analysis/time/data_loading.h"
#include "core/analysis/time/step_walls.h"
#include "core/query/runs/selection.h"
#include "core/query/runs/step_paths.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tilescope::query {

namespace {

/// What a process did, before its steps are known.
struct ProcessSpan {
    std::vector<Range> steps; ///< by start
    analysis::StepWalls walls;
    ThreadId thread = {}; ///< with the first event
    analysis::Interval whole{Timestamp::max(), Timestamp::min()};

    void cover(Timestamp start, Timestamp end)
    {
        whole.start = std::min(whole.start, start);
        whole.end = std::max(whole.end, end);
    }
};

class StepsReading {
public:
    StepsReading(const store::RunReader& reader, RunId run, const PartyIndex& parties,
                 const std::function<bool()>& cancelled)
        : reader_(reader), run_(run), parties_(parties), cancelled_(cancelled)
    {
    }

    std::vector<analysis::RecordedStep> read()
    {
        readRanges();
        reader_.eachDeviceEvent({.run = run_}, [&](const DeviceEvent& event) {
            ProcessSpan& process = processes_[parties_.of(event.device, event.stream)];
            if (event.step != kNoStep)
                process.walls.addWork(event);
            process.cover(event.start, event.end);
            return !cancelled_();
        });
        // Only a recording without steps is as long as its host events.
        if (!hasSteps())
            readHost();
        return steps();
    }

private:
    bool hasSteps() const
    {
        return std::ranges::any_of(processes_, [](const auto& each) { return !each.second.steps.empty(); });
    }

    void readRanges()
    {
        StepPaths stepPaths(reader_);
        reader_.eachRange({.run = run_}, [&](const Range& range) {
            ProcessSpan& process = processes_[parties_.of(range.thread)];
            if (stepPaths.isStep(range))
                process.steps.push_back(range);
            noteHost(process, range);
            return !cancelled_();
        });
        for (auto& [process, each] : processes_) {
            std::ranges::sort(each.steps, {}, &Range::start);
            for (const Range& step : each.steps)
                each.walls.addStep(step.step, {step.start, step.end});
        }
    }

    void readHost()
    {
        const auto note = [&](const auto& event) {
            noteHost(processes_[parties_.of(event.thread)], event);
            return !cancelled_();
        };
        reader_.eachOp({.run = run_}, note);
        reader_.eachApiCall({.run = run_}, note);
    }

    static void noteHost(ProcessSpan& process, const auto& event)
    {
        if (!process.thread || event.start < process.whole.start)
            process.thread = event.thread;
        process.cover(event.start, event.end);
    }

    std::vector<analysis::RecordedStep> steps() const
    {
        std::vector<analysis::RecordedStep> list;
        for (const auto& [process, each] : processes_) {
            const std::vector<analysis::Interval> walls = each.walls.list();
            for (std::size_t i = 0; i < walls.size(); ++i)
                list.push_back({.step = each.steps[i].step,
                                .process = process,
                                .thread = each.steps[i].thread,
                                .wall = walls[i],
                                .host = {each.steps[i].start, each.steps[i].end}});
            if (!hasSteps() && each.whole.start < each.whole.end)
                list.push_back(
                    {.process = process, .thread = each.thread, .wall = each.whole, .host = each.whole});
        }
        std::ranges::stable_sort(list, {}, [this](const analysis::RecordedStep& step) {
            return std::tuple(step.step, parties_.rankOf(step.process).value_or(0), step.process);
        });
        return list;
    }

    const store::RunReader& reader_;
    const RunId run_;
    const PartyIndex& parties_;
    const std::function<bool()>& cancelled_;
    std::map<ProcessIndex, ProcessSpan> processes_;
};

constexpr Nanoseconds kShortestPiece{1'000'000};

void addPieces(const store::RunReader& reader, RunId run, analysis::Interval time, std::int64_t most,
               std::vector<analysis::Interval>& pieces)
{
    if (time.length() < kShortestPiece || !hasMoreEvents(reader, run, time, most)) {
        pieces.push_back(time);
        return;
    }
    const Timestamp middle = time.start + time.length() / 2;
    addPieces(reader, run, {time.start, middle}, most, pieces);
    addPieces(reader, run, {middle, time.end}, most, pieces);
}

} // namespace

std::vector<analysis::RecordedStep> pathSteps(const store::RunReader& reader, RunId run,
                                              const PartyIndex& parties,
                                              const std::function<bool()>& cancelled)
{
    return StepsReading(reader, run, parties, cancelled).read();
}

bool hasMoreEvents(const store::RunReader& reader, RunId run, analysis::Interval time, std::int64_t most)
{
    const store::EventCounts counts = reader.counts(run);
    if (counts.ranges + counts.ops + counts.apiCalls + counts.deviceEvents <= most)
        return false;
    std::int64_t count = 0;
    const auto note = [&](const auto&) { return ++count <= most; };
    const store::EventWindow window{.run = run, .from = time.start, .to = time.end};
    reader.eachDeviceEvent(window, note);
    if (count <= most)
        reader.eachOp(window, note);
    if (count <= most)
        reader.eachApiCall(window, note);
    if (count <= most)
        reader.eachRange(window, note);
    return count > most;
}

std::vector<analysis::Interval> readablePieces(const store::RunReader& reader, RunId run,
                                               analysis::Interval time, std::int64_t most)
{
    std::vector<analysis::Interval> pieces;
    addPieces(reader, run, time, most, pieces);
    return pieces;
}

analysis::RecordedGraph graphWithin(const store::RunReader& reader, RunId run, const PartyIndex& parties,
                                    analysis::Interval time)
{
    TraceBatch batch;
    const auto collected = [](auto& events) {
        return [&events](const auto& event) {
            events.push_back(event);
            return true;
        };
    };
    const store::EventWindow window{.run = run, .from = time.start, .to = time.end};
    reader.eachRange(window, collected(batch.ranges));
    reader.eachOp(window, collected(batch.ops));
    reader.eachApiCall(window, collected(batch.apiCalls));
    reader.eachDeviceEvent(window, collected(batch.deviceEvents));
    reader.eachFrame(window, [&](const Frame& frame) {
        if (analysis::loadsData(reader.text(frame.name)))
            batch.frames.push_back(frame);
        return true;
    });
    const auto isWithin = [&time](const auto& event) {
        return event.start < time.end && event.end >= time.start;
    };
    for (const Wait& wait : reader.waits(run))
        if (isWithin(wait))
            batch.waits.push_back(wait);
    for (const Collective& collective : reader.collectives(run))
        if (isWithin(collective))
            batch.collectives.push_back(collective);
    const store::EventCounts counts = reader.counts(run);
    return analysis::recordedGraph({.ranges = batch.ranges,
                                    .ops = batch.ops,
                                    .frames = batch.frames,
                                    .calls = batch.apiCalls,
                                    .device = batch.deviceEvents,
                                    .waits = batch.waits,
                                    .collectives = batch.collectives,
                                    .parties = parties,
                                    .textOf = textsOf(reader),
                                    .onGpu = counts.deviceEvents > 0});
}

} // namespace tilescope::query
