#include "core/query/tables/step_change.h"

#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/op_totals.h"
#include "core/base/quantity.h"
#include "core/query/runs/party_filter.h"
#include "core/query/tables/step_tables.h"
#include "core/query/tables/traced_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

namespace tilescope::query {

namespace {

struct Call {
    std::string module;
    std::string name;
    DeviceEventKind kind = DeviceEventKind::Kernel;

    auto operator<=>(const Call&) const = default;
};

/// Idle time of the GPU by reason, and the part of the wall that no op took.
using Gaps = std::map<ChangeKind, double>;

/// The mean traced step of one side, ns.
struct SideMeans {
    bool onGpu = false;
    std::int64_t steps = 0;
    double wall = 0;
    std::map<Call, double> calls;
    Gaps gaps;
    std::string process;

    void divide()
    {
        const auto n = static_cast<double>(steps);
        wall /= n;
        for (auto& [call, ns] : calls)
            ns /= n;
        for (auto& [kind, ns] : gaps)
            ns /= n;
    }
    double callTime() const
    {
        double sum = 0;
        for (const auto& [call, ns] : calls)
            sum += ns;
        return sum;
    }
};

/// Adds up calls by the ids of path and name, which is quicker than by text.
class CallSums {
public:
    CallSums(const store::RunReader& reader, std::map<Call, double>& calls) : reader_(reader), calls_(calls)
    {
    }

    void add(StringId path, StringId name, DeviceEventKind kind, Nanoseconds time)
    {
        constexpr int kHalf = 32;
        const auto [known, isNew] =
            known_.try_emplace(std::uint64_t{path.value} << kHalf | name.value, nullptr);
        if (isNew)
            known->second = &calls_[{.module = path ? alignedModule(reader_.text(path)) : std::string(),
                                     .name = std::string(reader_.text(name)),
                                     .kind = kind}];
        *known->second += static_cast<double>(time.count());
    }

private:
    const store::RunReader& reader_;
    std::map<Call, double>& calls_;
    std::unordered_map<std::uint64_t, double*> known_;
};

void addGpuRun(const store::RunReader& reader, RunId run, const PartyQuery& party, SideMeans& mean)
{
    for (const StepRow& row : steps(reader, {.run = run, .parties = party}).rows) {
        const analysis::StepPartition& part = row.partition;
        ++mean.steps;
        mean.process = row.process;
        mean.wall += static_cast<double>((part.wall.end - part.wall.start).count());
        mean.gaps[ChangeKind::Launching] += static_cast<double>(part.launching.count());
        mean.gaps[ChangeKind::Synchronizing] += static_cast<double>(part.synchronizing.count());
        mean.gaps[ChangeKind::Tracing] += static_cast<double>(part.tracing.count());
        mean.gaps[ChangeKind::Unexplained] += static_cast<double>(part.unexplained.count());
        mean.gaps[ChangeKind::Overlap] += static_cast<double>(part.gpuBusy.count());
    }
    const PartyFilter filter(reader, run, party);
    CallSums sums(reader, mean.calls);
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
        if (event.step == kNoStep || !filter.has(event))
            return true;
        const Nanoseconds time = event.end - event.start;
        sums.add(event.path, event.name, event.kind, time);
        mean.gaps[ChangeKind::Overlap] -= static_cast<double>(time.count());
        return true;
    });
}

void addCpuRun(const store::RunReader& reader, RunId run, SideMeans& mean)
{
    CallSums sums(reader, mean.calls);
    eachTracedStep(reader, run, [&](const TracedStep& step) {
        const std::vector<Nanoseconds> self = analysis::selfTimes(step.ops);
        for (std::size_t i = 0; i < step.ops.size(); ++i) {
            sums.add(step.ops[i].path, step.ops[i].name, DeviceEventKind::Kernel, self[i]);
            mean.gaps[ChangeKind::OutsideOps] -= static_cast<double>(self[i].count());
        }
    });
    for (const StepRow& row : steps(reader, {.run = run}).rows) {
        const auto wall = static_cast<double>((row.partition.wall.end - row.partition.wall.start).count());
        ++mean.steps;
        mean.wall += wall;
        mean.gaps[ChangeKind::OutsideOps] += wall;
    }
}

