#include "core/query/steps/step_types.h"

#include "core/analysis/time/path_glob.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/step_paths.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tilescope::query {

namespace {

/// What the ranges of a step say of it.
struct StepRanges {
    StepType named = StepType::Other; ///< by the name of the step's own range
    bool trains = false;
    bool prefills = false;
    bool decodes = false;

    void add(StepType type)
    {
        trains = trains || type == StepType::Train;
        prefills = prefills || type == StepType::Prefill || type == StepType::Generate;
        decodes = decodes || type == StepType::Decode || type == StepType::Generate;
    }
    StepType type() const
    {
        if (named != StepType::Other)
            return named;
        if (trains)
            return StepType::Train;
        if (prefills && decodes)
            return StepType::Generate;
        return prefills ? StepType::Prefill : decodes ? StepType::Decode : StepType::Other;
    }
};

StepType typeOfPhase(std::string_view phase)
{
    if (phase == "backward" || phase == "optimizer" || phase.starts_with("Optimizer.step#") ||
        phase == "DeepSpeedEngine.step")
        return StepType::Train;
    return phase == "prefill"    ? StepType::Prefill
           : phase == "decode"   ? StepType::Decode
           : phase == "generate" ? StepType::Generate
                                 : StepType::Other;
}

} // namespace

StepTypes stepTypes(const store::RunReader& reader, RunId run)
{
    const ProcessFilter filter(reader, run, {});
    StepPaths stepPaths(reader);
    std::map<std::pair<std::int32_t, std::int32_t>, StepRanges> steps;
    std::unordered_map<StringId, StepType> named;
    std::unordered_map<StringId, StepType> phases; // what a range with this path says of its step
    reader.eachRange({.run = run}, [&](const Range& range) {
        if (range.step == kNoStep)
            return true;
        const ProcessNumbers numbers = numbersOf(filter.topology(), filter.topology().of(range.thread));
        StepRanges& step = steps[{numbers.process.value_or(-1), range.step}];
        if (stepPaths.isStep(range)) {
            const auto [known, isNew] = named.try_emplace(range.name, StepType::Other);
            if (isNew && range.name)
                known->second = stepTypeOf(reader.text(range.name));
            if (known->second != StepType::Other)
                step.named = known->second;
            return true;
        }
        const auto [known, isNew] = phases.try_emplace(range.path, StepType::Other);
        if (isNew && range.path)
            known->second = typeOfPhase(analysis::phaseOf(analysis::fromStepDown(reader.text(range.path))));
        step.add(known->second);
        return true;
    });
    StepTypes types;
    for (const auto& [key, step] : steps)
        types.emplace(key, step.type());
    return types;
}

} // namespace tilescope::query
