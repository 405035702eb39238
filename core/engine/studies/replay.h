#pragma once

#include "core/engine/common/device.h"
#include "core/model/replay.h"

namespace tilescope::engine {

/// Measures one op alone: makes random inputs with the recorded types, sizes and strides, finds the overload
/// that accepts the arguments, and calls it through the dispatcher without autograd. Only calls overloads
/// that change no argument. On a GPU, the calls of a sample are replayed from a CUDA graph if the op can be
/// captured, so that launches cost nothing.
///
/// Literals that were not recorded take the defaults of the signature.
/// \throws Error  no overload accepts the arguments, or the op failed
ReplayResult replay(const ReplayRequest& request, const Device& device);

} // namespace tilescope::engine
