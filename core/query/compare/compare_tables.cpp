#include "core/query/compare/compare_tables.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/config/schema.h"
#include "core/model/flags.h"
#include "core/model/text.h"
#include "core/query/compare/recorded_steps.h"
#include "core/query/compare/side_events.h"
#include "core/query/memory/peak_memory.h"
#include "core/query/runs/both_sides.h"
#include "core/query/runs/json_members.h"
#include "core/query/runs/milliseconds.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"
#include "core/query/timeline/hue.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

namespace tilescope::query {

namespace {

using analysis::GroupTimes;
using Json = nlohmann::ordered_json;

std::vector<ComparedGroup> compared(const std::vector<GroupTimes>& a, const std::vector<GroupTimes>& b,
                                    const analysis::BetweenRuns& between)
{
    std::vector<ComparedGroup> groups;
    for (analysis::GroupDifference& difference : analysis::compareGroups(a, b, between))
        groups.push_back({.difference = std::move(difference)});
    return groups;
}

/// Wall and GPU times of one phase in step order, timed steps only, in ms.
std::vector<double> seriesOf(const std::vector<Sample>& samples, Phase phase, bool onGpu)
{
    std::vector<double> series;
    for (const Sample& sample : samples) {
        if (sample.phase != phase || sample.kind != SampleKind::Measure || (onGpu && !sample.gpu))
            continue;
        const Nanoseconds time = onGpu ? *sample.gpu : sample.wall;
        if (time.count() > 0)
            series.push_back(milliseconds(time));
    }
    return series;
}

std::vector<ComparedFact> factsThatDiffer(const std::vector<std::pair<std::string, std::string>>& a,
                                          const std::vector<std::pair<std::string, std::string>>& b)
{
    std::vector<ComparedFact> facts;
    const auto valueIn = [](const auto& list, const std::string& key) {
        const auto found =
            std::find_if(list.begin(), list.end(), [&](const auto& fact) { return fact.first == key; });
        return found == list.end() ? std::string() : found->second;
    };
    for (const auto& [key, value] : a)
        if (const std::string other = valueIn(b, key); other != value)
            facts.push_back({key, value, other});
    for (const auto& [key, value] : b)
        if (valueIn(a, key).empty() && !value.empty())
            facts.push_back({key, {}, value});
    return facts;
}

std::vector<std::pair<std::string, std::string>> parametersOf(const store::RunRecord& run)
{
    std::vector<std::pair<std::string, std::string>> parameters;
    const Json json = Json::parse(run.specJson, nullptr, false);
    if (json.is_object())
        for (const auto& item : json.items())
            if (item.key() != "name" && item.key() != "repeat")
                parameters.emplace_back(item.key(), item.value().is_string() ? item.value().get<std::string>()
                                                                             : item.value().dump());
    return parameters;
}

/// The facts of a run's environment about the machine and the software. Values that always change (loads,
/// clocks, free memory, anything measured before and after) do not explain a difference between runs beyond
/// their samples.
std::vector<std::pair<std::string, std::string>> environmentOf(const store::RunReader& reader, RunId run)
{
    std::vector<std::pair<std::string, std::string>> facts;
    for (const EnvironmentEntry& entry : reader.environment(run)) {
        const bool changesByItself = entry.key.ends_with(".before") || entry.key.ends_with(".after") ||
                                     entry.key.ends_with(".timed") ||
                                     entry.key.find("load") != std::string::npos ||
                                     entry.key.find("available") != std::string::npos ||
                                     entry.key == "command_line" || entry.key == "spec" || entry.key == "pid";
        if (!changesByItself)
            facts.emplace_back(entry.key, entry.value + (entry.unit.empty() ? "" : " " + entry.unit));
    }
    const RunTopology topology = reader.topology(run);
    const auto ranks = std::ranges::count_if(
        topology.processes, [](const TracedProcess& process) { return process.rank.has_value(); });
    if (ranks > 0)
        facts.emplace_back("ranks", std::to_string(ranks));
    return facts;
}

/// The facts by which two runs belong to one point: device, program, and all keys except name, timeout and
/// repeat.
/// With `anySeed`, ignores the seed: runs with different seeds do the same work on different numbers.
std::string identityOf(const store::RunRecord& run, bool anySeed)
{
    const std::string keys = anySeed ? membersWithout(run.specJson, {"name", "timeout", "repeat", "seed"})
                                     : membersWithout(run.specJson, {"name", "timeout", "repeat"});
    return keys.empty() ? run.uid : run.program + '\n' + run.result.device + '\n' + keys;
}

/// A run whose identity is that of another, whatever their seeds.
struct AlikeRun {
    store::RunRecord record;
    bool hasSameSeed = false;
};

/// The finished runs of a file by their identity, whatever their seeds: one pass for any number of comparisons.
class Points {
public:
    explicit Points(const store::RunReader& reader)
    {
        reader.eachRun([this](store::RunRecord&& record) {
            if (record.result.status == RunStatus::Ok)
                runs_[identityOf(record, true)].push_back(std::move(record));
            return true;
        });
    }

