#pragma once

#include "core/exchange/import/foreign_rows.h"
#include "core/exchange/import/rows_by_process.h"
#include "core/exchange/import/step_finder.h"

namespace tilescope::exchange {

/// Steps from the calls of a model that generates text (analysis::generationCalls): each from its call until the next one, the last one
/// of a prompt until its call ends. They are named prefill[…] and decode[…] (nameOfIteration). Empty if no call decodes.
/// The model is the class of whole modules whose calls take most of the time of one thread of the process.
/// \param rows  of the trace
FoundSteps stepsFromModelCalls(const ForeignTrace& trace, const TraceByProcess& rows, ProcessIndex process);

} // namespace tilescope::exchange
