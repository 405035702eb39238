#pragma once

#include "core/model/run.h"

#include <string>
#include <string_view>

namespace tilescope::engine {

/// Thrown inside the engine where this device, build or backend cannot do what a point asks for. Becomes the
/// status `skipped`; never leaves the engine.
struct Unsupported {
    std::string reason; ///< one sentence
};

/// The first sentence of a LibTorch message: no stack, no line breaks, at most 240 characters.
std::string condensed(std::string_view message);

/// Turns the exception in flight into status, reason and, where memory ran out, its figures. Call only inside
/// a catch block.
/// \param phase  what the point was doing: setup, forward, …
void recordFailure(RunResult& result, std::string_view phase);

} // namespace tilescope::engine
