#include "core/query/work/step_forecast.h"

#include "core/analysis/work/spec_work.h"
#include "core/config/schema.h"
#include "core/model/fused_recomputation.h"
#include "core/model/parallelism.h"
#include "core/predict/predict_memory.h"
#include "core/predict/predict_time.h"
#include "core/query/runs/run_device.h"
#include "core/query/work/link_rate.h"

namespace tilescope::query {

StepForecast stepForecast(const store::RunReader& reader, const store::RunRecord& run)
{
    StepForecast forecast;
    const auto spec = config::specOf(run.specJson);
    if (!spec)
        return forecast;
    const std::vector<Ceiling> ceilings = reader.ceilings();
    predict::TargetDevice device = deviceOfRun(reader, run);
    device.capacity.reset(); // the run shows whether it fits
    std::optional<predict::DeviceRates> rates = predict::DeviceRates::from(ceilings, device);
    if (const auto link = linkRateOf(reader, run); link && rates && device.isCuda)
        rates->assumeLink(link->bytesPerSecond);
    if (const auto memory = predict::predictMemory(*spec, device))
        forecast.peak = memory->peakAllocated;
    if (const auto time = rates ? predict::predictTime(*spec, device, *rates) : std::nullopt) {
        forecast.stepSeconds = time->stepSeconds;
        forecast.computeSeconds = time->stepSeconds - time->exposedSeconds;
    }
    if (const auto flops = analysis::stepFlops(*spec))
        forecast.flops = analysis::Flops{flops->hardware.count / gridOf(*spec).tensor};
    forecast.ranks = predict::parallelScaling(*spec, device, rates);
    if (const auto plan = recomputedSegments(*spec); spec->workload == Workload::Lm && !plan.empty())
        forecast.recomputation = summaryOf(plan, spec->layers);
    return forecast;
}

} // namespace tilescope::query
