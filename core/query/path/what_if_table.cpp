#include "core/query/path/what_if_table.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/path/what_if.h"
#include "core/analysis/time/path_glob.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/quantity.h"
#include "core/query/path/path_steps.h"
#include "core/query/runs/milliseconds.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>

namespace tilescope::query {

namespace {

using analysis::KernelFamily;
using analysis::PathSource;
using analysis::RecordedStep;

std::optional<KernelFamily> familyOf(std::string_view word)
{
    for (std::size_t i = 0; i < analysis::kKernelFamilies; ++i)
        if (wordOf(static_cast<KernelFamily>(i)) == word)
            return static_cast<KernelFamily>(i);
    return {};
}

/// Whether a source is part of the work of a key.
class WorkSelection {
public:
    WorkSelection(const WorkScale& scale, bool isRemoved, const store::RunReader& reader)
        : key_(scale.key), factor_(scale.factor), isRemoved_(isRemoved), reader_(reader),
          family_(familyOf(scale.key))
    {
        if (!family_ && (key_.find('/') != std::string::npos || key_.find("**") != std::string::npos))
            glob_.emplace(key_);
    }

    double factor() const { return factor_; }
    const std::string& key() const { return key_; }
    const char* option() const { return isRemoved_ ? "--remove" : "--scale"; }
    bool isRemoved() const { return isRemoved_; }

    bool has(const PathSource& source)
    {
        if (family_)
            return source.family == *family_;
        const StringId text = glob_ ? source.path : source.name;
        const auto [known, isNew] = known_.try_emplace(text, false);
        if (isNew && text)
            known->second = glob_ ? glob_->contains(analysis::fromStepDown(reader_.text(text)))
                                  : isNamed(text, source.kind);
        return known->second;
    }

private:
    bool isNamed(StringId name, PathSource::Kind kind) const
    {
        const std::string_view full = reader_.text(name);
        return full == key_ || (kind != PathSource::Kind::Op &&
                                analysis::KernelFamilies::standard().describe(full).shortName == key_);
    }

    std::string key_;
    double factor_;
    bool isRemoved_;
    const store::RunReader& reader_;
    std::optional<KernelFamily> family_;
    std::optional<analysis::PathGlob> glob_;
    std::unordered_map<StringId, bool> known_;
};

std::string changeText(const WhatIfQuery& query)
{
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    for (const WorkScale& scale : query.scales)
        add(scale.key + " takes " + quantity::threeDigits(scale.factor) + " times as long");
    for (const std::string& key : query.removed)
        add(key + " is left out");
    if (query.freeLaunches)
        add("launches are free");
    if (query.freeCommunication)
        add("communication is free");
    return text.empty() ? "nothing changes" : text;
}

class WhatIfReading {
public:
    WhatIfReading(const store::RunReader& reader, const WhatIfQuery& query,
                  const std::function<bool()>& cancelled)
        : reader_(reader), query_(query), cancelled_(cancelled), run_(chooseRun(reader, query.run)),
          filter_(reader, run_.run, query.topology), usual_(reader, run_.run, filter_.topology()),
          graphs_(reader, run_.run, filter_.topology(), usual_),
          onGpu_(reader.counts(run_.run).deviceEvents > 0)
    {
        for (const WorkScale& scale : query.scales)
            selections_.emplace_back(scale, false, reader);
        for (const std::string& key : query.removed)
            selections_.emplace_back(WorkScale{.key = key, .factor = 0}, true, reader);
        selected_.assign(selections_.size(), Nanoseconds(0));
    }