    /// The run, finished or not, and the finished runs like it, in the order of the file.
    std::vector<AlikeRun> alike(const store::RunRecord& run) const
    {
        std::vector<AlikeRun> alike;
        const std::string sameSeed = identityOf(run, false);
        if (const auto point = runs_.find(identityOf(run, true)); point != runs_.end())
            for (const store::RunRecord& record : point->second)
                alike.push_back({record, record.uid == run.uid || identityOf(record, false) == sameSeed});
        if (run.result.status != RunStatus::Ok)
            alike.insert(std::ranges::find_if(
                             alike, [&run](const AlikeRun& other) { return other.record.run > run.run; }),
                         {run, true});
        return alike;
    }

private:
    std::unordered_map<std::string, std::vector<store::RunRecord>> runs_;
};

/// The points of each file, which are read once.
class PointsOfFiles {
public:
    const Points& of(const store::RunReader& reader)
    {
        return files_.try_emplace(reader.file(), reader).first->second;
    }

private:
    std::map<std::filesystem::path, Points> files_;
};

/// The run and the finished repeats of its point.
std::vector<store::RunRecord> repeatsIn(const std::vector<AlikeRun>& alike)
{
    std::vector<store::RunRecord> repeats;
    for (const AlikeRun& run : alike)
        if (run.hasSameSeed)
            repeats.push_back(run.record);
    return repeats;
}

bool holds(const std::vector<store::RunRecord>& runs, const store::RunRecord& run)
{
    return std::any_of(runs.begin(), runs.end(),
                       [&run](const store::RunRecord& each) { return each.uid == run.uid; });
}

bool shareARun(const std::vector<store::RunRecord>& a, const std::vector<store::RunRecord>& b)
{
    return std::ranges::any_of(a, [&b](const store::RunRecord& run) { return holds(b, run); });
}

/// What the host was like during a run.
struct HostConditions {
    bool wasLoaded = false; ///< more threads to run than processors, over the minute before the run
    std::optional<double> waiting = {}; ///< share of the timed steps
    std::optional<double> someWaiting = {};
    std::optional<int> torchThreads = {};
};

HostConditions hostConditions(const store::RunReader& reader, RunId run)
{
    constexpr double kBeyondOurOwn = 1.25; // our own threads may keep every processor busy
    HostConditions host;
    double load = 0;
    double threads = 0;
    for (const EnvironmentEntry& entry : reader.environment(run)) {
        const auto value = [&entry] { return parseNumber<double>(entry.value); };
        if (entry.key == "load")
            load = value().value_or(0);
        else if (entry.key == "cpu.threads")
            threads = value().value_or(0);
        else if (entry.key == "host.waiting.timed" && value())
            host.waiting = *value() / 100;
        else if (entry.key == "host.waiting.some.timed" && value())
            host.someWaiting = *value() / 100;
        else if (entry.key == "torch_threads")
            host.torchThreads = parseNumber<int>(entry.value);
    }
    host.wasLoaded = threads > 0 && load > kBeyondOurOwn * threads;
    return host;
}

/// The threads of one process that compute the steps of a run on a CPU; 0: not known, or it is not so.
int threadsOf(const store::RunRecord& run, std::optional<int> torchThreads)
{
    const auto spec = run.traits().isImported ? std::nullopt : config::specOf(run.specJson);
    if (!spec || spec->gpus != 1 || run.result.device != "cpu")
        return 0;
    return spec->threads ? static_cast<int>(*spec->threads) : torchThreads.value_or(0);
}

/// The run without its times. Of a recording of another program, recordedRun() knows more.
analysis::TimedRun conditionsOf(const store::RunReader& reader, const store::RunRecord& run)
{
    constexpr std::array kOfTimes{FlagKind::WarmUpTooShort, FlagKind::Unsteady,     FlagKind::Drift,
                                  FlagKind::Throttled,      FlagKind::ClockChanged, FlagKind::BusyHost};
    const HostConditions host = hostConditions(reader, run.run);
    const bool isFlagged =
        std::ranges::any_of(kOfTimes, [&run](FlagKind kind) { return hasFlag(run.result.flags, kind); });
    return {.disturbed = isFlagged || host.wasLoaded || run.traits().isImported,
            .hostWasLoaded = host.wasLoaded,
            .waiting = host.waiting,
            .started = run.startedUnixNs,
            .threads = threadsOf(run, host.torchThreads),
            .someWaiting = host.someWaiting};
}

analysis::TimedRun recordedOf(const store::RunReader& reader, const store::RunRecord& run,
                              const ProcessQuery& topology)
{
    RecordedSteps steps = recordedStepTimes(reader, run.run, topology);
    analysis::TimedRun recorded = conditionsOf(reader, run);
    recorded.times = std::move(steps.walls);
    recorded.waiting = steps.waiting;
    recorded.someWaiting = steps.someWaiting;
    recorded.threads = steps.threads;
    return recorded;
}

/// A run with what its times are compared by.
struct RunSamples {
    std::vector<Sample> samples = {};
    analysis::TimedRun conditions = {};
    std::optional<analysis::TimedRun> recorded = {}; ///< of a run without timed steps: its recorded steps

