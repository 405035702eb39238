#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/engine/lm/markov_chain.h"
#include "core/model/run.h"
#include "core/model/spec.h"

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace tilescope::engine {

/// Tokens of a step of the language model; the targets are the tokens shifted by one. Session thread.
class TokenBatch {
public:
    /// \param mine     the batch of this process, of those that the ranks of a step have together
    /// \param batches  how many these are
    TokenBatch(const ExperimentSpec& spec, at::Device device, int mine = 0, int batches = 1);

    /// Draws those of the next step on the host and copies them to the same tensors, so that there is no device
    /// allocation and all devices get the same tokens.
    void refresh();

    const at::Tensor& tokens() const { return tokens_; } ///< (batch·context)
    const at::Tensor& targets() const { return targets_; }
    void visitHeld(const HoldVisitor& visit) const;
    /// What is known about the data: result.entropy, for a Markov chain.
    std::vector<EnvironmentEntry> facts() const;

private:
    void take();

    std::int64_t batch_;
    std::int64_t context_;
    std::int64_t vocab_;
    int mine_;
    int batches_;
    at::Generator source_;
    std::optional<MarkovChain> chain_; ///< none: tokens are independent
    at::Tensor host_;
    at::Tensor tokens_;
    at::Tensor targets_;
};

} // namespace tilescope::engine
