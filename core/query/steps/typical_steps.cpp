#include "core/query/steps/typical_steps.h"

#include "core/analysis/stats/statistics.h"
#include "core/analysis/steps/typical_steps.h"
#include "core/analysis/waiting/host_cause.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/model/environment_facts.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/run_tables.h"
#include "core/query/steps/step_tables.h"
#include "core/store/host_sample_reader.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::Interval;
using analysis::StartCause;
using quantity::Unit;

constexpr std::int32_t kOnlyProcess = -1;
constexpr int kLeastShare = 4;          ///< a cause explains a step if it takes one part in so many of it
constexpr std::int32_t kFirstSteps = 3; ///< after these a step does not start up
constexpr Nanoseconds kLongestSample{1'000'000'000};

std::string timeText(double ns)
{
    return quantity::withUnit(ns, Unit::Nanoseconds);
}

std::string timeText(Nanoseconds time)
{
    return timeText(static_cast<double>(time.count()));
}

/// "0, 1 and 4"; neighbours as "0 to 3".
std::string numberList(const std::vector<std::int32_t>& numbers)
{
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        if (last - i >= 2) {
            parts.push_back(std::to_string(numbers[i]) + " to " + std::to_string(numbers[last]));
        } else {
            for (std::size_t each = i; each <= last; ++each)
                parts.push_back(std::to_string(numbers[each]));
        }
        i = last + 1;
    }
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i)
        text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
    return text;
}

/// Finds what takes time within intervals of a run.
class StartTimesReading {
public:
    StartTimesReading(const store::RunReader& reader, RunId run)
        : reader_(reader), run_(run), filter_(reader, run, {})
    {
    }

    StartTimes within(ProcessIndex process, const Interval& time)
    {
        std::array<std::vector<Interval>, analysis::kStartCauses> causes;
        const auto add = [&](StartCause cause, Timestamp start, Timestamp end) {
            start = std::max(start, time.start);
            end = std::min(end, time.end);
            if (cause != analysis::kNoStartCause && start < end)
                causes[static_cast<std::size_t>(cause)].push_back({start, end});
        };
        const store::EventWindow window{.run = run_, .from = time.start, .to = time.end};
        const auto addNamed = [&](const auto& event) {
            if (filter_.topology().of(event.thread) == process)
                add(causeOf(event.name), event.start, event.end);
            return true;
        };
        reader_.eachRange(window, addNamed);
        reader_.eachOp(window, addNamed);
        reader_.eachFrame(window, addNamed);
        const Timestamp first = firstWorkOf(process);
        reader_.eachApiCall(window, [&](const ApiCall& call) {
            if (filter_.topology().of(call.thread) == process)
                add(call.start < first ? analysis::startCauseOf(reader_.text(call.name), true)
                                       : causeOf(call.name),
                    call.start, call.end);
            return true;
        });
        addSamples(process, add);
        StartTimes times{};
        for (std::size_t i = 0; i < causes.size(); ++i)
            times[i] = analysis::lengthOf(analysis::unionOf(std::move(causes[i])));
        return times;
    }

private:
    StartCause causeOf(StringId name)
    {
        const auto [known, isNew] = causes_.try_emplace(name, analysis::kNoStartCause);
        if (isNew && name)
            known->second = analysis::startCauseOf(reader_.text(name));
        return known->second;
    }

    Timestamp firstWorkOf(ProcessIndex process)
    {
        const auto [known, isNew] = firstWork_.try_emplace(process.value, Timestamp::max());
        if (isNew)
            reader_.eachDeviceEvent({.run = run_}, [&, first = known](const DeviceEvent& event) {
                if (filter_.topology().of(event.device, event.stream) != process)
                    return true;
                first->second = event.launched == Timestamp{} ? event.start : event.launched;
                return false;
            });
        return known->second;
    }

