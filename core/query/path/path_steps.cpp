#include "core/query/path/path_steps.h"

#include "core/analysis/time/step_walls.h"
#include "core/model/computed_steps.h"
#include "core/query/runs/step_paths.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tilescope::query {

namespace {

/// The events of a process before its steps are known.
struct ProcessSpan {
    std::vector<Range> steps; ///< by start
    analysis::StepWalls walls;
    std::vector<analysis::Interval> storedWalls; ///< instead of those; empty: the file has none
    ThreadId thread = {};                        ///< with the first event
    analysis::Interval whole{Timestamp::max(), Timestamp::min()};

    void cover(Timestamp start, Timestamp end)
    {
        whole.start = std::min(whole.start, start);
        whole.end = std::max(whole.end, end);
    }
};

class StepsReading {
public:
    StepsReading(const store::RunReader& reader, RunId run, const TopologyIndex& topology,
                 const std::function<bool()>& cancelled)
        : reader_(reader), run_(run), topology_(topology), cancelled_(cancelled),
          computed_(threadsOfComputedSteps(reader, run))
    {
    }

    std::vector<analysis::RecordedStep> read()
    {
        readRanges();
        if (!takeStoredWalls())
            readDevices();
        findThreadsOfComputedSteps();
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
            ProcessSpan& process = processes_[topology_.of(range.thread)];
            if (stepPaths.isStep(range))
                process.steps.push_back(range);
            if (!computed_.contains(range.thread))
                noteHost(process, range);
            return !cancelled_();
        });
        for (auto& [process, each] : processes_) {
            std::ranges::sort(each.steps, {}, &Range::start);
            for (const Range& step : each.steps)
                each.walls.addStep(step.step, {step.start, step.end});
        }
    }

    /// The walls of all steps from the totals in the file, if it has those of just these steps.
    bool takeStoredWalls()
    {
        if (!hasSteps())
            return false;
        std::map<ProcessIndex, std::vector<store::StepTotal>> totals;
        for (const store::StepTotal& step : reader_.stepTotals(run_))
            totals[step.process].push_back(step);
        const auto isOf = [](const store::StepTotal& total, const Range& step) {
            return total.step == step.step && total.start >= step.start && total.end >= step.end;
        };
        for (const auto& [process, each] : processes_)
            if (!std::ranges::equal(totals[process], each.steps, isOf))
                return false;
        for (auto& [process, each] : processes_)
            for (const store::StepTotal& step : totals[process])
                each.storedWalls.push_back({step.start, step.end});
        return true;
    }

    void readDevices()
    {
        reader_.eachDeviceEvent({.run = run_}, [&](const DeviceEvent& event) {
            ProcessSpan& process = processes_[topology_.of(event.device, event.stream)];
            if (event.step != kNoStep)
                process.walls.addWork(event);
            process.cover(event.start, event.end);
            return !cancelled_();
        });
    }

    void findThreadsOfComputedSteps()
    {
        if (computed_.empty())
            return;
        std::map<ProcessIndex, std::map<ThreadId, std::size_t>> endings; // of steps, by thread
        reader_.eachRange({.run = run_}, [&](const Range& range) {
            const ProcessIndex process = topology_.of(range.thread);
            const std::vector<Range>& steps = processes_[process].steps;
            if (!computed_.contains(range.thread) && !steps.empty() &&
                std::ranges::binary_search(steps, range.end, {}, &Range::end))
                ++endings[process][range.thread];
            return !cancelled_();
        });
        for (auto& [process, each] : processes_) {
            const auto& counts = endings[process];
            const auto most =
                std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
            const bool isOfHost = most != counts.end() && 2 * most->second >= each.steps.size();
            for (Range& step : each.steps)
                if (computed_.contains(step.thread))
                    step.thread = isOfHost ? most->first : ThreadId{};
        }
    }

    void readHost()
    {
        const auto note = [&](const auto& event) {
            noteHost(processes_[topology_.of(event.thread)], event);
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
            const std::vector<analysis::Interval> walls =
                each.storedWalls.empty() ? each.walls.list() : each.storedWalls;
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
            return std::tuple(step.step, topology_.rankOf(step.process).value_or(0), step.process);
        });
        return list;
    }

    const store::RunReader& reader_;
    const RunId run_;
    const TopologyIndex& topology_;
    const std::function<bool()>& cancelled_;
    const std::unordered_set<ThreadId> computed_;
    std::map<ProcessIndex, ProcessSpan> processes_;
};

} // namespace

std::unordered_set<ThreadId> threadsOfComputedSteps(const store::RunReader& reader, RunId run)
{
    std::unordered_set<ThreadId> threads;
    for (const ThreadName& thread : reader.threads(run))
        if (thread.name && reader.text(thread.name) == kComputedSteps)
            threads.insert(thread.thread);
    return threads;
}

std::vector<analysis::RecordedStep> pathSteps(const store::RunReader& reader, RunId run,
                                              const TopologyIndex& topology,
                                              const std::function<bool()>& cancelled)
{
    return StepsReading(reader, run, topology, cancelled).read();
}

} // namespace tilescope::query