    WhatIfTable read()
    {
        WhatIfTable table{.run = run_, .change = changeText(query_)};
        table.choice = choice_ = stepChoice(reader_, run_.run, query_.topology);
        if (query_.freeLaunches && !onGpu_)
            throw Error{.what = "run " + std::to_string(run_.run.value) + " launches nothing on a GPU",
                        .where = "--free launches",
                        .remedy = "choose a run on a GPU"};
        const std::vector<RecordedStep> steps = pathSteps(reader_, run_.run, filter_.topology(), cancelled_);
        if (steps.empty() || cancelled_())
            return table;
        areSteps_ = steps.front().step != kNoStep;
        simulate(steps);
        if (cancelled_())
            return table;
        requireWork();
        for (const Nanoseconds selected : selected_)
            table.changed += selected;
        table.removedHost = removedHost_;
        if (hasGraphBranches_)
            table.assumption =
                "Which nodes of a CUDA graph wait for which was not recorded: where its branches run side by "
                "side, a node is assumed to wait for what ended last before it.";
        for (auto& [process, done] : done_) {
            std::ranges::sort(done, {}, [](const Simulated& each) { return each.start; });
            if (isSelected(process))
                table.rows.push_back(rowOf(process, done));
        }
        std::ranges::stable_sort(table.rows, {}, &WhatIfRow::rank);
        return table;
    }

private:
    /// A step that was simulated, maybe in pieces.
    struct Simulated {
        Timestamp start{};
        WhatIfStep step = {};
        Nanoseconds untraced{0}; ///< prediction for a step that is not traced, with free launches
    };

    static std::optional<std::int32_t> numberOf(const RecordedStep& step)
    {
        return step.step == kNoStep ? std::nullopt : std::optional(step.step);
    }
    static std::size_t numberOf(const analysis::RecordedGraph& graph, const PathSource& source)
    {
        return static_cast<std::size_t>(&source - graph.sources.data());
    }

    bool isSelected(ProcessIndex process) const
    {
        const TracedProcess* const found = filter_.topology().find(process);
        return !found || ((!query_.topology.rank || found->rank == query_.topology.rank) &&
                          (!query_.topology.pid || found->pid == *query_.topology.pid));
    }

    /// \param steps  by number
    void simulate(std::span<const RecordedStep> steps)
    {
        if (cancelled_())
            return;
        analysis::Interval time = steps.front().wall;
        for (const RecordedStep& step : steps)
            time = {std::min({time.start, step.wall.start, step.host.start}),
                    std::max({time.end, step.wall.end, step.host.end})};
        if (const auto graph = graphs_.within(time, query_.mostEvents))
            return simulate(steps, *graph);
        const std::int32_t middle = steps[steps.size() / 2].step;
        const auto cut = static_cast<std::size_t>(
            std::ranges::find(steps, middle == steps.front().step ? steps.back().step : middle,
                              &RecordedStep::step) -
            steps.begin());
        if (cut > 0) {
            simulate(steps.first(cut));
            simulate(steps.subspan(cut));
            return;
        }
        graphs_.eachPiece(time, query_.mostEvents, PathGraphs::Order::FirstToLast,
                          [&](const analysis::Interval& piece, const analysis::RecordedGraph& graph) {
                              if (const std::vector<RecordedStep> parts = partsWithin(steps, piece);
                                  !parts.empty())
                                  simulate(parts, graph);
                          });
    }

    /// The events within one piece of a step that is too long for memory.
    static std::vector<RecordedStep> partsWithin(std::span<const RecordedStep> steps,
                                                 const analysis::Interval& piece)
    {
        const auto within = [&piece](const analysis::Interval& time) {
            const Timestamp start = std::clamp(time.start, piece.start, piece.end);
            return analysis::Interval{start, std::clamp(time.end, start, piece.end)};
        };
        std::vector<RecordedStep> parts;
        for (RecordedStep step : steps) {
            step.wall = within(step.wall);
            step.host = within(step.host);
            if (step.wall.end > step.wall.start)
                parts.push_back(step);
        }
        return parts;
    }

