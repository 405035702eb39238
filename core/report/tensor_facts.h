#pragma once

#include "core/report/run_facts.h"

#include "core/query/memory/tensor_names.h"

#include <string_view>

namespace tilescope::report {

/// Facts about single tensors of an attention step, by the names of query::tensorNames:
///
///     NAME        bytes of the tensor S, P, dP, … of the first traced step
///     workspaces  bytes of all workspaces allocated at the peak
///     at_peak     allocations at the peak by size: `512 MiB: P, dP, dS, P * dP; 64 MiB: 2 cuBLAS workspace`
///     reuse       tensors that reuse the memory of earlier ones: `dP where S was; …`
Fact tensorFact(const query::NamedMemory& named, std::string_view which);

/// The tensor of the residual stream that the first norm keeps for backward (query::residualStream). Returns
/// its bytes; for `shape` its shape and type, for `formula` its expected bytes, for `held` the number of such
/// tensors that are held.
Fact residualFact(const RunFacts& run, std::string_view which);

} // namespace tilescope::report
