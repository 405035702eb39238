#include "core/report/forecast_facts.h"

namespace tilescope::report {

namespace {

using exchange::Unit;

Fact fact(const std::optional<double>& value, Unit unit, double factor = 1)
{
    return value ? Fact(Measured{*value * factor, {}, 1, unit}) : Fact();
}

constexpr double kMilliseconds = 1e3;

Fact ofRanks(const predict::ParallelScaling& ranks, std::string_view which)
{
    if (which == "sent")
        return fact(ranks.bytesSent, Unit::Bytes);
    if (which == "communication")
        return fact(ranks.communicationSeconds, Unit::Milliseconds, kMilliseconds);
    if (which == "exposed")
        return fact(ranks.exposedSeconds, Unit::Milliseconds, kMilliseconds);
    if (which == "bound_from" && ranks.boundFrom)
        return Measured{static_cast<double>(*ranks.boundFrom)};
    return {};
}

Fact ofPlan(const RecomputationSummary& plan, std::string_view which)
{
    if (which == "segments")
        return Measured{static_cast<double>(plan.segments)};
    if (which == "levels")
        return Measured{static_cast<double>(plan.levels)};
    return which == "recomputed" ? Fact(Measured{plan.factor}) : Fact();
}

} // namespace

Fact forecastFact(const query::StepForecast& forecast, std::string_view which)
{
    if (which == "peak")
        return forecast.peak ? Fact(Measured{static_cast<double>(forecast.peak->count), {}, 1, Unit::Bytes})
                             : Fact();
    if (which == "step")
        return fact(forecast.stepSeconds, Unit::Milliseconds, kMilliseconds);
    if (which == "compute")
        return fact(forecast.computeSeconds, Unit::Milliseconds, kMilliseconds);
    if (which == "flops")
        return forecast.flops
                   ? Fact(Measured{static_cast<double>(forecast.flops->count), {}, 1, Unit::Operations})
                   : Fact();
    if (forecast.ranks)
        if (const Fact found = ofRanks(*forecast.ranks, which); found.index() != 0)
            return found;
    return forecast.recomputation ? ofPlan(*forecast.recomputation, which) : Fact();
}

} // namespace tilescope::report
