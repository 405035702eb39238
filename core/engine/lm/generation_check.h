#pragma once

#include "core/model/spec.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tilescope::engine {

/// Logits (batch, tokens, vocab) in fp64 of whole sequences (batch, tokens), by one forward pass without a cache, with
/// naive attention in plain operations and the weights that generation has on this device. Session thread.
at::Tensor referenceLogits(const ExperimentSpec& spec, const at::Tensor& sequences);

/// How far the logits of a generation are from referenceLogits() of what it made.
struct LogitError {
    double largest = 0;  ///< largest difference
    double relative = 0; ///< divided by the largest absolute value of the reference
    /// Tokens that greedy sampling chose and the reference would not, although its two largest logits lie more than
    /// twice `largest` apart.
    std::int64_t wrongTokens = 0;
    std::vector<double> byToken; ///< largest difference of each generated token
};

/// \param logits   (batch, new_tokens, vocab), on the host
/// \param prompts  (batch, context)
/// \param made     (batch, new_tokens)
LogitError logitError(const ExperimentSpec& spec, const at::Tensor& logits, const at::Tensor& prompts,
                      const at::Tensor& made);

} // namespace tilescope::engine
