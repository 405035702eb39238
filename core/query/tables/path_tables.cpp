#include "core/query/tables/path_tables.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/time/path_glob.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>

namespace tilescope::query {

namespace {

using analysis::PathSource;

class PathReading {
public:
    PathReading(const store::RunReader& reader, const PathQuery& query,
                const std::function<bool()>& cancelled)
        : reader_(reader), query_(query), cancelled_(cancelled), run_(chooseRun(reader, query.run)),
          filter_(reader, run_.run, query.parties)
    {
        for (const ThreadName& thread : reader.threads(run_.run))
            if (thread.name)
                threads_.emplace(thread.thread, reader.text(thread.name));
    }

    PathTable read()
    {
        PathTable table{.run = run_};
        if (const auto span = reader_.span(run_.run))
            table.origin = span->first;
        const store::EventCounts counts = reader_.counts(run_.run);
        table.onGpu = counts.deviceEvents > 0;
        table.hasOps = counts.ops > 0;
        table.hasCalls = counts.apiCalls > 0;
        std::vector<analysis::RecordedStep> steps = pathSteps(reader_, run_.run, parties(), cancelled_);
        table.rowsOfRun = std::ssize(steps);
        std::erase_if(steps, [this](const analysis::RecordedStep& step) { return !isSelected(step); });
        for (auto first = steps.begin(); first != steps.end();) {
            if (cancelled_())
                return {.run = run_};
            // The ranks of a step share a graph.
            const auto last = std::find_if(first, steps.end(), [first](const analysis::RecordedStep& step) {
                return step.step != first->step;
            });
            addPaths(table, {first, last});
            first = last;
        }
        return table;
    }

private:
    const PartyIndex& parties() const { return filter_.parties(); }

    bool isSelected(const analysis::RecordedStep& step) const
    {
        const TracedProcess* const process = parties().find(step.process);
        const PartyQuery& asked = query_.parties;
        return (!query_.step || step.step == *query_.step) &&
               (!process ||
                ((!asked.rank || process->rank == asked.rank) && (!asked.pid || process->pid == *asked.pid)));
    }

    /// A path that is followed from the end of its step.
    struct OpenPath {
        PathRow row = {};
        ProcessIndex process = {};                              ///< on which it is
        ThreadId thread = {};                                   ///< none: on a device
        std::vector<std::vector<PathSegmentRow>> segments = {}; ///< by piece, the last one first
    };

    void addPaths(PathTable& table, std::span<const analysis::RecordedStep> steps)
    {
        analysis::Interval time = steps.front().wall;
        std::vector<OpenPath> paths;
        for (const analysis::RecordedStep& step : steps) {
            time = {std::min(time.start, step.wall.start), std::max(time.end, step.wall.end)};
            paths.push_back({.row = {.step = step.step == kNoStep ? std::nullopt : std::optional(step.step),
                                     .process = step.process,
                                     .title = parties().titleOf(step.process),
                                     .rank = rankOf(parties(), step.process),
                                     .wall = step.wall},
                             .process = step.process,
                             .thread = step.thread});
        }
        const std::vector<analysis::Interval> pieces =
            readablePieces(reader_, run_.run, time, query_.mostEvents);
        for (std::size_t i = pieces.size(); i-- > 0;) {
            const analysis::RecordedGraph graph = graphWithin(reader_, run_.run, parties(), pieces[i]);
            for (OpenPath& path : paths)
                follow(path, graph, pieces[i]);
        }
        for (OpenPath& path : paths) {
            for (std::size_t i = path.segments.size(); i-- > 0;)
                std::ranges::move(path.segments[i], std::back_inserter(path.row.segments));
            table.rows.push_back(std::move(path.row));
        }
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
        const analysis::PathParts parts = partsOf(segments);
        for (std::size_t i = 0; i < analysis::kPathParts; ++i)
            path.row.parts[static_cast<analysis::PathPart>(i)] += parts[static_cast<analysis::PathPart>(i)];
        const analysis::PathSegment& first = segments.front();
        if (const auto activity = first.activity ? first.activity : first.next) {
            path.process = graph.sourceOf(*activity).process;
            path.thread = graph.sourceOf(*activity).thread;
        }
        if (!query_.step)
            return;
        std::vector<PathSegmentRow>& rows = path.segments.emplace_back();
        for (const analysis::PathSegment& segment : segments)
            addSegment(rows, path.row.wall.start, graph, segment);
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
        row.process = parties().titleOf(source.process);
        row.rank = rankOf(parties(), source.process);
        if (source.thread) {
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
    const std::function<bool()>& cancelled_;
    store::RunRecord run_;
    PartyFilter filter_;
    std::unordered_map<ThreadId, std::string_view> threads_;
    std::unordered_map<StringId, std::string> shortNames_;
};

} // namespace

PathTable criticalPaths(const store::RunReader& reader, const PathQuery& query,
                        const std::function<bool()>& cancelled)
{
    PathTable table;
    reader.atOnce([&] { table = PathReading(reader, query, cancelled).read(); });
    return table;
}

} // namespace tilescope::query