    /// A thread compiles from a sample until the next one.
    template <class Add> void addSamples(ProcessIndex process, const Add& add)
    {
        if (!samples_)
            samples_ = store::hostSamples(reader_.file(), run_);
        for (const HostSamples& samples : *samples_) {
            if (process && samples.process && samples.process != process)
                continue;
            const analysis::HostCauses causes(samples.stacks);
            for (const SampledHostThread& thread : samples.threads)
                for (std::size_t i = 0; i + 1 < thread.samples.size(); ++i) {
                    const HostSample& sample = thread.samples[i];
                    const Timestamp next = std::min(thread.samples[i + 1].time, sample.time + kLongestSample);
                    const analysis::HostCause cause = causes.of(sample);
                    if (cause == analysis::HostCause::Compilation)
                        add(StartCause::Compilation, sample.time, next);
                    else if (cause == analysis::HostCause::DataLoading)
                        add(StartCause::DataLoading, sample.time, next);
                }
        }
    }

    const store::RunReader& reader_;
    const RunId run_;
    ProcessFilter filter_;
    std::unordered_map<StringId, StartCause> causes_;
    std::map<std::int32_t, Timestamp> firstWork_;
    std::optional<std::vector<HostSamples>> samples_;
};

/// A word for what says where the steps begin, by the fact that an import stored.
std::string sourceOf(const std::string& fact)
{
    const auto has = [&fact](std::string_view words) { return fact.find(words) != std::string::npos; };
    if (fact.empty() || fact.starts_with("none"))
        return {};
    if (has("user's choice") || fact == "user")
        return "user";
    if (has("period of the kernels") || has("executions of "))
        return "inferred";
    if (has("Optimizer.step"))
        return "optimizer";
    if (has("marks of "))
        return "framework";
    return has("ranges named") || has("calls of ") ? "range" : "profiler";
}

/// The steps with one number, of ranks that take them together.
struct JointStep {
    std::vector<const StepRow*> rows = {};
    const StepRow* longest = nullptr;

    double wall() const
    {
        return std::max(1.0, static_cast<double>(longest->partition.wall.length().count()));
    }
};

class StepChooser {
public:
    /// \param hasOwnWarmUp  the steps follow steps that were not traced: of Tilescope's own run
    StepChooser(const store::RunReader& reader, RunId run, StepChoice choice, bool hasOwnWarmUp)
        : times_(reader, run), choice_(std::move(choice)), hasOwnWarmUp_(hasOwnWarmUp)
    {
    }

    StepChoice choose(const std::vector<StepRow>& rows)
    {
        // Ranks take the same steps; other processes have steps of their own.
        std::map<std::int32_t, std::map<std::int32_t, JointStep>> programs;
        for (const StepRow& row : rows) {
            const std::int32_t program = row.rank ? kOnlyProcess : row.numbers.process.value_or(kOnlyProcess);
            JointStep& step = programs[program][row.step];
            step.rows.push_back(&row);
            if (!step.longest || step.longest->partition.wall.length() < row.partition.wall.length())
                step.longest = &row;
        }
        for (auto& [program, steps] : programs)
            if (hasOwnWarmUp_)
                chooseAfterWarmUp(steps);
            else
                chooseByType(steps);
        if (!choice_.leftOut.empty())
            choice_.summary = std::to_string(all_ - left_) + " of " + choice_.counted(all_) + causesText();
        return std::move(choice_);
    }

private:
    struct LeftOut {
        std::vector<std::int32_t> steps;
        double time = 0;
    };

    /// A recorder that ends with a mark begins a step in which the program does nothing more.
    void leaveOutLastOfNoWork(std::map<std::int32_t, JointStep>& steps)
    {
        const auto works = [](const StepRow* row) { return row->partition.gpuBusy.count() > 0; };
        const JointStep last = steps.rbegin()->second;
        const bool othersWork = std::ranges::any_of(
            steps, [&works](const auto& entry) { return std::ranges::any_of(entry.second.rows, works); });
        if (!othersWork || std::ranges::any_of(last.rows, works))
            return;
        LeftOut& alike = alike_[{"has no work for the GPU", "have no work for the GPU"}];
        alike.steps.push_back(last.longest->step);
        alike.time += last.wall();
        ++all_;
        ++left_;
        for (const StepRow* each : last.rows)
            choice_.leftOut[{each->numbers.process.value_or(kOnlyProcess), each->step}] =
                "has no work for the GPU, unlike the others";
        steps.erase(std::prev(steps.end()));
    }

