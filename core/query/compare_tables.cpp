#include "core/query/compare_tables.h"

#include "core/analysis/kernel_families.h"
#include "core/analysis/op_totals.h"
#include "core/analysis/range_totals.h"
#include "core/model/text.h"
#include "core/query/run_tables.h"
#include "core/query/selection.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace tilescope::query {

namespace {

using analysis::GroupTimes;
using Json = nlohmann::ordered_json;

/// The events of a run's traced steps, step by step.
struct TracedSteps {
    std::vector<std::int32_t> steps;
    std::vector<Range> ranges;
    std::vector<Op> ops;
    std::vector<DeviceEvent> device;
};

TracedSteps tracedStepsOf(const store::RunReader& reader, RunId run)
{
    TracedSteps traced{.steps = {}, .ranges = reader.ranges({.run = run}), .ops = {}, .device = {}};
    traced.ops = reader.ops({.run = run});
    traced.device = reader.deviceEvents({.run = run});
    std::set<std::int32_t> steps;
    for (const Range& range : traced.ranges)
        if (range.step != kNoStep)
            steps.insert(range.step);
    traced.steps.assign(steps.begin(), steps.end());
    return traced;
}

/// Adds up times by key and step.
class GroupSums {
public:
    explicit GroupSums(const std::vector<std::int32_t>& steps) : steps_(steps) {}

    void add(std::string_view key, std::int32_t step, Nanoseconds time, std::int64_t instances = 1)
    {
        const auto position = std::lower_bound(steps_.begin(), steps_.end(), step);
        if (position == steps_.end() || *position != step)
            return;
        auto group = groups_.find(key);
        if (group == groups_.end())
            group = groups_.emplace(key, GroupTimes{.key = std::string(key)}).first;
        group->second.perStep.resize(steps_.size());
        group->second.perStep[static_cast<std::size_t>(position - steps_.begin())] +=
            static_cast<double>(time.count());
        group->second.instancesPerStep += static_cast<double>(instances);
    }

    std::vector<GroupTimes> take()
    {
        std::vector<GroupTimes> list;
        for (auto& [key, group] : groups_) {
            group.instancesPerStep /= static_cast<double>(steps_.size());
            list.push_back(std::move(group));
        }
        return list;
    }

private:
    const std::vector<std::int32_t>& steps_;
    std::map<std::string, GroupTimes, std::less<>> groups_;
};

std::vector<GroupTimes> kernelTimes(const TracedSteps& traced, const store::RunReader& reader)
{
    GroupSums sums(traced.steps);
    for (const DeviceEvent& event : traced.device)
        sums.add(reader.text(event.name), event.step, event.end - event.start);
    return sums.take();
}

std::vector<GroupTimes> familyTimes(const TracedSteps& traced, const store::RunReader& reader)
{
    std::unordered_map<StringId, std::string_view> families;
    GroupSums sums(traced.steps);
    for (const DeviceEvent& event : traced.device) {
        const auto [family, isNew] = families.try_emplace(event.name);
        if (isNew)
            family->second = wordOf(
                analysis::KernelFamilies::standard().describe(reader.text(event.name), event.kind).family);
        sums.add(family->second, event.step, event.end - event.start);
    }
    return sums.take();
}

std::vector<GroupTimes> opTimes(const TracedSteps& traced, const store::RunReader& reader)
{
    const std::vector<Nanoseconds> self = analysis::selfTimes(traced.ops);
    GroupSums sums(traced.steps);
    for (std::size_t i = 0; i < traced.ops.size(); ++i)
        sums.add(reader.text(traced.ops[i].name), traced.ops[i].step, self[i]);
    return sums.take();
}

template <class Event> std::vector<Event> ofStep(const std::vector<Event>& events, std::int32_t step)
{
    std::vector<Event> chosen;
    std::copy_if(events.begin(), events.end(), std::back_inserter(chosen),
                 [step](const Event& event) { return event.step == step; });
    return chosen;
}

std::vector<GroupTimes> rangeTimes(const TracedSteps& traced, const store::RunReader& reader)
{
    GroupSums sums(traced.steps);
    for (const std::int32_t step : traced.steps) {
        const auto totals = analysis::rangeTotals(ofStep(traced.ranges, step), ofStep(traced.ops, step),
                                                  ofStep(traced.device, step), textsOf(reader));
        for (const analysis::RangeTotal& total : totals)
            sums.add(total.path, step, total.gpu ? *total.gpu : total.wall.value_or(Nanoseconds{0}),
                     total.instances);
    }
    return sums.take();
}

std::vector<ComparedGroup> compared(std::vector<GroupTimes> a, std::vector<GroupTimes> b,
                                    const analysis::ComparisonOptions& options)
{
    std::vector<ComparedGroup> groups;
    for (analysis::GroupDifference& difference : analysis::compareGroups(a, b, options))
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
            series.push_back(static_cast<double>(time.count()) / 1e6);
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
            if (item.key() != "name")
                parameters.emplace_back(item.key(), item.value().is_string() ? item.value().get<std::string>()
                                                                             : item.value().dump());
    return parameters;
}

/// What a run's environment says about the machine and the software. What changes by itself (loads, clocks,
/// free memory, anything measured before and after) says nothing about why two runs differ that their samples
/// do not.
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
    return facts;
}

