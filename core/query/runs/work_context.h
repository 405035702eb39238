#pragma once

#include "core/analysis/work/op_work.h"
#include "core/analysis/work/spec_work.h"
#include "core/model/spec.h"

#include <optional>

namespace tilescope::query {

/// The properties of a run's ops that their shapes do not determine.
/// \param spec  none: another program's recording, of which only the ops say whether attention is causal
inline analysis::WorkContext workContextOf(const std::optional<ExperimentSpec>& spec)
{
    analysis::WorkContext context;
    if (spec)
        context = {.elementBytes = analysis::elementBytesOf(spec->precision),
                   .causal = spec->workload == Workload::Lm || spec->causal};
    else
        context.causal.reset();
    return context;
}

} // namespace tilescope::query
