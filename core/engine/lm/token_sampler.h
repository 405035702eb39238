#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/model/spec.h"

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace tilescope::engine {

/// Chooses the next tokens from logits: the most probable ones, or drawn from the probabilities by random numbers of
/// the spec's seed, which all devices share. Session thread.
class TokenSampler {
public:
    TokenSampler(const ExperimentSpec& spec, at::Device device);

    /// Starts the sequence of random numbers again: every generation of a run makes the same draws.
    void restart();
    /// Draws the random numbers of the next choose() and copies them to the device.
    void draw();
    /// Reads no host memory, so that a CUDA graph can capture it.
    /// \param logits  (batch, vocab)
    /// \param next    (batch), int64; receives the tokens
    void choose(const at::Tensor& logits, at::Tensor& next);
    void visitHeld(const HoldVisitor& visit) const;

private:
    bool isSeeded_;
    std::int64_t seed_;
    std::int64_t lastToken_;
    at::Generator source_;
    at::Tensor host_;    // (batch, 1) random numbers in [0, 1); undefined if not seeded
    at::Tensor uniform_; // the same on the device
};

} // namespace tilescope::engine
