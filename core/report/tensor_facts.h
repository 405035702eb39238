#pragma once

#include "core/report/run_facts.h"

#include "core/query/memory/tensor_names.h"

#include <string_view>

namespace tilescope::report {

/// What is known of single tensors of an attention step, by the names of query::tensorNames:
///
///   NAME        bytes of the tensor S, P, dP, … of the first traced step
///   workspaces  bytes of all workspaces that stand at the peak
///   at_peak     what stands at the peak, by size: `512 MiB: P, dP, dS, P * dP; 64 MiB: 2 cuBLAS workspace`
///   reuse       which tensor lies where which was before: `dP where S was; …`
Fact tensorFact(const query::NamedMemory& named, std::string_view which);

/// The tensor of the residual stream that the first norm keeps for backward (query::residualStream): its
/// bytes, or of `shape` its shape and type, of `formula` what it ought to take, of `held` how many like it
/// are held.
Fact residualFact(const RunFacts& run, std::string_view which);

} // namespace tilescope::report
