#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tilescope::engine {

/// Tokens that depend on the one before: after t comes p[(t + j) mod vocab], where p is a random permutation and
/// j = 0, 1, 2, 3 has probability 1/2, 1/4, 1/8, 1/8. A vocabulary of fewer than four tokens has as many j; the last
/// two are equally frequent. The first token is uniform, so all are.
class MarkovChain {
public:
    /// \param source  the permutation is drawn from it
    MarkovChain(std::int64_t vocab, at::Generator& source);

    /// Entropy of a token given those before it, in nats: no model has a smaller expected cross entropy.
    static double entropy(std::int64_t vocab);

    /// Overwrites (sequences, length) tokens on the host.
    void draw(at::Tensor& tokens, at::Generator& source) const;

private:
    std::vector<std::int64_t> permutation_;
};

} // namespace tilescope::engine
