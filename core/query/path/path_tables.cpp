#include "core/query/path/path_tables.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/time/path_glob.h"
#include "core/analysis/time/unrecorded_work.h"
#include "core/base/mutex.h"
#include "core/query/path/path_steps.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"
#include "core/store/rows/read_count.h"
#include "core/store/tracks/path_totals.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <iterator>
#include <map>
#include <span>
#include <thread>
#include <unordered_map>

namespace tilescope::query {

namespace {

using analysis::PathSource;

using Steps = std::span<const analysis::RecordedStep>;

/// Those that this thread may use.
std::int64_t usableProcessors()
{
    cpu_set_t processors;
    if (sched_getaffinity(0, sizeof processors, &processors) == 0)
        return CPU_COUNT(&processors);
    return std::thread::hardware_concurrency();
}

/// Without time and parts.
PathRow rowOf(std::optional<std::int32_t> step, ProcessIndex process, const TopologyIndex& topology)
{
    return {.step = step,
            .process = process,
            .title = topology.titleOf(process),
            .rank = rankOf(topology, process),
            .numbers = numbersOf(topology, process)};
}

/// Follows the paths of steps with a reader of its own. One thread.
class PathFollower {
public:
    /// \param topology  must outlive this object, as the reader and the query must
    PathFollower(const store::RunReader& reader, const PathQuery& query, RunId run,
                 const TopologyIndex& topology, const UsualTimes& usual)
        : reader_(reader), query_(query), topology_(topology), graphs_(reader, run, topology, usual),
          texts_(textsOf(reader)), selection_(query.rangeGlob, texts_),
          window_(windowOf(reader, run, query.span))
    {
        for (const ThreadName& thread : reader.threads(run))
            if (thread.name)
                threads_.emplace(thread.thread, reader.text(thread.name));
    }

    /// The paths of the chosen ones of the ranks of a step, which share a graph; none if it has more than `most` events.
    std::optional<std::vector<PathRow>> pathsOf(Steps ranks, Steps chosen, std::int64_t most)
    {
        const std::optional<analysis::RecordedGraph> graph = graphs_.within(timeOf(ranks), most);
        if (!graph)
            return {};
        std::vector<OpenPath> paths = begin(chosen);
        for (OpenPath& path : paths)
            follow(path, *graph, timeOf(ranks));
        return end(paths);
    }

    /// The same from pieces of the step.
    std::vector<PathRow> pathsOfPieces(Steps ranks, Steps chosen, std::int64_t most)
    {
        std::vector<OpenPath> paths = begin(chosen);
        graphs_.eachPiece(timeOf(ranks), most, PathGraphs::Order::LastToFirst,
                          [&](const analysis::Interval& piece, const analysis::RecordedGraph& graph) {
                              for (OpenPath& path : paths)
                                  follow(path, graph, piece);
                          });
        return end(paths);
    }

private:
    /// A path that is followed from the end of its step.
    struct OpenPath {
        PathRow row = {};
        analysis::Interval shown = {};                          ///< of its wall time
        ProcessIndex process = {};                              ///< on which it is
        ThreadId thread = {};                                   ///< none: on a device
        std::vector<std::vector<PathSegmentRow>> segments = {}; ///< by piece, the last one first
    };

    const TopologyIndex& topology() const { return topology_; }

    static analysis::Interval timeOf(Steps steps)
    {
        analysis::Interval time = steps.front().wall;
        for (const analysis::RecordedStep& step : steps)
            time = {std::min(time.start, step.wall.start), std::max(time.end, step.wall.end)};
        return time;
    }

    std::vector<OpenPath> begin(Steps steps) const
    {
        std::vector<OpenPath> paths;
        for (const analysis::RecordedStep& step : steps) {
            // Where the device ends the step, its thread may already be in a later one.
            const bool endsOnDevice = step.host.end < step.wall.end;
            PathRow row = rowOf(step.step == kNoStep ? std::nullopt : std::optional(step.step), step.process,
                                topology());
            row.wall = step.wall;
            paths.push_back({.row = std::move(row),
                             .shown = {std::clamp(step.wall.start, window_.from, window_.to),
                                       std::clamp(step.wall.end, window_.from, window_.to)},
                             .process = step.process,
                             .thread = endsOnDevice ? ThreadId{} : step.thread});
        }
        return paths;
    }

