#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tilescope::engine {

/// Tokens that depend on the previous token: after t comes p[(t + j) mod vocab], where p is a random permutation
/// and j = 0, 1, 2, 3 has probability 1/2, 1/4, 1/8, 1/8. A vocabulary of K < 4 tokens has K values of j, of
/// which the last two are equally frequent. The first token is uniformly distributed, so every token is.
class MarkovChain {
public:
    /// \param source  random numbers for the permutation
    MarkovChain(std::int64_t vocab, at::Generator& source);

    /// Entropy of a token given the tokens before it, in nats: no model has a smaller expected cross entropy.
    static double entropy(std::int64_t vocab);

    /// Overwrites (sequences, length) tokens on the host.
    void draw(at::Tensor& tokens, at::Generator& source) const;

private:
    std::vector<std::int64_t> permutation_;
};

} // namespace tilescope::engine
