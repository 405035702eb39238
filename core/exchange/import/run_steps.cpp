#include "core/exchange/import/run_steps.h"

#include "core/base/error.h"
#include "core/exchange/import/model_call_steps.h"
#include "core/model/computed_steps.h"
#include "core/model/step_name.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace tilescope::exchange {

namespace {

/// `3-5, 9`.
std::string numberList(const std::set<std::int32_t>& numbers)
{
    std::string text;
    for (auto first = numbers.begin(); first != numbers.end();) {
        auto last = first;
        while (std::next(last) != numbers.end() && *std::next(last) == *last + 1)
            ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(*first);
        if (last != first)
            text += "-" + std::to_string(*last);
        first = std::next(last);
    }
    return text;
}

} // namespace

RunSteps::RunSteps(ForeignTrace& trace, std::string_view chosen) : trace_(trace)
{
    bool hasChosen = false;
    const std::size_t count = trace_.topology.processes.size();
    std::vector<std::vector<StepCandidate>> candidates(count);
    std::vector<std::int64_t> first(count, std::numeric_limits<std::int64_t>::max());
    std::vector<char> mayDelimit; // by name: 0 unknown, 1 no, 2 yes
    for (std::size_t i = 0; i < trace_.host.size(); ++i) {
        const HostRow& row = trace_.host[i];
        const auto process = static_cast<std::size_t>(trace_.processOf(row).value);
        first[process] = std::min(first[process], row.start);
        const bool isMarked = row.kind == HostKind::Step;
        const bool mayBeChosen = !chosen.empty() && row.kind == HostKind::Module;
        if (!isMarked && row.kind != HostKind::Range && !mayBeChosen)
            continue;
        if (row.name >= mayDelimit.size())
            mayDelimit.resize(std::max<std::size_t>(row.name + 1, 2 * mayDelimit.size()), 0);
        const std::string_view name = trace_.strings.text(StringId{row.name});
        char& known = mayDelimit[row.name];
        if (known == 0)
            known = mayDelimitSteps(name) ? 2 : 1;
        const bool isChosen = !chosen.empty() && (name == chosen || withoutNumber(name) == chosen);
        hasChosen = hasChosen || isChosen;
        if (isMarked || known == 2 || isChosen)
            candidates[process].push_back({name, i, row.thread, row.start, row.end, isMarked, isChosen});
    }
    if (!chosen.empty() && !hasChosen)
        refuse(chosen);
    processes_.resize(count);
    const TraceByProcess rows(trace_);
    std::vector<FoundSteps> found(count);
    std::vector<bool> needsKernels(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::ranges::sort(candidates[i], [](const StepCandidate& a, const StepCandidate& b) {
            return std::tuple(a.start, -a.end, a.range) < std::tuple(b.start, -b.end, b.range);
        });
        found[i] = stepsFromRanges(candidates[i], first[i]);
        if (const ProcessIndex process{static_cast<std::int32_t>(i)}; found[i].steps.empty()) {
            found[i] = stepsFromModelCalls(trace_, rows, process);
            trace_.work.rows += static_cast<std::int64_t>(rows.host.of(process).size());
        }
        needsKernels[i] = found[i].steps.empty();
    }
    std::vector<std::vector<KernelInstant>> kernels = kernelsOfBusiestStreams(needsKernels);
    std::set<std::string> sources;
    bool hasLayers = false;
    std::int64_t cuts = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (needsKernels[i]) {
            found[i] = stepsFromKernels(kernels[i]);
            if (areLayers(rows, ProcessIndex{static_cast<std::int32_t>(i)}, found[i])) {
                found[i] = {};
                hasLayers = true;
            }
        }
        cuts += found[i].cuts;
        if (!found[i].steps.empty())
            sources.insert(found[i].source + (found[i].isInferred ? " (inferred)" : ""));
    }
    keepSteps(std::move(found));
    if (cuts > 0)
        trace_.losses[{RecordLoss::StepsCut, {}}] += cuts;
    std::string all;
    for (const std::string& source : sources)
        all += (all.empty() ? "" : ", ") + source;
    if (!all.empty())
        trace_.environment.push_back({"steps.source", all});
    else if (hasLayers)
        trace_.environment.push_back(
            {"steps.source", "none: the kernels repeat within one call of a module or graph, as layers do"});
}

void RunSteps::refuse(std::string_view chosen) const
{
    constexpr std::size_t kMostNames = 8;
    std::map<std::string, std::int64_t> counts;
    for (const HostRow& row : trace_.host)
        if (row.kind == HostKind::Range || row.kind == HostKind::Step || row.kind == HostKind::Module)
            ++counts[std::string(withoutNumber(trace_.strings.text(StringId{row.name})))];
    std::vector<std::pair<std::int64_t, std::string>> names;
    for (const auto& [name, count] : counts)
        names.emplace_back(count, name);
    std::ranges::sort(names, std::greater{});
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
        list += (i == 0 ? "'" : ", '") + names[i].second + "' (" + std::to_string(names[i].first) + ")";
    throw Error{.what = "no range is named '" + std::string(chosen) + "'",
                .where = "--steps-by",
                .remedy = list.empty() ? "the recording has no ranges" : "the most frequent ranges: " + list,
                .kind = ErrorKind::Usage};
}