    analysis::TimedRun timed(std::vector<double> times) const
    {
        analysis::TimedRun run = conditions;
        run.times = std::move(times);
        return run;
    }
};

/// The runs of both sides, and those used only to estimate the deviation between runs.
class ComparedSides {
public:
    /// These runs and no others.
    ComparedSides(const store::RunReader& a, std::vector<store::RunRecord> runsA, const store::RunReader& b,
                  std::vector<store::RunRecord> runsB, const ProcessQuery& topology)
        : topology_(topology)
    {
        sides_[0] = samplesOf(a, runsA);
        sides_[1] = samplesOf(b, runsB);
        records_ = {std::move(runsA), std::move(runsB)};
    }

    /// \param pointsA, pointsB  of the two files; the same object if they are one file
    ComparedSides(const store::RunReader& a, const Points& pointsA, const store::RunRecord& runA,
                  const store::RunReader& b, const Points& pointsB, const store::RunRecord& runB,
                  const ProcessQuery& topology)
        : topology_(topology)
    {
        const std::vector<AlikeRun> alikeA = pointsA.alike(runA);
        const bool areAlike = &pointsA == &pointsB && identityOf(runA, true) == identityOf(runB, true);
        const std::vector<AlikeRun> alikeB = pointsB.alike(runB);
        std::vector<store::RunRecord> runsA = repeatsIn(alikeA);
        std::vector<store::RunRecord> runsB = repeatsIn(alikeB);
        if (shareARun(runsA, runsB)) {
            runsA = {runA};
            runsB = {runB};
        }
        sides_[0] = samplesOf(a, runsA);
        sides_[1] = samplesOf(b, runsB);
        records_ = {std::move(runsA), std::move(runsB)};
        addRepeats(a, alikeA);
        if (!areAlike)
            addRepeats(b, alikeB);
    }