    /// Steps of the type that takes most of the time stand for the program.
    void chooseByType(std::map<std::int32_t, JointStep>& steps)
    {
        leaveOutLastOfNoWork(steps);
        std::map<StepType, std::map<std::int32_t, JointStep>> types;
        std::map<StepType, double> times;
        const bool trains = std::ranges::any_of(steps, [this](const auto& entry) {
            return choice_.typeOf(entry.second.longest->numbers.process, entry.first) == StepType::Train;
        });
        for (const auto& [number, step] : steps) {
            StepType type = choice_.typeOf(step.longest->numbers.process, number);
            // Steps that only accumulate gradients have no update that would show what they are.
            if (type == StepType::Other && trains)
                type = StepType::Train;
            types[type].emplace(number, step);
            times[type] += step.wall();
        }
        const auto most = std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; });
        for (const auto& [type, list] : types) {
            if (type == most->first)
                chooseOf(list);
            else
                for (const auto& [number, step] : list)
                    leaveOutType(step, type);
        }
    }

    /// What begins with the traced steps, such as sampling of kernels, can make the first ones long.
    void chooseAfterWarmUp(const std::map<std::int32_t, JointStep>& steps)
    {
        constexpr std::size_t kFewest = 4;
        constexpr double kMuchLonger = 3;
        const auto typeOf = [this](const auto& entry) {
            return choice_.typeOf(entry.second.longest->numbers.process, entry.first);
        };
        std::vector<double> walls; // of the type of the first
        for (const auto& entry : steps)
            if (typeOf(entry) == typeOf(*steps.begin()))
                walls.push_back(entry.second.wall());
        all_ += std::ssize(steps);
        if (walls.size() < kFewest)
            return;
        const double usual = analysis::median(walls);
        std::int32_t place = 0;
        for (const auto& entry : steps) {
            const double wall = entry.second.wall();
            if (place == kFirstSteps || wall < kMuchLonger * usual || typeOf(entry) != typeOf(*steps.begin()))
                return;
            leaveOut(entry.second, place++, wall, usual);
        }
    }

    void leaveOutType(const JointStep& step, StepType type)
    {
        const std::string word =
            type == StepType::Other ? "of no known type" : "of type " + std::string(wordOf(type));
        LeftOut& alike = alike_[{"is " + word, "are " + word}];
        alike.steps.push_back(step.longest->step);
        alike.time += step.wall();
        ++all_;
        ++left_;
        for (const StepRow* each : step.rows)
            choice_.leftOut[{each->numbers.process.value_or(kOnlyProcess), each->step}] = "is " + word;
    }

    void chooseOf(const std::map<std::int32_t, JointStep>& steps)
    {
        std::vector<const JointStep*> list;
        std::vector<double> walls;
        for (const auto& [number, step] : steps) {
            list.push_back(&step);
            walls.push_back(step.wall());
        }
        const analysis::TypicalSteps typical = analysis::typicalSteps(walls);
        std::vector<double> usual;
        for (std::size_t i = 0; i < walls.size(); ++i)
            if (typical.isTypical[i])
                usual.push_back(walls[i]);
        std::ranges::sort(usual);
        all_ += std::ssize(list);
        for (std::size_t i = 0; i < list.size(); ++i)
            if (!typical.isTypical[i])
                leaveOut(*list[i], static_cast<std::int32_t>(i), walls[i], analysis::quantile(usual, 0.5));
        if (typical.changesAt)
            choice_.change += std::string(choice_.change.empty() ? "From " : " From ") +
                              std::string(choice_.noun()) + " " +
                              std::to_string(list[*typical.changesAt]->longest->step) + " on, each takes " +
                              timeText(typical.after) + " instead of " + timeText(typical.before) + ".";
    }

    void leaveOut(const JointStep& step, std::int32_t place, double wall, double usual)
    {
        const StepRow& row = *step.longest;
        const StartTimes times = times_.within(row.inRun, row.partition.wall);
        const auto most = std::ranges::max_element(times);
        const bool isKnown = static_cast<double>(most->count()) * kLeastShare >= wall;
        const auto cause = static_cast<StartCause>(most - times.begin());
        const auto wordsFor = [&](bool ofSeveral) {
            if (wall < usual)
                return std::string(ofSeveral ? "are shorter" : "is shorter");
            if (isKnown)
                return std::string(verbOf(cause, ofSeveral));
            if (place < kFirstSteps)
                return std::string(ofSeveral ? "start up" : "starts up");
            return std::string(ofSeveral ? "are outliers" : "is an outlier");
        };
        LeftOut& alike = alike_[{wordsFor(false), wordsFor(true)}];
        alike.steps.push_back(row.step);
        alike.time += wall;
        ++left_;
        for (const StepRow* each : step.rows)
            choice_.leftOut[{each->numbers.process.value_or(kOnlyProcess), each->step}] =
                wordsFor(false) + ": " + timeText(each->partition.wall.length()) + " instead of " +
                timeText(usual);
    }

    std::string causesText()
    {
        std::string text;
        for (auto& [words, alike] : alike_) {
            std::ranges::sort(alike.steps);
            text += "; " + plural(std::ssize(alike.steps), choice_.noun()) + " " + numberList(alike.steps) +
                    " " + (alike.steps.size() == 1 ? words.first : words.second) + " (" +
                    timeText(alike.time) + ")";
        }
        return text;
    }

    StartTimesReading times_;
    StepChoice choice_;
    bool hasOwnWarmUp_;
    std::int64_t all_ = 0;
    std::int64_t left_ = 0;
    std::map<std::pair<std::string, std::string>, LeftOut> alike_; ///< by words for one step and for several
};

} // namespace