/// Whether more than half of the periods were launched by the same call, or within the same call of a module or op, as
/// the period before.
bool RunSteps::areLayers(const TraceByProcess& rows, ProcessIndex process, const FoundSteps& periods) const
{
    if (periods.steps.empty())
        return false;
    std::map<std::int64_t, std::uint32_t> correlations; // of the first kernel, by start of the period
    for (const FoundStep& period : periods.steps)
        correlations.emplace(period.start, 0);
    for (const std::uint32_t i : rows.activities.of(process)) {
        const DeviceRow& row = trace_.activities[i];
        if (const auto period = correlations.find(row.start);
            period != correlations.end() && row.kind == DeviceEventKind::Kernel)
            period->second = row.correlation;
    }
    struct Instant {
        std::uint32_t thread = 0;
        std::int64_t time = 0;
    };
    std::map<std::uint32_t, std::optional<Instant>> launches; // by correlation
    for (const auto& [start, correlation] : correlations)
        if (correlation != 0)
            launches.emplace(correlation, std::nullopt);
    std::map<std::uint32_t, std::vector<std::pair<std::int64_t, std::int64_t>>>
        calls; // of modules and ops, by thread
    for (const std::uint32_t i : rows.host.of(process)) {
        const HostRow& row = trace_.host[i];
        if (row.kind == HostKind::Module || row.kind == HostKind::Op)
            calls[row.thread].emplace_back(row.start, row.end);
        else if (row.kind == HostKind::ApiCall || row.kind == HostKind::Launch)
            if (const auto launch = launches.find(row.extra); launch != launches.end())
                launch->second = Instant{row.thread, row.start};
    }
    for (auto& [thread, list] : calls) {
        std::ranges::sort(list);
        // By start: the latest end of the calls that began until then.
        for (std::size_t i = 1; i < list.size(); ++i)
            list[i].second = std::max(list[i].second, list[i - 1].second);
    }
    std::size_t together = 0;
    std::size_t pairs = 0;
    std::uint32_t before = 0;
    for (const auto& [start, correlation] : correlations) {
        const std::uint32_t last = std::exchange(before, correlation);
        if (last == 0 || correlation == 0)
            continue;
        ++pairs;
        const std::optional<Instant>& from = launches[last];
        const std::optional<Instant>& to = launches[correlation];
        const auto list = from && to && from->thread == to->thread ? calls.find(to->thread) : calls.end();
        bool isWithin = false;
        if (list != calls.end()) {
            const auto after = std::ranges::upper_bound(list->second, from->time, {},
                                                        [](const auto& call) { return call.first; });
            isWithin = after != list->second.begin() && std::prev(after)->second > to->time;
        }
        together += last == correlation || isWithin ? 1 : 0;
    }
    return 2 * together > pairs;
}

// The ranges that are steps become rows of kind Step, and no others; a computed step becomes a row.
void RunSteps::keepSteps(std::vector<FoundSteps>&& all)
{
    for (HostRow& row : trace_.host)
        if (row.kind == HostKind::Step)
            row.kind = HostKind::Range;
    for (std::size_t i = 0; i < all.size(); ++i) {
        FoundSteps& found = all[i];
        if (found.steps.empty())
            continue;
        const bool areComputed =
            std::ranges::any_of(found.steps, [](const FoundStep& step) { return !step.range; });
        const std::uint32_t thread =
            areComputed ? addThreadOfSteps(ProcessIndex{static_cast<std::int32_t>(i)}) : 0;
        OfProcess& kept = processes_[i];
        for (const FoundStep& step : found.steps) {
            kept.walls.addStep(step.number, {timestampAt(step.start), timestampAt(step.end)});
            if (step.range)
                trace_.host[*step.range].kind = HostKind::Step;
            else
                trace_.host.push_back(
                    {.start = step.start,
                     .end = step.end,
                     .name =
                         trace_.strings
                             .intern(step.name.empty() ? "step_" + std::to_string(step.number) : step.name)
                             .value,
                     .thread = thread,
                     .kind = HostKind::Step});
        }
        kept.areOnDevice = found.isOnDevice;
        kept.steps = std::move(found.steps);
    }
}

std::uint32_t RunSteps::addThreadOfSteps(ProcessIndex process)
{
    trace_.threads.push_back({.process = process,
                              .name = trace_.strings.intern(kComputedSteps),
                              .number = ThreadId{std::numeric_limits<std::uint32_t>::max() - 1 -
                                                 static_cast<std::uint32_t>(process.value)}});
    return static_cast<std::uint32_t>(trace_.threads.size() - 1);
}

