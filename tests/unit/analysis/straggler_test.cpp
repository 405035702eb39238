#include "core/analysis/ranks/straggler.h"

#include "core/model/collective_bandwidth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;
using Kind = StragglerVerdict::Kind;

/// Steps of `ranks` ranks, in each of which the rank of that digit is 1 ms late; `-`: nobody is.
StragglerVerdict verdictOn(int ranks, const std::string& last)
{
    std::vector<StepLateness> steps;
    for (std::size_t i = 0; i < last.size(); ++i) {
        StepLateness& step = steps.emplace_back();
        step.step = static_cast<std::int32_t>(i);
        for (std::int32_t rank = 0; rank < ranks; ++rank)
            step.late[ProcessIndex{rank}] = last[i] - '0' == rank ? Nanoseconds(1'000'000 + i) : 0_ns;
    }
    return stragglerOf(steps);
}

} // namespace

TEST(BinomialTail, IsExact)
{
    EXPECT_NEAR(binomialTail(2, 4, 0.5), 11.0 / 16, 1e-12);
    EXPECT_NEAR(binomialTail(0, 7, 0.25), 1, 1e-12);
    EXPECT_NEAR(binomialTail(3, 3, 0.25), 1.0 / 64, 1e-12);
    EXPECT_NEAR(binomialTail(1, 2, 1.0 / 3), 5.0 / 9, 1e-12);
    // By symmetry half of the distribution and half of its middle: C(1000, 500) / 2^1000 = 0.025225.
    EXPECT_NEAR(binomialTail(500, 1000, 0.5), 0.5 + 0.025225 / 2, 1e-6);
    EXPECT_GT(binomialTail(100'000, 100'000, 0.99999), 0.3);
}

TEST(Straggler, TakesSixSteps)
{
    const StragglerVerdict two = verdictOn(2, "11");
    EXPECT_EQ(two.kind, Kind::TooFewSteps);
    EXPECT_EQ(two.process, ProcessIndex{1});
    EXPECT_EQ(two.lastIn, 2);
    EXPECT_EQ(verdictOn(8, "33333").kind, Kind::TooFewSteps);
    EXPECT_EQ(verdictOn(2, "1-1-1-1-1").kind, Kind::TooFewSteps) << "steps without a last rank do not count";
    const StragglerVerdict six = verdictOn(2, "111111");
    EXPECT_EQ(six.kind, Kind::Straggler);
    EXPECT_NEAR(six.chance, 2.0 / 64, 1e-12);
    EXPECT_EQ(six.median, Nanoseconds(1'000'003)) << "rounded from 2.5";
    EXPECT_EQ(six.least, Nanoseconds(1'000'000));
    EXPECT_EQ(six.most, Nanoseconds(1'000'005));
}

TEST(Straggler, IsNobodyWhereChanceExplainsIt)
{
    const StragglerVerdict five = verdictOn(2, "111011");
    EXPECT_EQ(five.kind, Kind::NoStraggler);
    EXPECT_NEAR(five.chance, 2 * 7.0 / 64, 1e-12);
    EXPECT_EQ(verdictOn(4, "01230123").kind, Kind::NoStraggler);
    EXPECT_FALSE(verdictOn(4, "01230123").process) << "a tie";
    EXPECT_DOUBLE_EQ(verdictOn(2, "0101010101").chance, 1);
}

TEST(Straggler, CountsThatAnyRankCouldHaveBeenIt)
{
    // Each of 8 ranks: P(at least 3 of 6) = 0.0291, which is no evidence for the one that happened to be it.
    const StragglerVerdict verdict = verdictOn(8, "512535");
    EXPECT_EQ(verdict.process, ProcessIndex{5});
    EXPECT_EQ(verdict.kind, Kind::NoStraggler);
    EXPECT_NEAR(verdict.chance, 8 * binomialTail(3, 6, 1.0 / 8), 1e-12);
    EXPECT_GT(verdict.chance, kStragglerLevel);
}

TEST(Straggler, NeedsTwoRanks)
{
    EXPECT_EQ(verdictOn(1, "000000").kind, Kind::NothingToCompare);
    EXPECT_EQ(stragglerOf({}).kind, Kind::NothingToCompare);
}

TEST(Bandwidth, FollowsNcclTests)
{
    const auto bus = [](std::string_view op, std::int64_t bytes, int ranks) {
        return bandwidthOf(op, bytes, ranks, Nanoseconds(1000)).value();
    };
    EXPECT_DOUBLE_EQ(bus("all_reduce", 8000, 4).algorithm, 8);
    EXPECT_DOUBLE_EQ(bus("all_reduce", 8000, 4).bus, 12);
    EXPECT_DOUBLE_EQ(bus("all_gather", 8000, 4).algorithm, 32) << "the size is that of all ranks together";
    EXPECT_DOUBLE_EQ(bus("all_gather", 8000, 4).bus, 24);
    EXPECT_DOUBLE_EQ(bus("reduce_scatter", 32'000, 4).bus, 24) << "a rank contributes all shards";
    EXPECT_DOUBLE_EQ(bus("all_to_all", 8000, 4).bus, 6);
    EXPECT_DOUBLE_EQ(bus("broadcast", 8000, 4).bus, 8);
    EXPECT_FALSE(bandwidthOf("send", 8000, 2, Nanoseconds(1000)));
    EXPECT_FALSE(bandwidthOf("all_reduce", -1, 2, Nanoseconds(1000)));
    EXPECT_FALSE(bandwidthOf("all_reduce", 8000, 0, Nanoseconds(1000)));
    EXPECT_FALSE(bandwidthOf("all_reduce", 8000, 2, Nanoseconds(0)));
}

} // namespace tilescope::analysis