    /// Simulates steps whose events are in memory together.
    void simulate(std::span<const RecordedStep> steps, const analysis::RecordedGraph& graph)
    {
        std::map<ProcessIndex, std::vector<RecordedStep>> processes;
        for (const RecordedStep& step : steps)
            processes[step.process].push_back(step);
        for (std::uint32_t i = 0; i < graph.graph.activities().size() && !hasGraphBranches_; ++i)
            hasGraphBranches_ = std::ranges::any_of(graph.graph.constraintsOf(i),
                                                    [](const analysis::ActivityGraph::Constraint& each) {
                                                        return each.cause == analysis::Cause::Graph;
                                                    });
        const std::vector<double> factors = factorsOf(graph);
        analysis::PathChange change{
            .factorOf = [&](const PathSource& source) { return factors[numberOf(graph, source)]; },
            .freeLaunches = query_.freeLaunches,
            .freeCommunication = query_.freeCommunication,
            .removed = removedOf(graph, steps)};
        const std::vector<analysis::Interval> times = changedTimes(graph, change);
        change.freeGaps = query_.freeLaunches;
        const std::vector<analysis::Interval> untraced =
            change.freeGaps ? changedTimes(graph, change) : std::vector<analysis::Interval>();
        for (auto& [process, ofProcess] : processes) {
            std::ranges::sort(ofProcess, {}, [](const RecordedStep& step) { return step.wall.start; });
            const std::vector<analysis::Interval> walls = changedWalls(graph, ofProcess, times);
            const std::vector<analysis::Interval> untracedWalls =
                untraced.empty() ? walls : changedWalls(graph, ofProcess, untraced);
            for (std::size_t i = 0; i < walls.size(); ++i)
                note(ofProcess[i], walls[i].length(), untracedWalls[i].length());
        }
    }

    void note(const RecordedStep& step, Nanoseconds predicted, Nanoseconds untraced)
    {
        std::vector<Simulated>& done = done_[step.process];
        if (done.empty() || done.back().step.step != numberOf(step))
            done.push_back({.start = step.wall.start, .step = {.step = numberOf(step)}});
        done.back().step.wall += step.wall.length();
        done.back().step.predicted += predicted;
        done.back().untraced += untraced;
    }

    void requireWork() const
    {
        for (std::size_t i = 0; i < selections_.size(); ++i)
            if (selected_[i] == Nanoseconds(0))
                throw Error{
                    .what = (areSteps_ ? "the steps of run " + std::to_string(run_.run.value) + " have"
                                       : "run " + std::to_string(run_.run.value) + " has") +
                            " no work '" + selections_[i].key() + "'",
                    .where = selections_[i].option(),
                    .remedy = "name a family, a kernel or a path with /: show FILE kernels --group family"};
        if (query_.freeCommunication && communication_ == Nanoseconds(0))
            throw Error{.what = "run " + std::to_string(run_.run.value) + " has no communication",
                        .where = "--free communication",
                        .remedy = "choose a run of several ranks"};
    }

    /// By source: the factor by which the duration of its work is multiplied.
    std::vector<double> factorsOf(const analysis::RecordedGraph& graph)
    {
        std::vector<double> factors(graph.sources.size(), 1);
        for (const analysis::Activity& activity : graph.graph.activities()) {
            const PathSource& source = graph.sources[activity.source];
            if (activity.part == analysis::PathPart::Communication)
                communication_ += activity.time.length();
            if (!isWork(source))
                continue;
            double factor = 1;
            for (std::size_t i = 0; i < selections_.size(); ++i)
                if (selections_[i].has(source)) {
                    factor *= selections_[i].factor();
                    selected_[i] += activity.time.length();
                }
            factors[activity.source] = factor;
        }
        return factors;
    }

    /// On a GPU the host's ops only launch the work.
    bool isWork(const PathSource& source) const
    {
        return source.kind == PathSource::Kind::Op ? !onGpu_ : source.kind > PathSource::Kind::Call;
    }