    const std::vector<store::RunRecord>& runs(int side) const
    {
        return records_[static_cast<std::size_t>(side)];
    }

    /// \param step  the comparison of the steps, if `phase` is a part of them
    std::optional<analysis::TimeDifference> compare(Phase phase, bool onGpu, std::optional<double> runToRun,
                                                    const analysis::TimeDifference* step = nullptr) const
    {
        std::array<std::vector<analysis::TimedRun>, 2> timed;
        for (std::size_t side = 0; side < timed.size(); ++side)
            for (const RunSamples& run : sides_[side])
                timed[side].push_back(run.timed(seriesOf(run.samples, phase, onGpu)));
        analysis::KnownDeviation known{.given = runToRun};
        if (step && !step->between.isMeasured())
            known.ofStep = step->between.deviation;
        for (const std::vector<RunSamples>& group : repeats_) {
            std::vector<double>& medians = known.repeats.emplace_back();
            for (const RunSamples& run : group)
                if (const auto series = seriesOf(run.samples, phase, onGpu); !series.empty())
                    medians.push_back(analysis::median(series));
        }
        return analysis::compareRuns(timed[0], timed[1], known);
    }

    /// The recorded steps of both sides, of which at least one has no timed steps; none if a side has neither.
    std::optional<analysis::TimeDifference> compareRecorded(std::optional<double> runToRun) const
    {
        std::array<std::vector<analysis::TimedRun>, 2> timed;
        for (std::size_t side = 0; side < timed.size(); ++side)
            for (const RunSamples& run : sides_[side]) {
                const std::vector<double> measured = seriesOf(run.samples, Phase::Step, false);
                timed[side].push_back(measured.empty() && run.recorded ? *run.recorded : run.timed(measured));
            }
        return analysis::compareRuns(timed[0], timed[1], {.given = runToRun});
    }

private:
    std::vector<RunSamples> samplesOf(const store::RunReader& reader,
                                      const std::vector<store::RunRecord>& runs) const
    {
        std::vector<RunSamples> samples;
        for (const store::RunRecord& run : runs) {
            samples.push_back({.samples = reader.samples(run.run), .conditions = conditionsOf(reader, run)});
            if (run.traits().isImported && !run.traits().isMemoryOnly &&
                seriesOf(samples.back().samples, Phase::Step, false).empty())
                samples.back().recorded = recordedOf(reader, run, topology_);
        }
        return samples;
    }

    /// The finished runs among them that are on neither side.
    void addRepeats(const store::RunReader& reader, const std::vector<AlikeRun>& alike)
    {
        std::vector<RunSamples>& repeats = repeats_.emplace_back();
        for (const AlikeRun& run : alike)
            if (run.record.result.status == RunStatus::Ok && !holds(records_[0], run.record) &&
                !holds(records_[1], run.record))
                repeats.push_back({.samples = reader.samples(run.record.run)});
    }

