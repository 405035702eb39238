#pragma once

// What the overview's figures and flags both ask of a run.

#include "ui/overview/overview_figures.h"

#include <string_view>

namespace tilescope::ui {

inline constexpr double kTracingLimit = 1.10; ///< of a traced step over a bare one
/// Tracing makes no step faster: below this the steps vary too much to tell its cost.
inline constexpr double kImplausible = 0.95;

inline QString word(std::string_view text)
{
    return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

/// The mean traced step; none without one.
inline const query::MeanStep* stepOf(const OverviewRun& run)
{
    return run.data->step && run.data->step->wall > 0 ? &*run.data->step : nullptr;
}

/// The same of a run on a GPU.
inline const query::MeanStep* gpuStepOf(const OverviewRun& run)
{
    const query::MeanStep* step = stepOf(run);
    return step != nullptr && step->onGpu ? step : nullptr;
}

/// Time in which the GPU waited, and for what.
struct Idle {
    query::Hue hue;
    double time; ///< ns
};

/// What the GPU waits for most.
Idle idleOf(const query::MeanStep& step);

} // namespace tilescope::ui
