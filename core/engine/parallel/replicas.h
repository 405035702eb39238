#pragma once

#include "core/engine/parallel/parallelism.h"

namespace tilescope::engine {

/// The kinds of data parallelism in which each rank has all weights: ddp-naive, ddp-flat, ddp, optimizer-sharding and
/// zero1.
std::unique_ptr<Parallelism> makeReplicas(const ExperimentSpec& spec, Ranks& ranks);

} // namespace tilescope::engine
