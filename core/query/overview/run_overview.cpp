#include "core/query/overview/run_overview.h"

#include "core/analysis/stats/statistics.h"
#include "core/analysis/time/path_glob.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/memory/peak_memory.h"
#include "core/query/ranks/rank_tables.h"
#include "core/query/runs/first_tokens.h"
#include "core/query/runs/milliseconds.h"
#include "core/query/runs/selection.h"
#include "core/query/steps/step_tables.h"
#include "core/query/work/work_tables.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <unordered_map>

namespace tilescope::query {

namespace {

/// \param isOfSpan  the rows are parts of steps, which have no mean: their sums are of a mean process
std::optional<MeanStep> meanStepOf(const std::vector<StepRow>& rows, bool isOfSpan, const StepChoice& choice)
{
    std::vector<StepRow> steps;
    for (const StepRow& row : rows)
        if (isOfSpan || choice.isTypical(row.numbers.process, row.step))
            steps.push_back(row);
    if (steps.empty())
        return {};
    analysis::StepPartition sum;
    Nanoseconds wall{0};
    MeanStep mean;
    for (const StepRow& row : steps) {
        mean.onGpu = mean.onGpu || row.onGpu;
        wall += row.partition.wall.end - row.partition.wall.start;
        sum.gpuBusy += row.partition.gpuBusy;
        sum.launching += row.partition.launching;
        sum.synchronizing += row.partition.synchronizing;
        sum.tracing += row.partition.tracing;
        sum.unexplained += row.partition.unexplained;
    }
    sum.wall = {Timestamp{}, Timestamp{} + wall};
    std::set<std::string_view> processes;
    for (const StepRow& row : steps)
        processes.insert(row.process);
    mean.processes = std::int64_t(processes.size());
    mean.steps = isOfSpan ? mean.processes : std::int64_t(steps.size());
    mean.allSteps = isOfSpan ? mean.processes : std::int64_t(rows.size());
    const auto each = [&mean](Nanoseconds all) { return double(all.count()) / double(mean.steps); };
    mean.wall = each(wall);
    mean.gpuBusy = each(sum.gpuBusy);
    mean.launching = each(sum.launching);
    mean.synchronizing = each(sum.synchronizing);
    mean.tracing = each(sum.tracing);
    mean.unexplained = each(sum.unexplained);
    const auto areMost = [&steps](bool StepRow::*fact) {
        return 2 * static_cast<std::size_t>(std::ranges::count(steps, true, fact)) > steps.size();
    };
    mean.verdict = StepRow{.onGpu = mean.onGpu,
                           .hostDecides = areMost(&StepRow::hostDecides),
                           .waitsForData = areMost(&StepRow::waitsForData),
                           .waitsForRanks = areMost(&StepRow::waitsForRanks),
                           .isUnjudged = areMost(&StepRow::isUnjudged),
                           .partition = sum}
                       .verdict();
    return mean;
}

/// Adds up families by hue.
class FamilyShares {
public:
    void add(Hue hue, Nanoseconds total, std::int64_t instances)
    {
        FamilyShare& share = shares_[std::size_t(hue)];
        share.hue = hue;
        share.total += double(total.count());
        share.instances += double(instances);
    }
    std::vector<FamilyShare> list(std::int64_t steps) const
    {
        std::vector<FamilyShare> families;
        for (FamilyShare share : shares_) {
            if (share.instances == 0)
                continue;
            share.perStep = share.total / double(steps);
            share.instancesPerStep = share.instances / double(steps);
            families.push_back(share);
        }
        std::sort(families.begin(), families.end(),
                  [](const FamilyShare& a, const FamilyShare& b) { return a.perStep > b.perStep; });
        return families;
    }

private:
    std::array<FamilyShare, kHueCount> shares_{};
};

std::vector<FamilyShare> familySharesOf(const store::RunReader& reader, RunId run, const MeanStep& step,
                                        const std::optional<TimeSpan>& span, const ProcessQuery& process)
{
    FamilyShares shares;
    if (step.onGpu)
        for (const KernelRow& row :
             kernels(reader, {.run = run, .grouping = Grouping::Family, .topology = process, .span = span})
                 .rows)
            shares.add(row.family, row.total, row.instances);
    else
        for (const KernelRow& row : ops(reader, {.run = run, .topology = process}, span).rows)
            shares.add(hueOfOp(row.key), row.total, row.instances);
    return shares.list(step.allSteps);
}

/// The time of ranks on a CPU, per step and rank; for a span, per rank.
double communicationOf(const store::RunReader& reader, RunId run, const std::optional<TimeSpan>& span,
                       const ProcessQuery& process, const std::function<bool()>& cancelled)
{
    const RanksTable table = ranks(reader, {.run = run, .topology = process, .span = span}, cancelled);
    if (!span) {
        const std::optional<analysis::RankStep> mean = table.meanStep();
        return mean ? double(mean->exposedCommunication.count()) : 0;
    }
    double sum = 0;
    for (const RankRow& row : table.rows)
        sum += double(row.parts.exposedCommunication.count());
    return sum / (process.empty() ? double(table.rankCount) : 1);
}

RangesTable rangesOf(const store::RunReader& reader, const store::RunTotals& totals,
                     const store::RunRecord& run)
{
    RangesTable table{.run = run};
    for (const store::PathTotal& path : totals.paths) {
        table.hasGpu = table.hasGpu || path.gpu.has_value();
        table.rows.push_back({path.path, path.instances, path.wall, path.gpu});
    }
    // The first path is the step itself.
    const auto timeOf = [&table](const analysis::RangeTotal& row) {
        return (table.hasGpu ? row.gpu : row.wall).value_or(Nanoseconds{0});
    };
    for (analysis::RangeTotal& row : table.rows)
        row.percent = percentOf(timeOf(row), timeOf(table.rows.front()));
    std::unordered_map<StringId, bool> inModule;
    for (const store::KernelTotal& each : totals.kernels) {
        const auto [known, isNew] = inModule.try_emplace(each.path, false);
        if (isNew && each.path)
            known->second = !analysis::moduleOf(analysis::fromStepDown(reader.text(each.path))).empty();
        table.gpu += Nanoseconds(each.total);
        table.gpuInModules += Nanoseconds(known->second ? each.total : 0);
    }
    return table;
}

// The phase whose host range contains the instant: step/forward is "forward".
std::string phaseAt(const store::RunReader& reader, RunId run, Timestamp at)
{
    std::string phase;
    reader.eachRange({.run = run, .from = at, .to = at + Nanoseconds(1)}, [&](const Range& range) {
        const std::string_view path = analysis::fromStepDown(reader.text(range.path));
        constexpr std::string_view kStep = "step/";
        if (path.starts_with(kStep) && path.find('/', kStep.size()) == std::string_view::npos)
            phase = path.substr(kStep.size());
        return true;
    });
    return phase;
}

std::optional<analysis::SeriesDifference> driftOf(const std::vector<Sample>& samples)
{
    std::vector<double> steps;
    for (const Sample& sample : samples)
        if (sample.kind == SampleKind::Measure && sample.phase == Phase::Step)
            steps.push_back(milliseconds(sample.wall));
    const auto half = std::ptrdiff_t(steps.size() / 2);
    return analysis::compareSeries({steps.begin(), steps.begin() + half},
                                   {steps.begin() + half, steps.end()});
}

std::optional<Utilisation> utilisationOf(const store::RunReader& reader, const store::RunRecord& run)
{
    std::vector<double> walls;
    std::optional<analysis::Flops> flops;
    for (const MfuRow& row : mfu(reader, {.run = run.run}).rows) {
        if (!row.model || row.wall <= Nanoseconds{0})
            continue;
        flops = row.model; // from the spec, so equal in every step
        walls.push_back(double(row.wall.count()) * 1e-9);
    }
    if (!flops)
        return {};
    const DeviceCeilings ceilings = ceilingsOf(reader, run);
    return Utilisation{double(flops->count) / analysis::median(walls), ceilings.measured.flops,
                       ceilings.sheet.flops};
}

void readBasics(RunOverview& overview, const store::RunReader& reader, RunId run)
{
    overview.run = chooseRun(reader, run);
    overview.losses = losses(reader, run);
    overview.environment = environment(reader, run);
    overview.topology = reader.topology(run);
    overview.processWords = query::processWords(processChoices(overview.topology), overview.process);
    const std::vector<Sample> samples = reader.samples(run);
    overview.drift = driftOf(samples);
    overview.timedGeneration = generationFigures(reader, overview.run, samples);
    FirstTokens(reader).addRepeats(overview.timedGeneration, overview.run);
}

void read(RunOverview& overview, const store::RunReader& reader, RunId run,
          const std::function<bool()>& cancelled)
{
    readBasics(overview, reader, run);
    if (cancelled())
        return;
    const std::optional<TimeSpan>& span = overview.span;
    const ProcessQuery& process = overview.process;
    if (!span)
        overview.utilisation = utilisationOf(reader, overview.run);
    overview.choice = span ? StepChoice{} : stepChoice(reader, run, process);
    const std::vector<StepRow> rows = steps(reader, {.run = run, .topology = process}, span).rows;
    overview.step = meanStepOf(rows, span.has_value(), overview.choice);
    if (overview.step) {
        std::vector<ProcessChoice> withSteps = processChoices(overview.topology);
        std::erase_if(withSteps, [&rows](const ProcessChoice& choice) {
            return std::ranges::find(rows, choice.process, &StepRow::inRun) == rows.end();
        });
        overview.processWords = query::processWords(withSteps, process);
    }
    if (!span && !cancelled())
        overview.start = startPhase(reader, run);
    if (overview.step && !cancelled()) {
        overview.families = familySharesOf(reader, run, *overview.step, span, process);
        if (!overview.step->onGpu && overview.topology.processes.size() > 1)
            overview.step->communication = communicationOf(reader, run, span, process, cancelled);
        const std::optional<store::RunTotals> totals =
            span || !process.empty() ? std::nullopt : reader.totals(run);
        overview.ranges = totals ? rangesOf(reader, *totals, overview.run)
                                 : ranges(reader, {.run = run, .topology = process}, span);
    }
    // Without steps, families and ranges are those of the whole recording or the span.
    if (!overview.step && overview.run.coversRecording() && !cancelled()) {
        const MeanStep whole{.allSteps = 1, .onGpu = reader.counts(run).deviceEvents > 0};
        overview.families = familySharesOf(reader, run, whole, span, process);
        overview.ranges = ranges(reader, {.run = run, .topology = process}, span);
    }
    if (!cancelled() && reader.counts(run).allocEvents > 0) {
        LiveMemoryTable live = memoryAtPeak(reader, run, cancelled, span, process);
        if (live.history) {
            overview.peakPhase = phaseAt(reader, run, live.history->origin + Nanoseconds(live.at));
            if (!overview.processWords.empty())
                overview.peakDevice = deviceTitle({overview.topology, {}}, live.history->device);
            overview.live = std::move(live);
        }
    }
    if (!span && !cancelled())
        if (GenerationTable table = generation(reader, run, process, cancelled); !table.rows.empty())
            overview.generation = std::make_shared<const GenerationTable>(std::move(table));
    overview.isWhole = !cancelled();
}

} // namespace

std::string_view RunOverview::fact(std::string_view key) const
{
    for (const EnvironmentEntry& entry : environment.rows)
        if (entry.key == key)
            return entry.value;
    return {};
}

RunOverview runBasics(const store::RunReader& reader, RunId run, const ProcessQuery& process)
{
    RunOverview overview{.process = process};
    reader.atOnce([&] { readBasics(overview, reader, run); });
    return overview;
}

RunOverview runOverview(const store::RunReader& reader, RunId run, const std::function<bool()>& cancelled,
                        const std::optional<TimeSpan>& span, const ProcessQuery& process)
{
    RunOverview overview{.span = span, .process = process};
    reader.atOnce([&] { read(overview, reader, run, cancelled); });
    return overview;
}

} // namespace tilescope::query
