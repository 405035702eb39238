#include "core/query/generation/iterations.h"

#include "core/model/environment_facts.h"
#include "core/model/generation_mark.h"
#include "core/query/generation/model_calls.h"
#include "core/query/runs/step_paths.h"
#include "core/query/steps/step_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tilescope::query {

namespace {

using StepKey = std::pair<ProcessIndex, std::int32_t>;

/// Of the calls of which model, and by what, an import computed the steps.
struct ComputedSteps {
    std::string model = {};
    IterationSource source = IterationSource::None;
};

/// \param fact  as the import stored it: `calls of LlamaForCausalLM, by what grows from call to call`
ComputedSteps computedFrom(std::string_view fact)
{
    constexpr std::string_view kBegin = "calls of ";
    const std::size_t end = fact.find(", by ");
    if (!fact.starts_with(kBegin) || end == std::string_view::npos)
        return {};
    return {std::string(fact.substr(kBegin.size(), end - kBegin.size())),
            fact.find("shapes", end) != std::string_view::npos ? IterationSource::ModelShapes
                                                               : IterationSource::ModelCache};
}

/// Adds what a further mark of the same iteration says: SGLang's own mark lacks the context that another one states.
void addMark(Iteration& iteration, const GenerationMark& mark)
{
    const auto set = [](auto& value, const auto& from) {
        if (!value)
            value = from;
    };
    if (iteration.type == StepType::Other)
        iteration.type = mark.type;
    iteration.why = iteration.type == StepType::Other ? std::string(mark.why) : std::string();
    set(iteration.sequences, mark.sequences());
    if (!mark.isOfBoth)
        set(iteration.prompts, mark.prompts);
    set(iteration.newTokens, mark.newTokens);
    if (!iteration.context && mark.cachedTokens && mark.sequences().value_or(0) > 0)
        iteration.context = static_cast<double>(*mark.cachedTokens) / static_cast<double>(*mark.sequences());
    if (!iteration.context && mark.context)
        iteration.context = static_cast<double>(*mark.context);
    set(iteration.cacheBytes, mark.cacheBytes);
    iteration.isChunked = iteration.isChunked || mark.isChunked;
    iteration.isSpeculative = iteration.isSpeculative || mark.isSpeculative;
    iteration.isMixed = iteration.isMixed || mark.isMixed();
}

/// Steps of programs that generate, by what their ranges are called.
class MarkedSteps {
public:
    MarkedSteps(const store::RunReader& reader, RunId run, const ProcessQuery& topology)
        : reader_(reader), topology_(topology), filter_(reader, run, topology)
    {
    }

    Iterations find(RunId run)
    {
        Iterations found{.choice = stepChoice(reader_, run, topology_)};
        readMarks(run);
        const bool isOfProgram =
            !framework_.empty() || std::ranges::any_of(found.choice.types, [](const auto& step) {
                return step.second == StepType::Prefill || step.second == StepType::Decode;
            });
        if (!isOfProgram)
            return found;
        // Reads the events of busy steps: only of programs that generate.
        const StepsTable steps = query::steps(reader_, {.run = run, .topology = topology_});
        found.source = framework_.empty() && !areNamed_ ? IterationSource::Steps : IterationSource::Marks;
        found.marks = framework_;
        if (const ComputedSteps computed = computedFrom(factOf(reader_.environment(run), "steps.source"));
            framework_.empty() && computed.source != IterationSource::None) {
            found.source = computed.source;
            found.marks = computed.model;
        }
        std::map<ProcessIndex, std::int32_t> generations;
        for (const StepRow& row : steps.rows) {
            for (Iteration& iteration : iterationsWithin(row)) {
                if (framework_.empty())
                    iteration.generation = generationOf(generations, iteration);
                found.list.push_back(std::move(iteration));
            }
        }
        std::ranges::stable_sort(
            found.list, {}, [](const Iteration& each) { return std::pair(each.process, each.wall.start); });
        if (std::ranges::any_of(found.list, [](const Iteration& each) { return !each.step; })) {
            found.source = IterationSource::Marks;
            std::map<ProcessIndex, std::int32_t> numbers;
            for (Iteration& each : found.list)
                each.number = numbers[each.process]++;
        }
        return found;
    }

private:
    struct MarkedRange {
        analysis::Interval time{};
        GenerationMark mark = {};
        bool isStep = false;
    };