    static std::vector<PathRow> end(std::vector<OpenPath>& paths)
    {
        std::vector<PathRow> rows;
        for (OpenPath& path : paths) {
            for (std::size_t i = path.segments.size(); i-- > 0;)
                std::ranges::move(path.segments[i], std::back_inserter(path.row.segments));
            path.row.wall = path.shown;
            rows.push_back(std::move(path.row));
        }
        return rows;
    }

    /// The part of a path within a piece of the recording.
    void follow(OpenPath& path, const analysis::RecordedGraph& graph, const analysis::Interval& piece)
    {
        const analysis::Interval time{std::max(path.row.wall.start, piece.start),
                                      std::min(path.row.wall.end, piece.end)};
        if (time.end <= time.start)
            return;
        std::vector<analysis::PathSegment> segments;
        if (const auto last = graph.lastOf(path.process, path.thread, time.end))
            segments = criticalPath(graph.graph, *last, time);
        else
            segments.push_back({.time = time});
        const analysis::PathSegment first = segments.front();
        if (const auto activity = first.activity ? first.activity : first.next) {
            path.process = graph.sourceOf(*activity).process;
            path.thread = graph.sourceOf(*activity).thread;
        }
        keepSelected(segments, path.shown, graph);
        for (const analysis::PathSegment& segment : segments)
            path.row.parts[segment.part] += segment.time.length();
        if (!query_.step)
            return;
        std::vector<PathSegmentRow>& rows = path.segments.emplace_back();
        for (const analysis::PathSegment& segment : segments)
            addSegment(rows, path.shown.start, graph, segment);
    }

    /// Leaves out what is outside of the range, and cuts the rest to the span.
    void keepSelected(std::vector<analysis::PathSegment>& segments, const analysis::Interval& shown,
                      const analysis::RecordedGraph& graph)
    {
        for (analysis::PathSegment& segment : segments)
            segment.time = {std::clamp(segment.time.start, shown.start, shown.end),
                            std::clamp(segment.time.end, shown.start, shown.end)};
        std::erase_if(segments, [](const analysis::PathSegment& segment) {
            return segment.time.length() <= Nanoseconds(0);
        });
        if (!query_.rangeGlob.empty())
            std::erase_if(segments, [&](const analysis::PathSegment& segment) {
                const auto activity = segment.activity ? segment.activity : segment.next;
                return !activity || !selection_.has(graph.sourceOf(*activity).path);
            });
    }

    void addSegment(std::vector<PathSegmentRow>& rows, Timestamp start, const analysis::RecordedGraph& graph,
                    const analysis::PathSegment& segment)
    {
        PathSegmentRow each{.start = segment.time.start - start,
                            .duration = segment.time.length(),
                            .part = segment.part,
                            .cause = segment.cause};
        if (const auto activity = segment.activity ? segment.activity : segment.next)
            describe(each, graph.sourceOf(*activity));
        PathSegmentRow* const before = rows.empty() ? nullptr : &rows.back();
        if (before && before->part == each.part && before->name == each.name &&
            before->module == each.module && before->lane == each.lane &&
            each.cause == analysis::Cause::Program)
            before->duration += each.duration;
        else
            rows.push_back(std::move(each));
    }

    void describe(PathSegmentRow& row, const PathSource& source)
    {
        if (source.name)
            row.name = source.kind == PathSource::Kind::Kernel ? shortNameOf(source.name)
                                                               : std::string(reader_.text(source.name));
        const bool isWork = source.kind == PathSource::Kind::Kernel ||
                            source.kind == PathSource::Kind::Copy ||
                            source.family != analysis::KernelFamily::Other;
        if (isWork)
            row.family = wordOf(source.family);
        if (source.path)
            row.module = analysis::moduleOf(analysis::fromStepDown(reader_.text(source.path)));
        row.process = topology().titleOf(source.process);
        row.rank = rankOf(topology(), source.process);
        row.thread = source.thread;
        row.device = source.device;
        row.stream = source.stream;
        if (analysis::areDataWorkers(source.thread)) {
            row.lane = "processes of the data loader, not recorded";
        } else if (source.thread) {
            const auto name = threads_.find(source.thread);
            row.lane = "thread " + (name == threads_.end() ? std::to_string(source.thread.value)
                                                           : std::string(name->second));
        } else {
            row.lane = "GPU " + std::to_string(source.device.value) + " stream " +
                       std::to_string(source.stream.value);
        }
    }