void compareTimes(Comparison& comparison, const store::RunReader& a, const store::RunReader& b)
{
    const std::vector<Sample> samplesA = a.samples(comparison.a.run.run);
    const std::vector<Sample> samplesB = b.samples(comparison.b.run.run);
    for (const auto& [phase, word] : enumWords<Phase>())
        for (const bool onGpu : {false, true})
            if (const auto difference = analysis::compareSeries(
                    seriesOf(samplesA, phase, onGpu), seriesOf(samplesB, phase, onGpu), comparison.options))
                comparison.times.push_back({phase, onGpu, *difference});
}

void compareEvents(Comparison& comparison, const store::RunReader& a, const store::RunReader& b)
{
    const TracedSteps tracedA = tracedStepsOf(a, comparison.a.run.run);
    const TracedSteps tracedB = tracedStepsOf(b, comparison.b.run.run);
    if (tracedA.steps.empty() || tracedB.steps.empty())
        return;
    const analysis::ComparisonOptions& options = comparison.options;
    const bool gpuA = !tracedA.device.empty();
    const bool gpuB = !tracedB.device.empty();
    if (gpuA && gpuB) {
        comparison.families = compared(familyTimes(tracedA, a), familyTimes(tracedB, b), options);
        comparison.kernels = compared(kernelTimes(tracedA, a), kernelTimes(tracedB, b), options);
        for (ComparedGroup& group : comparison.kernels) {
            const std::string& name = group.difference.key;
            const auto description = analysis::KernelFamilies::standard().describe(
                name, name.starts_with("Memcpy")   ? DeviceEventKind::Memcpy
                      : name.starts_with("Memset") ? DeviceEventKind::Memset
                                                   : DeviceEventKind::Kernel);
            group.shortName = description.shortName;
            group.family = wordOf(description.family);
        }
    } else if (!gpuA && !gpuB) {
        comparison.kernels = compared(opTimes(tracedA, a), opTimes(tracedB, b), options);
        comparison.opsForKernels = true;
    }
    if (gpuA == gpuB)
        comparison.ranges = compared(rangeTimes(tracedA, a), rangeTimes(tracedB, b), options);
}

/// What makes two runs repeats of each other: their device and all keys but name, seed and timeout.
std::string identityOf(const store::RunRecord& run)
{
    Json json = Json::parse(run.specJson, nullptr, false);
    if (!json.is_object())
        return run.uid;
    for (const char* key : {"name", "seed", "timeout"})
        json.erase(key);
    return run.result.device + json.dump();
}

/// Medians of the steps of those runs of a file that repeat `run`, itself among them; `other` is none of
/// them.
std::vector<double> mediansOfRepeats(const store::RunReader& reader, const store::RunRecord& run,
                                     const store::RunRecord& other)
{
    std::vector<double> medians;
    const std::string identity = identityOf(run);
    for (const store::RunRecord& candidate : reader.runs()) {
        if (candidate.result.status != RunStatus::Ok || candidate.uid == other.uid ||
            candidate.program != run.program || identityOf(candidate) != identity)
            continue;
        const std::vector<double> steps = seriesOf(reader.samples(candidate.run), Phase::Step, false);
        if (steps.size() >= 2)
            medians.push_back(analysis::median(steps));
    }
    return medians;
}

analysis::ComparisonOptions learnedOptions(const store::RunReader& a, const store::RunRecord& runA,
                                           const store::RunReader& b, const store::RunRecord& runB)
{
    std::vector<std::vector<double>> groups{mediansOfRepeats(a, runA, runB)};
    // Repeats of one are those of the other where both are of one spec and file: they count once.
    if (a.file() != b.file() || identityOf(runA) != identityOf(runB) || runA.program != runB.program)
        groups.push_back(mediansOfRepeats(b, runB, runA));
    analysis::ComparisonOptions options;
    options.runToRun = analysis::learnRunToRun(groups);
    return options;
}

} // namespace

const analysis::SeriesDifference* Comparison::step() const
{
    for (const ComparedTime& time : times)
        if (time.phase == Phase::Step && !time.onGpu)
            return &time.difference;
    return nullptr;
}

Comparison compare(const store::RunReader& a, std::optional<RunId> runA, const store::RunReader& b,
                   std::optional<RunId> runB, std::optional<analysis::ComparisonOptions> options)
{
    Comparison comparison{.a = {a.file().string(), chooseRun(a, runA)},
                          .b = {b.file().string(), chooseRun(b, runB)}};
    comparison.options = options ? *options : learnedOptions(a, comparison.a.run, b, comparison.b.run);
    const store::RunRecord& first = comparison.a.run;
    const store::RunRecord& second = comparison.b.run;
    comparison.parameters = factsThatDiffer(parametersOf(first), parametersOf(second));
    comparison.environment = factsThatDiffer(environmentOf(a, first.run), environmentOf(b, second.run));
    compareTimes(comparison, a, b);
    comparison.memory = {{"peak_allocated", first.result.peakAllocated, second.result.peakAllocated},
                         {"peak_reserved", first.result.peakReserved, second.result.peakReserved},
                         {"before_backward", first.result.beforeBackward, second.result.beforeBackward}};
    std::erase_if(comparison.memory, [](const ComparedMemory& memory) { return !memory.a && !memory.b; });
    compareEvents(comparison, a, b);
    return comparison;
}

} // namespace tilescope::query
