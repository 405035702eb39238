#pragma once

#include "core/query/generation/generation_table.h"

#include <functional>
#include <vector>

namespace tilescope::query {

/// Adds what the GPUs do within the walls of the iterations, on all of a process' devices.
///
/// Sampling is what runs in a module or range whose name says so, kernels that are named so, and, where calls of a model are known, what
/// was launched outside of them.
/// \return false: cancelled
bool addIterationParts(const store::RunReader& reader, RunId run, const ProcessFilter& filter,
                       std::vector<GenerationRow>& rows, const std::function<bool()>& cancelled);

} // namespace tilescope::query