    const std::string& shortNameOf(StringId name)
    {
        const auto [known, isNew] = shortNames_.try_emplace(name);
        if (isNew)
            known->second = analysis::KernelFamilies::standard().describe(reader_.text(name)).shortName;
        return known->second;
    }

    const store::RunReader& reader_;
    const PathQuery& query_;
    const TopologyIndex& topology_;
    PathGraphs graphs_;
    const analysis::TextOf texts_;
    PathSelection selection_;
    const store::EventWindow window_;
    std::unordered_map<ThreadId, std::string_view> threads_;
    std::unordered_map<StringId, std::string> shortNames_;
};

class PathReading {
public:
    PathReading(const store::RunReader& reader, const PathQuery& query,
                const std::function<bool()>& cancelled)
        : reader_(reader), query_(query), cancelled_(cancelled), run_(chooseRun(reader, query.run)),
          filter_(reader, run_.run, query.topology)
    {
    }

    PathTable read()
    {
        PathTable table{.run = run_};
        const store::EventCounts counts = reader_.counts(run_.run);
        table.onGpu = counts.deviceEvents > 0;
        table.hasOps = counts.ops > 0;
        table.hasCalls = counts.apiCalls > 0;
        table.choice = stepChoice(reader_, run_.run, query_.topology);
        table.span = query_.span;
        table.rangeGlob = query_.rangeGlob;
        if (!takeStored(table) && !readEvents(table, counts))
            return {.run = run_};
        for (PathRow& row : table.rows)
            if (row.step)
                row.leftOut = table.choice.whyNot(row.numbers.process, *row.step);
        countLaunches(table);
        return table;
    }

private:
    /// All rows without their segments from the totals in the file, if it has them.
    bool takeStored(PathTable& table) const
    {
        const bool isWhole = !query_.step && !query_.span && query_.rangeGlob.empty();
        if (!isWhole || query_.mostEvents != kMostPathEvents || run_.result.status == RunStatus::Running)
            return false;
        const std::vector<store::StepPathTotal> totals = reader_.pathTotals(run_.run);
        table.rowsOfRun = std::ssize(totals);
        for (const store::StepPathTotal& total : totals)
            if (isOfProcess(total.process)) {
                table.rows.push_back(rowOf(total.step, total.process, filter_.topology()));
                table.rows.back().wall = {total.start, total.end};
                table.rows.back().parts = total.parts;
            }
        return !totals.empty();
    }

    /// \return  false: cancelled
    bool readEvents(PathTable& table, const store::EventCounts& counts)
    {
        const std::vector<analysis::RecordedStep> steps =
            pathSteps(reader_, run_.run, filter_.topology(), cancelled_);
        table.rowsOfRun = std::ssize(steps);
        std::vector<Group> groups = groupsOf(steps);
        const std::int64_t events = counts.ranges + counts.ops + counts.apiCalls + counts.deviceEvents;
        const UsualTimes usual(reader_, run_.run, filter_.topology());
        if (threadsFor(groups, events) > 1)
            readTogether(groups, threadsFor(groups, events), usual);
        std::optional<PathFollower> follower;
        for (Group& group : groups) {
            if (cancelled_())
                return false;
            if (!group.rows) {
                if (!follower)
                    follower.emplace(reader_, query_, run_.run, filter_.topology(), usual);
                group.rows = follower->pathsOfPieces(group.ranks, group.chosen, query_.mostEvents);
            }
            std::ranges::move(*group.rows, std::back_inserter(table.rows));
        }
        return true;
    }

    void countLaunches(PathTable& table) const
    {
        const analysis::PathParts sum = table.typicalParts();
        if (static_cast<double>(sum[analysis::PathPart::Unexplained].count()) <
            kMuchUnexplained * static_cast<double>(sum.sum().count()))
            return;
        const TopologyIndex& topology = filter_.topology();
        std::map<ProcessIndex, analysis::UnrecordedWork> unrecorded;
        reader_.eachApiCall({.run = run_.run}, [&](const ApiCall& call) {
            unrecorded[topology.of(call.thread)].addCall(call.kind, {call.start, call.end});
            return !cancelled_();
        });
        reader_.eachDeviceEvent({.run = run_.run}, [&](const DeviceEvent& event) {
            ++table.activities;
            table.withoutLaunch += event.launched == Timestamp{} ? 1 : 0;
            unrecorded[topology.of(event.device, event.stream)].addActivity(event);
            return !cancelled_();
        });
        std::map<ProcessIndex, std::vector<analysis::Interval>> times;
        for (const auto& [process, work] : unrecorded)
            times[process] = work.times();
        for (const PathRow& row : table.rows)
            table.unrecorded += lengthOf(analysis::intersection(times[row.process], std::vector{row.wall}));
    }

