#pragma once

#include "core/analysis/compare/run_comparison.h"
#include "ui/kit/table_model.h"

namespace tilescope::ui {

/// The tone of a difference where less is better. Every difference on screen gets its tone from here.
/// \param isDifferent  whether it is exact or a comparison found it; else it is Dim
inline Tone toneOf(double difference, bool isDifferent)
{
    if (!isDifferent || difference == 0)
        return Tone::Dim;
    return difference < 0 ? Tone::Better : Tone::Worse;
}

/// The tone of a difference in time that has no verdict of its own: Dim unless the verdict on the step time has
/// the same direction.
inline Tone toneOf(double difference, analysis::Verdict step)
{
    return toneOf(difference,
                  step == (difference < 0 ? analysis::Verdict::Faster : analysis::Verdict::Slower));
}

} // namespace tilescope::ui
