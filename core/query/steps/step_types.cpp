#include "core/query/steps/step_types.h"

#include "core/analysis/time/path_glob.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/step_paths.h"

#include <string_view>
#include <unordered_map>

namespace tilescope::query {

namespace {

StepType typeOfPhase(std::string_view phase)
{
    if (phase == "backward" || phase == "optimizer" || phase.starts_with("Optimizer.step#") ||
        phase == "DeepSpeedEngine.step")
        return StepType::Train;
    return phase == "prefill" ? StepType::Prefill : phase == "decode" ? StepType::Decode : StepType::Other;
}

} // namespace

StepTypes stepTypes(const store::RunReader& reader, RunId run)
{
    const ProcessFilter filter(reader, run, {});
    StepPaths stepPaths(reader);
    StepTypes types;
    std::unordered_map<StringId, StepType> named;
    std::unordered_map<StringId, StepType> phases; // what a range with this path says of its step
    reader.eachRange({.run = run}, [&](const Range& range) {
        if (range.step == kNoStep)
            return true;
        const ProcessNumbers numbers = numbersOf(filter.topology(), filter.topology().of(range.thread));
        StepType& type =
            types.try_emplace({numbers.process.value_or(-1), range.step}, StepType::Other).first->second;
        if (stepPaths.isStep(range)) {
            const auto [known, isNew] = named.try_emplace(range.name, StepType::Other);
            if (isNew && range.name)
                known->second = stepTypeOf(reader.text(range.name));
            if (known->second != StepType::Other)
                type = known->second;
            return true;
        }
        const auto [known, isNew] = phases.try_emplace(range.path, StepType::Other);
        if (isNew && range.path)
            known->second = typeOfPhase(analysis::phaseOf(analysis::fromStepDown(reader.text(range.path))));
        if (known->second != StepType::Other && type == StepType::Other)
            type = known->second;
        return true;
    });
    return types;
}

} // namespace tilescope::query
