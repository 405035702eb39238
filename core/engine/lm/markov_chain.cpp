#include "core/engine/lm/markov_chain.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace tilescope::engine {
namespace {

std::int64_t successors(std::int64_t vocab)
{
    constexpr std::int64_t kMost = 4;
    return std::min(vocab, kMost);
}

} // namespace

// The shuffle of Fisher and Yates. The result is not a tensor, which would count as memory of the step on a
// CPU.
MarkovChain::MarkovChain(std::int64_t vocab, at::Generator& source)
    : permutation_(static_cast<std::size_t>(vocab))
{
    std::iota(permutation_.begin(), permutation_.end(), std::int64_t{0});
    auto* numbers = at::check_generator<at::CPUGeneratorImpl>(source);
    for (std::size_t i = permutation_.size(); i > 1; --i)
        std::swap(permutation_[i - 1], permutation_[numbers->random64() % i]);
}

// The K values of j have probabilities 1/2, …, 2^(1 - K), 2^(1 - K), so the sum of p log2(1 / p) is 2 - 2^(2
// - K).
double MarkovChain::entropy(std::int64_t vocab)
{
    return (2 - std::exp2(2 - static_cast<double>(successors(vocab)))) * std::log(2.0);
}

void MarkovChain::draw(at::Tensor& tokens, at::Generator& source) const
{
    // The lower bits of a random number choose j, the other bits the first token.
    const auto vocab = static_cast<std::int64_t>(permutation_.size());
    const std::int64_t bits = successors(vocab) - 1;
    const std::int64_t mask = (std::int64_t{1} << bits) - 1;
    tokens.random_(0, vocab << bits, source);
    auto drawn = tokens.accessor<std::int64_t, 2>();
    for (std::int64_t sequence = 0; sequence < tokens.size(0); ++sequence) {
        std::int64_t token = drawn[sequence][0] >> bits;
        drawn[sequence][0] = token;
        for (std::int64_t i = 1; i < tokens.size(1); ++i) {
            const auto choice = static_cast<std::uint64_t>(drawn[sequence][i] & mask);
            token = permutation_[static_cast<std::size_t>((token + std::countr_one(choice)) % vocab)];
            drawn[sequence][i] = token;
        }
    }
}

} // namespace tilescope::engine
