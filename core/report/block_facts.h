#pragma once

#include "core/report/run_facts.h"

#include <string_view>

namespace tilescope::report {

/// Memory at three moments of the first traced step, from the recorded allocations (of rank 0): WHEN.WHAT with
///
///     WHEN   start, before_optimizer, after_optimizer (in a step without optimizer, its end)
///     WHAT   parameters, gradients, optimizer, activations, …: bytes of the category; all: of all
Fact momentFact(const RunFacts& run, std::string_view which);

/// What one block of the language model, the one in the middle, holds:
///
///     activations          bytes that autograd saved for backward
///     ops                  the five ops that saved most, as text
///     gradients            bytes of its gradients before the optimizer
///     gradients_formula    bytes of its parameters in fp32
Fact blockFact(const RunFacts& run, std::string_view which);

} // namespace tilescope::report