/// The process of the lowest rank if a run has several.
PartyQuery firstProcess(const store::RunReader& reader, RunId run)
{
    const std::vector<PartyChoice> choices = partyChoices({reader.parties(run), {}});
    return choices.empty() || choices.front().device ? PartyQuery{} : choices.front().query;
}

SideMeans sideMeans(const store::RunReader& reader, std::span<const RunId> runs)
{
    SideMeans mean;
    reader.atOnce([&] {
        for (const RunId run : runs) {
            if (reader.counts(run).deviceEvents > 0) {
                mean.onGpu = true;
                addGpuRun(reader, run, firstProcess(reader, run), mean);
            } else {
                addCpuRun(reader, run, mean);
            }
        }
    });
    if (mean.steps > 0)
        mean.divide();
    return mean;
}

ChangePart partOf(const Call& call, std::optional<double> a, std::optional<double> b, bool onGpu)
{
    ChangePart part{.module = call.module,
                    .name = call.name,
                    .shortName = call.name,
                    .a = a,
                    .b = b,
                    .delta = std::llround(b.value_or(0) - a.value_or(0))};
    if (onGpu) {
        analysis::KernelDescription description =
            analysis::KernelFamilies::standard().describe(call.name, call.kind);
        part.shortName = std::move(description.shortName);
        part.family = description.family;
    }
    part.kind = !a                ? ChangeKind::New
                : !b              ? ChangeKind::Gone
                : part.delta >= 0 ? ChangeKind::Slower
                                  : ChangeKind::Faster;
    return part;
}

/// A part for each call of either side.
std::vector<ChangePart> callParts(const SideMeans& a, const SideMeans& b)
{
    std::vector<ChangePart> parts;
    auto left = a.calls.begin();
    auto right = b.calls.begin();
    while (left != a.calls.end() || right != b.calls.end()) {
        const bool onlyA = right == b.calls.end() || (left != a.calls.end() && left->first < right->first);
        const bool onlyB = left == a.calls.end() || (right != b.calls.end() && right->first < left->first);
        if (onlyA)
            parts.push_back(partOf(left->first, left->second, std::nullopt, a.onGpu));
        else if (onlyB)
            parts.push_back(partOf(right->first, std::nullopt, right->second, a.onGpu));
        else
            parts.push_back(partOf(left->first, left->second, right->second, a.onGpu));
        if (!onlyB)
            ++left;
        if (!onlyA)
            ++right;
    }
    return parts;
}

/// The share of the time that is in modules which both sides have.
double alignedShare(const SideMeans& a, const SideMeans& b)
{
    std::map<std::string_view, std::pair<double, double>> modules;
    for (const auto& [call, ns] : a.calls)
        modules[call.module].first += ns;
    for (const auto& [call, ns] : b.calls)
        modules[call.module].second += ns;
    double both = 0;
    double all = 0;
    for (const auto& [module, ns] : modules) {
        all += ns.first + ns.second;
        if (!module.empty() && ns.first > 0 && ns.second > 0)
            both += ns.first + ns.second;
    }
    return all > 0 ? both / all : 0;
}

std::string signedTime(double ns)
{
    const std::string text = quantity::withUnit(std::abs(ns), quantity::Unit::Nanoseconds);
    return (ns < 0 ? "-" : "+") + text;
}

std::string phrase(const ChangePart& part)
{
    const std::string time = signedTime(static_cast<double>(part.delta));
    switch (part.kind) {
    case ChangeKind::Gone:
        return part.shortName + " is gone (" + time + ")";
    case ChangeKind::New:
        return part.shortName + " is new (" + time + ")";
    default:
        return part.shortName + " is " + std::string(wordOf(part.kind)) + " (" + time + ")";
    }
}

} // namespace