    ProcessQuery topology_;
    std::array<std::vector<store::RunRecord>, 2> records_;
    std::array<std::vector<RunSamples>, 2> sides_;
    std::vector<std::vector<RunSamples>> repeats_;
};

/// \param byLaunch  of either side
void describe(std::vector<ComparedGroup>& kernels, std::span<const LaunchFamilies* const> byLaunch)
{
    for (ComparedGroup& group : kernels) {
        const std::string& name = group.difference.key;
        auto description = analysis::KernelFamilies::standard().describe(
            name, name.starts_with("Memcpy")   ? DeviceEventKind::Memcpy
                  : name.starts_with("Memset") ? DeviceEventKind::Memset
                                               : DeviceEventKind::Kernel);
        for (const LaunchFamilies* const side : byLaunch)
            if (const auto found = side->find(name);
                found != side->end() && description.family == analysis::KernelFamily::Other)
                description.family = found->second;
        group.shortName = description.shortName;
        group.family = wordOf(description.family);
    }
}

void compareEvents(Comparison& comparison, const TracedGroups& sideA, const TracedGroups& sideB)
{
    if (!sideA.hasSteps || !sideB.hasSteps)
        return;
    const analysis::TimeDifference* step = comparison.judged();
    const analysis::BetweenRuns between = step ? step->between : analysis::betweenRuns({}, {});
    if (sideA.onGpu && sideB.onGpu) {
        comparison.families = compared(sideA.families, sideB.families, between);
        comparison.kernels = compared(sideA.kernels, sideB.kernels, between);
        describe(comparison.kernels, std::array{&sideA.byLaunch, &sideB.byLaunch});
    } else if (!sideA.onGpu && !sideB.onGpu) {
        comparison.families = compared(sideA.families, sideB.families, between);
        comparison.kernels = compared(sideA.ops, sideB.ops, between);
        for (ComparedGroup& group : comparison.kernels)
            group.family = hueWord(hueOfOp(group.difference.key));
        comparison.opsForKernels = true;
    }
    if (sideA.onGpu == sideB.onGpu)
        comparison.ranges = compared(sideA.ranges, sideB.ranges, between);
}

/// The named run, or the last of the file's only point.
store::RunRecord chosenRun(const store::RunReader& reader, std::optional<RunId> run)
{
    if (!run) {
        std::set<std::string> points;
        reader.eachRun([&points](store::RunRecord&& record) {
            points.insert(identityOf(record, false));
            return true;
        });
        if (points.size() > 1)
            throw Error{.what = "holds " + std::to_string(points.size()) + " points",
                        .where = reader.file().string(),
                        .remedy = "name one of its runs: FILE:RUN; show FILE lists them"};
    }
    return chooseRun(reader, run);
}

/// The runs that are named, in the order of the file; of none chosenRun().
std::vector<store::RunRecord> namedRuns(const store::RunReader& reader, std::vector<RunId> runs)
{
    if (runs.empty())
        return {chosenRun(reader, {})};
    std::ranges::sort(runs, {}, &RunId::value);
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    std::vector<store::RunRecord> records;
    for (const RunId run : runs)
        records.push_back(chooseRun(reader, run));
    return records;
}

void addLosses(ComparedRun& side, const store::RunReader& reader, RunId run)
{
    if (std::string lost = lossSentence(reader, run); !lost.empty())
        side.losses.push_back(std::move(lost));
}

void addSide(Comparison& comparison, ComparedRun& side, char letter, const store::RunReader& reader,
             const std::vector<store::RunRecord>& runs)
{
    for (const store::RunRecord& run : runs) {
        side.runs.push_back(run.run);
        addLosses(side, reader, run.run);
        for (const std::string& flag : run.result.flags)
            if (const FlagInfo* info = findFlag(flag); !info || info->severity != LossSeverity::Info)
                comparison.flags.push_back({.side = letter, .run = run.run, .text = flag});
    }
}

void compareFacts(Comparison& comparison, const store::RunReader& a, const store::RunReader& b)
{
    const store::RunRecord& first = comparison.a.run;
    const store::RunRecord& second = comparison.b.run;
    comparison.parameters = factsThatDiffer(parametersOf(first), parametersOf(second));
    comparison.environment = factsThatDiffer(environmentOf(a, first.run), environmentOf(b, second.run));
}

/// The memory that a side holds at its peak: within its span, or as its run counted it.
std::optional<Bytes> peakOf(ComparedRun& side, const store::RunReader& reader)
{
    if (!side.span)
        return side.run.result.peakAllocated;
    if (reader.counts(side.run.run).allocEvents == 0)
        return {};
    side.atPeak = memoryAtPeak(
        reader, side.run.run, [] { return false; }, side.span);
    return side.atPeak->allocated;
}

void compareLines(Comparison& comparison, const store::RunReader& a, const store::RunReader& b,
                  const ProcessQuery& topology)
{
    const auto [linesA, linesB] = onBothSides(a, b, [&](const store::RunReader& reader, std::size_t side) {
        const ComparedRun& compared = side == 0 ? comparison.a : comparison.b;
        return waiting(reader, {.run = compared.run.run, .topology = topology, .span = compared.span},
                       WaitingGroup::Line);
    });
    if (!linesA.rows.empty() && !linesB.rows.empty())
        comparison.lines = comparedLines(linesA, linesB);
    std::ranges::stable_sort(comparison.lines, std::greater{},
                             [](const ComparedLine& line) { return std::abs(line.change()); });
}

} // namespace

const analysis::TimeDifference* Comparison::step() const
{
    for (const ComparedTime& time : times)
        if (time.phase == Phase::Step && !time.onGpu)
            return &time.difference;
    return nullptr;
}

const analysis::TimeDifference* Comparison::judged() const
{
    const analysis::TimeDifference* timed = step();
    return timed ? timed : recordedStep ? &*recordedStep : nullptr;
}

std::optional<std::int64_t> Comparison::delta() const
{
    constexpr double kNsPerMs = 1e6;
    if (const analysis::TimeDifference* difference = step())
        return std::llround(difference->difference * kNsPerMs);
    return change ? std::optional(change->delta) : std::nullopt;
}

analysis::TimedRun timedRun(const store::RunReader& reader, const store::RunRecord& run, Phase phase,
                            bool onGpu)
{
    analysis::TimedRun timed = conditionsOf(reader, run);
    timed.times = seriesOf(reader.samples(run.run), phase, onGpu);
    return timed;
}

analysis::TimedRun recordedRun(const store::RunReader& reader, const store::RunRecord& run)
{
    return recordedOf(reader, run, {});
}

struct StepBaseline::Known {
    const store::RunReader& reader;
    store::RunRecord run;
    PointsOfFiles points = {};
};

StepBaseline::StepBaseline(const store::RunReader& reader, RunId run)
    : known_(new Known{reader, chooseRun(reader, run)})
{
}

StepBaseline::~StepBaseline() = default;

std::optional<analysis::TimeDifference> StepBaseline::compareWith(const store::RunReader& other, RunId run)
{
    const ComparedSides sides(known_->reader, known_->points.of(known_->reader), known_->run, other,
                              known_->points.of(other), chooseRun(other, run), {});
    auto timed = sides.compare(Phase::Step, false, {});
    return timed ? timed : sides.compareRecorded({});
}

std::optional<analysis::TimeDifference> compareSteps(const store::RunReader& a, RunId runA,
                                                     const store::RunReader& b, RunId runB)
{
    return StepBaseline(a, runA).compareWith(b, runB);
}

Comparison compare(const store::RunReader& a, const ComparedRuns& runsA, const store::RunReader& b,
                   const ComparedRuns& runsB, std::optional<double> runToRun, const ProcessQuery& topology)
{
    const std::vector<store::RunRecord> namedA = namedRuns(a, runsA.named);
    const std::vector<store::RunRecord> namedB = namedRuns(b, runsB.named);
    Comparison comparison{.a = {.file = a.file().string(), .run = namedA.front()},
                          .b = {.file = b.file().string(), .run = namedB.front()}};
    const store::RunRecord& first = comparison.a.run;
    const store::RunRecord& second = comparison.b.run;
    PointsOfFiles points;
    const auto isWholePoint = [](const ComparedRuns& runs) {
        return runs.named.size() < 2 && runs.withRepeats;
    };
    const auto sidesOfNamedRuns = [&] {
        std::vector<store::RunRecord> allA =
            isWholePoint(runsA) ? repeatsIn(points.of(a).alike(first)) : namedA;
        std::vector<store::RunRecord> allB =
            isWholePoint(runsB) ? repeatsIn(points.of(b).alike(second)) : namedB;
        return shareARun(allA, allB) ? ComparedSides(a, namedA, b, namedB, topology)
                                     : ComparedSides(a, std::move(allA), b, std::move(allB), topology);
    };
    const ComparedSides sides = isWholePoint(runsA) && isWholePoint(runsB)
                                    ? ComparedSides(a, points.of(a), first, b, points.of(b), second, topology)
                                    : sidesOfNamedRuns();
    addSide(comparison, comparison.a, 'A', a, sides.runs(0));
    addSide(comparison, comparison.b, 'B', b, sides.runs(1));
    compareFacts(comparison, a, b);
    for (const auto& [phase, word] : enumWords<Phase>())
        for (const bool onGpu : {false, true})
            if (const auto difference = sides.compare(phase, onGpu, runToRun, comparison.step()))
                comparison.times.push_back({phase, onGpu, *difference});
    if (!comparison.step())
        comparison.recordedStep = sides.compareRecorded(runToRun);
    comparison.memory = {{"peak_allocated", first.result.peakAllocated, second.result.peakAllocated},
                         {"peak_reserved", first.result.peakReserved, second.result.peakReserved},
                         {"before_backward", first.result.beforeBackward, second.result.beforeBackward}};
    std::erase_if(comparison.memory, [](const ComparedMemory& memory) { return !memory.a && !memory.b; });
    const auto [sideA, sideB] = onBothSides(a, b, [&](const store::RunReader& reader, std::size_t side) {
        return sideEvents(reader, side == 0 ? comparison.a.runs : comparison.b.runs, topology);
    });
    compareEvents(comparison, sideA.groups, sideB.groups);
    comparison.change = stepChange({a, comparison.a.runs, sideA.step}, {b, comparison.b.runs, sideB.step},
                                   comparison.delta(), topology);
    compareLines(comparison, a, b, topology);
    if (comparison.a.run.coversRecording() && comparison.b.run.coversRecording())
        comparison.tokens = compareTokens(generation(a, comparison.a.run.run, topology),
                                          generation(b, comparison.b.run.run, topology));
    return comparison;
}

Comparison compare(const store::RunReader& a, std::optional<RunId> runA, const store::RunReader& b,
                   std::optional<RunId> runB, std::optional<double> runToRun, const ProcessQuery& topology)
{
    const auto listed = [](std::optional<RunId> run) { return run ? ComparedRuns{{*run}} : ComparedRuns{}; };
    return compare(a, listed(runA), b, listed(runB), runToRun, topology);
}

Comparison compareSpans(const store::RunReader& a, std::optional<RunId> runA, const store::RunReader& b,
                        std::optional<RunId> runB, const std::array<std::optional<TimeSpan>, 2>& spans,
                        const ProcessQuery& topology)
{
    Comparison comparison{.a = {.file = a.file().string(), .run = chosenRun(a, runA), .span = spans[0]},
                          .b = {.file = b.file().string(), .run = chosenRun(b, runB), .span = spans[1]}};
    for (const auto& [side, reader] : {std::pair(&comparison.a, &a), std::pair(&comparison.b, &b)}) {
        side->runs = {side->run.run};
        addLosses(*side, *reader, side->run.run);
    }
    compareFacts(comparison, a, b);
    const ComparedMemory peak{"peak_allocated", peakOf(comparison.a, a), peakOf(comparison.b, b)};
    if (peak.a || peak.b)
        comparison.memory.push_back(peak);
    const auto [sideA, sideB] = onBothSides(a, b, [&](const store::RunReader& reader, std::size_t side) {
        const ComparedRun& compared = side == 0 ? comparison.a : comparison.b;
        return tracedGroups(reader, compared.runs, topology, compared.span);
    });
    compareEvents(comparison, sideA, sideB);
    compareLines(comparison, a, b, topology);
    return comparison;
}

} // namespace tilescope::query