    std::vector<bool> removedOf(const analysis::RecordedGraph& graph, std::span<const RecordedStep> steps)
    {
        if (query_.removed.empty())
            return {};
        std::vector<Timestamp> starts;
        for (const RecordedStep& step : steps)
            starts.push_back(step.host.start);
        std::ranges::sort(starts);
        const auto isLeftOut = [this](const PathSource& source) {
            return isWork(source) && std::ranges::any_of(selections_, [&](WorkSelection& selection) {
                       return selection.isRemoved() && selection.has(source);
                   });
        };
        std::vector<bool> removed = removedActivities(graph, isLeftOut, starts);
        const std::span<const analysis::Activity> activities = graph.graph.activities();
        for (std::uint32_t i = 0; i < activities.size(); ++i)
            if (removed[i] && graph.sourceOf(i).thread && !isWork(graph.sourceOf(i)))
                removedHost_ += activities[i].time.length();
        return removed;
    }

    WhatIfRow rowOf(ProcessIndex process, const std::vector<Simulated>& done) const
    {
        WhatIfRow row{.title = filter_.topology().titleOf(process),
                      .rank = rankOf(filter_.topology(), process),
                      .numbers = numbersOf(filter_.topology(), process)};
        std::vector<double> recorded;
        std::vector<double> predicted;
        std::vector<double> ratios;
        std::vector<double> untraced;
        for (const Simulated& each : done) {
            row.steps.push_back(each.step);
            if (each.step.step)
                row.steps.back().leftOut = choice_.whyNot(row.numbers.process, *each.step.step);
            if (!row.steps.back().leftOut.empty())
                continue;
            recorded.push_back(milliseconds(each.step.wall));
            predicted.push_back(milliseconds(each.step.predicted));
            untraced.push_back(milliseconds(each.untraced));
            ratios.push_back(recorded.back() > 0 ? predicted.back() / recorded.back() : 1);
        }
        row.recordedMs = analysis::summarise(recorded).value_or(analysis::Statistics{});
        row.predictedMs = analysis::summarise(predicted).value_or(analysis::Statistics{});
        row.ratio = analysis::summarise(ratios).value_or(analysis::Statistics{});
        std::vector<double> timed;
        for (const Sample& sample : reader_.samples(run_.run))
            if (sample.kind == SampleKind::Measure && sample.phase == Phase::Step)
                timed.push_back(milliseconds(sample.wall));
        if (!timed.empty()) {
            row.timedMs = analysis::median(timed);
            // Tracing lengthens what the host does and keeps kernels apart, of which nothing is left with free launches.
            row.predictedTimedMs =
                query_.freeLaunches
                    ? std::min(*row.timedMs, untraced.empty() ? *row.timedMs : analysis::median(untraced))
                    : *row.timedMs * row.ratio.median;
        }
        return row;
    }

    const store::RunReader& reader_;
    const WhatIfQuery& query_;
    const std::function<bool()>& cancelled_;
    store::RunRecord run_;
    ProcessFilter filter_;
    const UsualTimes usual_;
    PathGraphs graphs_;
    bool areSteps_ = false; ///< otherwise the whole recording is one
    bool hasGraphBranches_ = false;
    const bool onGpu_;
    StepChoice choice_;
    std::vector<WorkSelection> selections_;
    std::vector<Nanoseconds> selected_; ///< by selection: time of its work
    Nanoseconds communication_{0};
    Nanoseconds removedHost_{0};
    std::map<ProcessIndex, std::vector<Simulated>> done_;
};

} // namespace

WorkScale workScaleOf(std::string_view text)
{
    const std::size_t equals = text.rfind('=');
    const auto factor =
        equals == std::string_view::npos ? std::nullopt : parseNumber<double>(text.substr(equals + 1));
    if (!factor || !(*factor >= 0) || *factor > 1e6 || equals == 0)
        throw Error{.what = "'" + std::string(text) + "' is not KEY=FACTOR",
                    .where = "--scale",
                    .remedy = "softmax=0.5: kernels of family softmax take half the time"};
    return {.key = std::string(text.substr(0, equals)), .factor = *factor};
}

WhatIfTable whatIf(const store::RunReader& reader, const WhatIfQuery& query,
                   const std::function<bool()>& cancelled)
{
    WhatIfTable table;
    reader.atOnce([&] { table = WhatIfReading(reader, query, cancelled).read(); });
    return table;
}

} // namespace tilescope::query
