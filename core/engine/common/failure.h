#pragma once

#include "core/model/run.h"

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace tilescope::engine {

/// Thrown within the engine if the device, build or backend does not support a point. Becomes the status
/// `skipped`; never leaves the engine.
struct Unsupported {
    std::string reason; ///< one sentence
};

/// Thrown if another rank does not take part in a collective. Becomes the status `error` with the flag
/// rank-lost; never leaves the engine. A std::exception, because autograd propagates no other types.
struct LostRank : std::exception {
    explicit LostRank(std::string sentence) : reason(std::move(sentence)) {}
    const char* what() const noexcept override { return reason.c_str(); }

    std::string reason; ///< one sentence that names the rank
};

/// The first sentence of a LibTorch message: no stack, no line breaks, at most 240 characters.
std::string condensed(std::string_view message);

/// Converts the current exception to status, reason and, if memory ran out, its figures. Call only in a catch
/// block.
/// \param phase  current activity of the point: setup, forward, …
void recordFailure(RunResult& result, std::string_view phase);

} // namespace tilescope::engine
