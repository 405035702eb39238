// The bars of the overview: where the mean step goes, or a time span.

#include "ui/overview/generation_figures.h"
#include "ui/overview/overview_steps.h"

namespace tilescope::ui {

using query::Hue;
using query::MeanStep;

namespace {

void addGpuParts(StepBar& bar, const query::RunOverview& data, const MeanStep& step)
{
    double families = 0;
    for (const query::FamilyShare& share : data.families)
        families += share.perStep;
    // Streams overlap: families add up to more than the time in which the GPU was busy, and share it.
    const double scale = families > 0 ? step.gpuBusy / families : 0;
    for (const query::FamilyShare& share : data.families)
        bar.parts.push_back({QString::fromUtf8(hueWord(share.hue)), share.hue, share.perStep * scale});
    for (const Idle& part : idlesOf(step))
        if (part.time > 0)
            bar.parts.push_back({QString::fromUtf8(hueWord(part.hue)), part.hue, part.time});
}

void addCpuParts(StepBar& bar, const query::RunOverview& data, const MeanStep& step)
{
    double families = 0;
    for (const query::FamilyShare& share : data.families) {
        bar.parts.push_back({QString::fromUtf8(hueWord(share.hue)), share.hue, share.perStep});
        families += share.perStep;
    }
    if (step.communication > 0)
        bar.parts.push_back({QStringLiteral("communication"), Hue::Collective, step.communication});
    if (const double known = families + step.communication; step.wall > known)
        bar.parts.push_back({QStringLiteral("outside ops"), Hue::GapUnexplained, step.wall - known});
}

} // namespace

double StepBar::total() const
{
    double sum = 0;
    for (const StepPart& part : parts)
        sum += part.time;
    return sum;
}

std::vector<StepBar> stepBars(const OverviewData& data)
{
    if (showsGeneration(data))
        return decodeBars(data);
    std::vector<StepBar> bars;
    for (const OverviewRun& run : data.runs) {
        const MeanStep* step = stepOf(run);
        if (step == nullptr)
            continue;
        StepBar bar{run.letter, run.title, {}};
        if (step->onGpu)
            addGpuParts(bar, *run.data, *step);
        else
            addCpuParts(bar, *run.data, *step);
        bars.push_back(std::move(bar));
    }
    return bars;
}

} // namespace tilescope::ui
