#pragma once

// Shared by the figures and the flags of the overview.

#include "ui/overview/overview_figures.h"

#include <algorithm>
#include <array>

namespace tilescope::ui {

inline constexpr double kTracingLimit = 1.10; ///< of a traced step over one that is not traced
/// Tracing makes no step faster: below this ratio the cost is not measurable.
inline constexpr double kImplausible = 0.95;

/// The mean traced step; null without one.
inline const query::MeanStep* stepOf(const OverviewRun& run)
{
    return run.data->step && run.data->step->wall > 0 ? &*run.data->step : nullptr;
}

/// The mean traced step of a run on a GPU; otherwise null.
inline const query::MeanStep* gpuStepOf(const OverviewRun& run)
{
    const query::MeanStep* step = stepOf(run);
    return step != nullptr && step->onGpu ? step : nullptr;
}

/// Idle GPU time and its reason.
struct Idle {
    query::Hue hue;
    double time; ///< ns
};

/// By reason.
inline std::array<Idle, 4> idlesOf(const query::MeanStep& step)
{
    using query::Hue;
    return {{{Hue::GapLaunching, step.launching},
             {Hue::GapSynchronizing, step.synchronizing},
             {Hue::GapTracing, step.tracing},
             {Hue::GapUnexplained, step.unexplained}}};
}

/// For the main reason.
inline Idle idleOf(const query::MeanStep& step)
{
    return std::ranges::max(idlesOf(step), {}, &Idle::time);
}

} // namespace tilescope::ui