StepType StepChoice::typeOf(std::optional<std::int32_t> process, std::int32_t step) const
{
    const auto found = types.find({process.value_or(kOnlyProcess), step});
    return found == types.end() ? StepType::Other : found->second;
}

std::string StepChoice::counted(std::int64_t count, std::string_view kind) const
{
    return std::to_string(count) + " " + std::string(kind) + (kind.empty() ? "" : " ") +
           plural(count, noun());
}

std::vector<std::string> StepChoice::notes() const
{
    std::vector<std::string> sentences;
    if (!summary.empty())
        sentences.push_back(summary + ".");
    if (!change.empty())
        sentences.push_back(change);
    if (areInferred)
        sentences.emplace_back("The steps are inferred periods: nothing in the recording marks a step.");
    return sentences;
}

std::string_view StepChoice::whyNot(std::optional<std::int32_t> process, std::int32_t step) const
{
    const auto found = leftOut.find({process.value_or(kOnlyProcess), step});
    return found == leftOut.end() ? std::string_view() : found->second;
}

StepChoice stepChoice(const store::RunReader& reader, RunId run, const ProcessQuery& topology)
{
    StepChoice choice;
    reader.atOnce([&] {
        choice.types = stepTypes(reader, run);
        choice.source = sourceOf(factOf(reader.environment(run), "steps.source"));
        choice.areInferred = choice.source == "inferred";
        if (!topology.allSteps)
            choice = StepChooser(reader, run, std::move(choice), !chooseRun(reader, run).coversRecording())
                         .choose(recordedSteps(reader, run));
    });
    return choice;
}

std::optional<StartPhase> startPhase(const store::RunReader& reader, RunId run)
{
    std::optional<StartPhase> phase;
    reader.atOnce([&] {
        const auto span = reader.span(run);
        if (!span || !chooseRun(reader, run).coversRecording())
            return;
        const std::vector<StepRow> rows = recordedSteps(reader, run);
        const auto first =
            std::ranges::min_element(rows, {}, [](const StepRow& row) { return row.partition.wall.start; });
        if (first == rows.end() || first->partition.wall.start <= span->first)
            return;
        phase = StartPhase{.time = {span->first, first->partition.wall.start}};
        phase->causes = StartTimesReading(reader, run).within(first->inRun, phase->time);
    });
    return phase;
}

std::string StartPhase::text() const
{
    std::string text = "Before the first step: " + timeText(time.length());
    std::vector<std::pair<Nanoseconds, StartCause>> named;
    for (std::size_t i = 0; i < causes.size(); ++i)
        if (causes[i] * 100 >= time.length() && causes[i].count() > 0)
            named.emplace_back(causes[i], static_cast<StartCause>(i));
    std::ranges::sort(named, std::greater{});
    for (std::size_t i = 0; i < named.size(); ++i)
        text += (i == 0                  ? ", of which "
                 : i + 1 == named.size() ? " and "
                                         : ", ") +
                timeText(named[i].first) + " of " + std::string(nounOf(named[i].second));
    return text + ".";
}

} // namespace tilescope::query