    /// The step, if it is an iteration; where marked ranges follow each other in it, these: a profiler's step may generate a whole text.
    std::vector<Iteration> iterationsWithin(const StepRow& row) const
    {
        const bool isTyped = row.type == StepType::Prefill || row.type == StepType::Decode;
        Iteration whole{.number = row.step,
                        .step = row.step,
                        .process = row.inRun,
                        .type = isTyped ? row.type : StepType::Other,
                        .wall = row.partition.wall,
                        .unrecorded = row.unrecorded};
        const auto found = marks_.find({row.inRun, row.step});
        if (found == marks_.end())
            return isTyped ? withCalls(std::move(whole)) : std::vector<Iteration>{};
        std::vector<MarkedRange> marks = found->second;
        std::ranges::stable_sort(marks, {}, [](const MarkedRange& each) {
            return std::tuple(each.time.start, -each.time.end.time_since_epoch());
        });
        std::vector<Iteration> parts;
        for (const MarkedRange& each : marks) {
            if (parts.empty() || each.time.start >= parts.back().wall.end)
                parts.push_back({.process = row.inRun, .wall = each.time});
            addMark(parts.back(), each.mark);
        }
        if (parts.size() > 1 && std::ranges::none_of(marks, &MarkedRange::isStep))
            return parts;
        for (const MarkedRange& each : found->second)
            addMark(whole, each.mark);
        return withCalls(std::move(whole));
    }

    /// The iteration with its call of a model; one for each call where the program marks a loop of them as decode.
    std::vector<Iteration> withCalls(Iteration iteration) const
    {
        const auto found = calls_.find({iteration.process, iteration.number});
        if (found == calls_.end())
            return {std::move(iteration)};
        // A model that drafts tokens takes less time than the one that decodes.
        const std::vector<analysis::Interval>& calls =
            std::ranges::max_element(found->second, {}, [](const auto& each) {
                return analysis::lengthOf(each.second);
            })->second;
        if (calls.size() == 1 || iteration.type != StepType::Decode || !framework_.empty()) {
            iteration.call = analysis::Interval{calls.front().start, calls.back().end};
            return {std::move(iteration)};
        }
        std::vector<Iteration> parts;
        for (std::size_t i = 0; i < calls.size(); ++i)
            parts.push_back({.process = iteration.process,
                             .type = iteration.type,
                             .sequences = iteration.sequences,
                             .newTokens = iteration.sequences,
                             .wall = {i == 0 ? iteration.wall.start : calls[i].start,
                                      i + 1 < calls.size() ? calls[i + 1].start : iteration.wall.end},
                             .call = calls[i]});
        return parts;
    }

    static std::int32_t generationOf(std::map<ProcessIndex, std::int32_t>& generations,
                                     const Iteration& iteration)
    {
        const auto [known, isNew] = generations.try_emplace(iteration.process, 0);
        if (!isNew && iteration.type != StepType::Decode)
            ++known->second;
        return known->second;
    }

    void readMarks(RunId run)
    {
        std::unordered_map<StringId, std::optional<GenerationMark>> known;
        std::unordered_map<StringId, bool> models;
        StepPaths stepPaths(reader_);
        reader_.eachRange({.run = run}, [&](const Range& range) {
            if (range.step == kNoStep || !filter_.has(range.thread) || !range.name)
                return true;
            const StepKey key{filter_.topology().of(range.thread), range.step};
            const auto [mark, isNew] = known.try_emplace(range.name);
            if (isNew) {
                mark->second = generationMarkOf(reader_.text(range.name));
                // Profilers add marks of vLLM's kind around those of another server.
                if (mark->second && !mark->second->framework.empty() &&
                    (framework_.empty() || framework_ == "vLLM"))
                    framework_ = mark->second->framework;
            }
            if (mark->second) {
                const bool isStep = stepPaths.isStep(range);
                marks_[key].push_back({{range.start, range.end}, *mark->second, isStep});
                areNamed_ = areNamed_ || isStep;
            }
            const auto [isModel, isNewPath] = models.try_emplace(range.path, false);
            if (isNewPath && range.path)
                isModel->second = !modelOf(reader_.text(range.path)).empty();
            if (!isModel->second || !framework_.empty())
                return true;
            std::vector<analysis::Interval>& calls = calls_[key][range.path];
            if (calls.empty() || range.start >= calls.back().end)
                calls.push_back({range.start, range.end});
            return true;
        });
    }

    const store::RunReader& reader_;
    ProcessQuery topology_;
    ProcessFilter filter_;
    std::map<StepKey, std::vector<MarkedRange>> marks_;
    std::map<StepKey, std::map<StringId, std::vector<analysis::Interval>>>
        calls_; ///< of models, by step and path
    std::string framework_;
    bool areNamed_ = false; ///< names of steps are marks
};

} // namespace

std::string_view wordOf(IterationSource source)
{
    static constexpr std::array<std::string_view, 5> kWords{"none", "marks", "steps", "shapes", "cache"};
    return kWords[static_cast<std::size_t>(source)];
}

Iterations iterationsOf(const store::RunReader& reader, RunId run, const ProcessQuery& topology)
{
    Iterations found;
    reader.atOnce([&] {
        found = MarkedSteps(reader, run, topology).find(run);
        if (!found.list.empty())
            return;
        for (const StepRow& row : recordedSteps(reader, run))
            if (found.choice.typeOf(row.numbers.process, row.step) == StepType::Train)
                return; // a program that trains calls its model too
        addModelCalls(reader, run, topology, found);
    });
    return found;
}

} // namespace tilescope::query