    /// The steps of all ranks with one number, and the paths of the chosen ones once they are known.
    struct Group {
        Steps ranks = {};
        std::vector<analysis::RecordedStep> chosen = {};
        std::optional<std::vector<PathRow>> rows = {};
    };

    bool isOfProcess(ProcessIndex index) const
    {
        const TracedProcess* const process = filter_.topology().find(index);
        const ProcessQuery& asked = query_.topology;
        return !process ||
               ((!asked.rank || process->rank == asked.rank) && (!asked.pid || process->pid == *asked.pid));
    }

    /// The groups with chosen steps. A path does not depend on which other ones are chosen.
    std::vector<Group> groupsOf(Steps steps) const
    {
        const store::EventWindow window = windowOf(reader_, run_.run, query_.span);
        const auto isChosen = [&](const analysis::RecordedStep& step) {
            return (!query_.step || step.step == *query_.step) && isOfProcess(step.process) &&
                   step.wall.end > window.from && step.wall.start < window.to;
        };
        std::vector<Group> groups;
        for (std::size_t i = 0; i < steps.size();) {
            const std::size_t first = i;
            Group group;
            for (; i < steps.size() && steps[i].step == steps[first].step; ++i)
                if (isChosen(steps[i]))
                    group.chosen.push_back(steps[i]);
            group.ranks = steps.subspan(first, i - first);
            if (!group.chosen.empty())
                groups.push_back(std::move(group));
        }
        return groups;
    }

    /// A run that is being written is read by one thread: another reader would see more of it.
    std::int64_t threadsFor(const std::vector<Group>& groups, std::int64_t events) const
    {
        constexpr std::int64_t kFewEvents = 200'000; // take less time than to open the file again
        if (run_.result.status == RunStatus::Running || events <= kFewEvents)
            return 1;
        return std::min({std::ssize(groups), usableProcessors(), std::int64_t{8}});
    }

    /// Leaves groups out that have more than a thread's part of the events that may be in memory.
    void readTogether(std::vector<Group>& groups, std::int64_t threads, const UsualTimes& usual)
    {
        const std::int64_t most = query_.mostEvents / threads;
        std::atomic<std::size_t> next = 0;
        Mutex mutex; // of `cancelled_`
        const auto work = [&, counter = store::ReadCount::ofThisThread()] {
            const store::ReadCount count(counter);
            const store::RunReader reader(reader_.file());
            reader.atOnce([&] {
                PathFollower follower(reader, query_, run_.run, filter_.topology(), usual);
                for (std::size_t i = next++; i < groups.size(); i = next++) {
                    {
                        const MutexLock lock(mutex);
                        if (cancelled_())
                            return;
                    }
                    groups[i].rows = follower.pathsOf(groups[i].ranks, groups[i].chosen, most);
                }
            });
        };
        std::vector<std::future<void>> others;
        for (std::int64_t i = 0; i < threads; ++i)
            others.push_back(std::async(std::launch::async, work));
        for (std::future<void>& other : others)
            other.get();
    }

    const store::RunReader& reader_;
    const PathQuery& query_;
    const std::function<bool()>& cancelled_;
    store::RunRecord run_;
    ProcessFilter filter_;
};

} // namespace

analysis::PathParts PathTable::typicalParts() const
{
    const bool anyTypical = std::ranges::any_of(rows, [](const PathRow& row) { return row.leftOut.empty(); });
    analysis::PathParts sum;
    for (const PathRow& row : rows)
        if (row.leftOut.empty() || !anyTypical)
            for (std::size_t i = 0; i < analysis::kPathParts; ++i)
                sum[static_cast<analysis::PathPart>(i)] += row.parts[static_cast<analysis::PathPart>(i)];
    return sum;
}

PathTable criticalPaths(const store::RunReader& reader, const PathQuery& query,
                        const std::function<bool()>& cancelled)
{
    PathTable table;
    reader.atOnce([&] { table = PathReading(reader, query, cancelled).read(); });
    return table;
}

} // namespace tilescope::query