std::vector<std::vector<KernelInstant>>
RunSteps::kernelsOfBusiestStreams(const std::vector<bool>& isWanted) const
{
    const auto wanted = [&](const DeviceRow& row) {
        return row.kind == DeviceEventKind::Kernel &&
               isWanted[static_cast<std::size_t>(trace_.processOf(row).value)];
    };
    std::vector<std::int64_t> busy(trace_.streams.size(), 0);
    for (const DeviceRow& row : trace_.activities)
        if (wanted(row))
            busy[row.stream] += row.end - row.start;
    std::vector<std::optional<std::uint32_t>> busiest(isWanted.size());
    for (std::uint32_t stream = 0; stream < busy.size(); ++stream) {
        auto& known = busiest[static_cast<std::size_t>(trace_.streams[stream].process.value)];
        if (busy[stream] > 0 && (!known || busy[stream] > busy[*known]))
            known = stream;
    }
    std::vector<std::vector<KernelInstant>> kernels(isWanted.size());
    for (const DeviceRow& row : trace_.activities)
        if (const auto process = static_cast<std::size_t>(trace_.processOf(row).value);
            wanted(row) && busiest[process] == row.stream)
            kernels[process].push_back({row.name, row.start, row.end});
    for (std::vector<KernelInstant>& each : kernels)
        std::ranges::stable_sort(each, {}, &KernelInstant::start);
    return kernels;
}

std::int32_t RunSteps::at(ProcessIndex process, std::int64_t time) const
{
    const auto& steps = processes_[static_cast<std::size_t>(process.value)].steps;
    const auto next = std::ranges::upper_bound(steps, time, {}, &FoundStep::start);
    return next != steps.begin() && time < std::prev(next)->end ? std::prev(next)->number : kNoStep;
}

void RunSteps::doubt(ProcessIndex process, std::int64_t start, std::int64_t end)
{
    processes_[static_cast<std::size_t>(process.value)].doubtful.push_back({start, end});
}

void RunSteps::noteLaunch(ProcessIndex process, std::int64_t time, bool hasActivity)
{
    OfProcess& of = processes_[static_cast<std::size_t>(process.value)];
    const auto next = std::ranges::upper_bound(of.steps, time, {}, &FoundStep::start);
    if (next == of.steps.begin() || time >= std::prev(next)->end)
        return;
    of.launches.resize(of.steps.size());
    Launches& launches = of.launches[static_cast<std::size_t>(next - of.steps.begin() - 1)];
    ++launches.all;
    launches.missing += hasActivity ? 0 : 1;
}

std::string RunSteps::unjudged() const
{
    std::set<std::int32_t> numbers;
    for (const OfProcess& of : processes_) {
        constexpr std::int64_t kMostMissing = 20; // one launch in so many
        for (std::size_t i = 0; i < of.launches.size(); ++i)
            if (of.launches[i].missing * kMostMissing > of.launches[i].all)
                numbers.insert(of.steps[i].number);
        std::vector<std::pair<std::int64_t, std::int64_t>> doubtful = of.doubtful;
        std::ranges::sort(doubtful);
        std::int64_t until = std::numeric_limits<std::int64_t>::min();
        auto next = doubtful.begin();
        for (const FoundStep& step : of.steps) {
            for (; next != doubtful.end() && next->first < step.end; ++next)
                until = std::max(until, next->second);
            if (until > step.start)
                numbers.insert(step.number);
        }
    }
    return numberList(numbers);
}

std::int32_t RunSteps::ofWork(ProcessIndex process, const Launch* launch, std::int64_t start) const
{
    const bool byLaunch = launch && !processes_[static_cast<std::size_t>(process.value)].areOnDevice;
    return byLaunch ? launch->step : at(process, start);
}

void RunSteps::addWork(ProcessIndex process, const DeviceEvent& work)
{
    processes_[static_cast<std::size_t>(process.value)].walls.addWork(work);
}

std::vector<Sample> RunSteps::samples() const
{
    std::vector<Sample> samples;
    std::size_t process = 0;
    for (std::size_t i = 1; i < processes_.size(); ++i) {
        const TracedProcess& other = trace_.topology.processes[i];
        const TracedProcess& best = trace_.topology.processes[process];
        if (processes_[process].steps.empty() || (other.rank && best.rank && *other.rank < *best.rank))
            process = processes_[i].steps.empty() ? process : i;
    }
    if (process >= processes_.size())
        return samples;
    const std::vector<analysis::Interval> walls = processes_[process].walls.list();
    for (std::size_t i = 0; i < walls.size(); ++i)
        samples.push_back({.step = processes_[process].steps[i].number,
                           .kind = SampleKind::Trace,
                           .phase = Phase::Step,
                           .wall = walls[i].length()});
    return samples;
}

} // namespace tilescope::exchange
