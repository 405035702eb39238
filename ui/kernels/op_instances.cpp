#include "ui/kernels/op_instances.h"

namespace tilescope::ui {

std::vector<query::StretchOf>
OpChoice::stretches(const std::shared_ptr<const query::Timeline>& timeline) const
{
    if (coversRecording && !step && !process)
        return {query::everywhere()};
    return query::hostSteps(timeline, step, process);
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
