#include "ui/kernels/instances.h"

namespace tilescope::ui {

std::vector<query::StretchOf>
OpChoice::stretches(const std::shared_ptr<const query::Timeline>& timeline) const
{
    if (coversRecording && !step && !process)
        return {query::everywhere()};
    return query::hostSteps(timeline, step, process);
}

query::StretchOf KernelChoice::stretch(const std::shared_ptr<const query::Timeline>& timeline) const
{
    return [timeline, choice = *this](const query::Lane& lane) -> std::optional<query::Stretch> {
        if ((choice.process && lane.process != choice.process) ||
            (choice.device && lane.device != choice.device))
            return {};
        if (!choice.step)
            return query::Stretch{INT64_MIN, INT64_MAX};
        const std::vector<query::TimelineStep> steps = timeline->stepsOf(lane.process);
        for (std::size_t i = 0; i < steps.size(); ++i)
            if (steps[i].step == *choice.step)
                return query::Stretch{steps[i].start,
                                      i + 1 < steps.size() ? steps[i + 1].start : timeline->length + 1};
        return {};
    };
}

OpSpread spreadOf(const std::shared_ptr<const query::Timeline>& timeline, const OpChoice& choice,
                  const std::function<bool()>& cancelled)
{
    OpSpread spread;
    if (timeline)
        for (const query::KernelStat& stat : query::opStats(*timeline, choice.stretches(timeline), cancelled))
            spread.emplace(timeline->names[stat.name].text, stat);
    return spread;
}

} // namespace tilescope::ui
