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
    /// \param mine     index of this process's batch among the batches of all ranks
    /// \param batches  number of batches of all ranks
    TokenBatch(const ExperimentSpec& spec, at::Device device, int mine = 0, int batches = 1);

    /// Draws the tokens of the next step on the host and copies them to the same tensors. This needs no
    /// device allocation and gives all devices the same tokens.
    void refresh();

    const at::Tensor& tokens() const { return tokens_; } ///< (batch·context)
    const at::Tensor& targets() const { return targets_; }
    void visitHeld(const HoldVisitor& visit) const;
    /// Facts about the data: for a Markov chain, result.entropy.
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