std::string_view wordOf(ChangeKind kind)
{
    constexpr std::array<std::string_view, 11> kWords{
        "slower",        "faster",  "gone",        "new",         "overlap", "launching",
        "synchronizing", "tracing", "unexplained", "outside ops", "untraced"};
    return kWords[static_cast<std::size_t>(kind)];
}

std::string alignedModule(std::string_view path)
{
    path = analysis::fromStepDown(path);
    constexpr std::string_view kStep = "step";
    if (path == kStep)
        return {};
    if (path.starts_with("step/"))
        path.remove_prefix(kStep.size() + 1);
    std::string module;
    module.reserve(path.size());
    for (std::size_t i = 0; i < path.size();) {
        const bool begins = i > 0 && path[i - 1] == '.';
        std::size_t end = i;
        while (end < path.size() && std::isdigit(static_cast<unsigned char>(path[end])) != 0)
            ++end;
        const bool isNumber =
            begins && end > i && (end == path.size() || path[end] == '/' || path[end] == '.');
        if (isNumber) {
            module += '*';
            i = end;
        } else {
            module += path[i++];
        }
    }
    return module;
}

std::optional<StepChange> stepChange(const store::RunReader& a, std::span<const RunId> runsA,
                                     const store::RunReader& b, std::span<const RunId> runsB,
                                     std::optional<std::int64_t> deltaNs)
{
    const SideMeans left = sideMeans(a, runsA);
    const SideMeans right = sideMeans(b, runsB);
    if (left.steps == 0 || right.steps == 0 || left.onGpu != right.onGpu)
        return {};
    StepChange change{.onGpu = left.onGpu,
                      .stepsA = left.steps,
                      .stepsB = right.steps,
                      .delta = deltaNs.value_or(std::llround(right.wall - left.wall)),
                      .isOfTimedSteps = deltaNs.has_value(),
                      .aligned = alignedShare(left, right),
                      .process = left.process,
                      .parts = callParts(left, right)};
    for (const auto& [kind, ns] : left.gaps)
        change.parts.push_back({.kind = kind,
                                .a = ns,
                                .b = right.gaps.at(kind),
                                .delta = std::llround(right.gaps.at(kind) - ns)});
    std::int64_t rest = change.delta;
    for (const ChangePart& part : change.parts)
        rest -= part.delta;
    // Of traced steps the rest is what rounding to nanoseconds left.
    if (deltaNs) {
        change.parts.push_back({.kind = ChangeKind::Untraced, .delta = rest});
    } else {
        const ChangeKind kind = change.onGpu ? ChangeKind::Unexplained : ChangeKind::OutsideOps;
        std::ranges::find(change.parts, kind, &ChangePart::kind)->delta += rest;
    }
    std::erase_if(change.parts, [](const ChangePart& part) { return part.delta == 0; });
    std::ranges::stable_sort(change.parts, [](const ChangePart& x, const ChangePart& y) {
        return std::abs(x.delta) > std::abs(y.delta);
    });
    return change;
}

std::vector<std::string> causesOf(const StepChange& change, std::size_t most)
{
    std::map<std::string_view, std::int64_t> modules;
    for (const ChangePart& part : change.parts)
        if (!part.name.empty())
            modules[part.module] += part.delta;
    std::vector<std::pair<std::string_view, std::int64_t>> order(modules.begin(), modules.end());
    std::ranges::stable_sort(
        order, [](const auto& x, const auto& y) { return std::abs(x.second) > std::abs(y.second); });
    std::vector<std::string> lines;
    for (const auto& [module, delta] : order) {
        if (lines.size() == most || delta == 0)
            break;
        std::string line = fmt::format("{} {}:", module.empty() ? "outside of modules" : module,
                                       signedTime(static_cast<double>(delta)));
        constexpr int kMostCalls = 3;
        int calls = 0;
        for (const ChangePart& part : change.parts)
            if (!part.name.empty() && part.module == module && calls < kMostCalls)
                line += (calls++ == 0 ? " " : ", ") + phrase(part);
        lines.push_back(std::move(line));
    }
    return lines;
}

} // namespace tilescope::query
