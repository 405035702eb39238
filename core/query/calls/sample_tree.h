#pragma once

#include "core/query/calls/call_tree.h"

namespace tilescope::query {

/// Turns a tree of GPU time into one of samples of instructions: what was sampled of a kernel is shared among the stacks
/// that launched it, by their time, and lies in the lines of its source below, with inlined lines below the line at which
/// they are inlined. Amounts add up to the samples of the kernels exactly; kernels without samples are left out.
///
/// \param times  of the whole recording, by CallWeight::Time
/// \throws Error  as inside()
CallTreeTable sampleTree(const store::RunReader& reader, const ProcessQuery& topology, CallTreeTable times);

} // namespace tilescope::query
