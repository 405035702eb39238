#pragma once

#include "core/query/advice/answers.h"
#include "ui/kernels/kernel_rows.h"
#include "ui/kit/workspace.h"

#include <optional>
#include <vector>

namespace tilescope::ui {

/// What the Kernels page needs all events of a run for: kernels with their work, and ops if there are no kernels.
struct KernelsReading {
    query::KernelsTable kernels;
    std::optional<query::OpsTable> ops;
    std::optional<query::RooflineTable> opWork;
    std::optional<OpSpread> opSpread; ///< of the chosen step
    std::optional<query::RooflineTable> byShape;
    std::optional<query::Answer> attention;
    std::optional<std::vector<KernelLine>> other; ///< of the second run
    QString whyNoOther = {}; ///< a sentence, if the second run has nothing that corresponds; otherwise empty
};

/// Not for the GUI thread.
/// \param second   a run whose totals stand beside those of `run`
/// \param answer   to the question about attention, if it is known already
/// \param process  whose instances of ops count; none: all
/// \throws Error   a file cannot be read
KernelsReading readKernels(const SelectedRun& run, const std::optional<SelectedRun>& second,
                           const query::KernelQuery& query, const std::optional<query::Answer>& answer,
                           ProcessIndex process, const query::Cancelled& cancelled);

} // namespace tilescope::ui
