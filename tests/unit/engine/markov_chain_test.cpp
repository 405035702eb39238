#include "core/engine/lm/markov_chain.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace tilescope::engine {
namespace {

using at::Tensor;

constexpr std::int64_t kVocab = 40;

at::Generator source(std::uint64_t seed = 0)
{
    return at::detail::createCPUGenerator(seed);
}

/// 50 sequences of 4,001 tokens.
Tensor drawnTokens(std::int64_t vocab)
{
    at::Generator numbers = source();
    const MarkovChain chain(vocab, numbers);
    Tensor tokens = at::empty({50, 4001}, at::kLong);
    chain.draw(tokens, numbers);
    return tokens;
}

using Counts = std::map<std::int64_t, std::map<std::int64_t, double>>;

/// How often each token follows each other one.
Counts successors(std::int64_t vocab)
{
    const Tensor tokens = drawnTokens(vocab);
    const auto token = tokens.accessor<std::int64_t, 2>();
    Counts counts;
    for (std::int64_t sequence = 0; sequence < tokens.size(0); ++sequence)
        for (std::int64_t i = 1; i < tokens.size(1); ++i)
            ++counts[token[sequence][i - 1]][token[sequence][i]];
    return counts;
}

double totalOf(const std::map<std::int64_t, double>& counts)
{
    double all = 0;
    for (const auto& [token, count] : counts)
        all += count;
    return all;
}

TEST(MarkovChain, HasTheEntropyThatItStates)
{
    constexpr double kDrawn = 50 * 4000;
    double entropy = 0;
    for (const auto& [token, next] : successors(kVocab))
        for (const auto& [successor, count] : next)
            entropy += count / kDrawn * std::log(totalOf(next) / count);
    // The information of a token is 1, 2 or 3 bits; its standard deviation is sqrt(11) / 4 bits. Counts in place of
    // probabilities make the estimate smaller by (K - 1) / 2 nats for each token of the vocabulary (Miller and Madow).
    const double deviation = std::sqrt(11.0) / 4 * std::log(2.0) / std::sqrt(kDrawn);
    const double bias = 3 * static_cast<double>(kVocab) / (2 * kDrawn);
    EXPECT_NEAR(entropy + bias, MarkovChain::entropy(kVocab), 5 * deviation);
    EXPECT_NEAR(MarkovChain::entropy(kVocab), 1.75 * std::log(2.0), 1e-12);
}

TEST(MarkovChain, LeadsFromEachTokenToFourOthersInTheStatedShares)
{
    const Counts counts = successors(kVocab);
    ASSERT_EQ(counts.size(), 40U);
    for (const auto& [token, next] : counts) {
        ASSERT_EQ(next.size(), 4U) << token;
        const double all = totalOf(next);
        std::vector<double> shares;
        for (const auto& [successor, count] : next)
            shares.push_back(count / all);
        std::ranges::sort(shares, std::greater());
        // Five standard deviations of the most variable share, 1/2.
        const double deviation = 0.5 / std::sqrt(all);
        for (const auto& [share, expected] : {std::pair(0, 0.5), {1, 0.25}, {2, 0.125}, {3, 0.125}})
            EXPECT_NEAR(shares[share], expected, 5 * deviation) << token;
        // All tokens are as frequent; what comes before and after one correlates its counts a little.
        EXPECT_NEAR(all, 5000, 10 * std::sqrt(5000.0)) << token;
    }
}

TEST(MarkovChain, OfFewWordsHasFewSuccessors)
{
    EXPECT_NEAR(MarkovChain::entropy(2), std::log(2.0), 1e-12);
    EXPECT_NEAR(MarkovChain::entropy(3), 1.5 * std::log(2.0), 1e-12);
    EXPECT_EQ(successors(2).at(0).size(), 2U);
    EXPECT_EQ(successors(3).at(2).size(), 3U);
}

TEST(MarkovChain, FollowsFromItsSource)
{
    const auto drawn = [](std::uint64_t seed) {
        at::Generator numbers = source(seed);
        const MarkovChain chain(kVocab, numbers);
        Tensor tokens = at::empty({2, 2, 30}, at::kLong);
        for (Tensor step : tokens.unbind())
            chain.draw(step, numbers);
        return tokens;
    };
    EXPECT_TRUE(at::equal(drawn(0), drawn(0)));
    EXPECT_FALSE(at::equal(drawn(0), drawn(1)));
    EXPECT_FALSE(at::equal(drawn(0)[0], drawn(0)[1]));
}

} // namespace
} // namespace tilescope::engine
