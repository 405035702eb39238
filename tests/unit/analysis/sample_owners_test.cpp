#include "core/analysis/time/sample_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilescope::analysis {
namespace {

using ::testing::ElementsAre;

Interval interval(std::int64_t start, std::int64_t end)
{
    return {timestampAt(start), timestampAt(end)};
}

std::vector<Interval> samplesOf(int count, std::int64_t length)
{
    std::vector<Interval> samples;
    for (int i = 0; i < count; ++i)
        samples.push_back(interval(i * length, (i + 1) * length));
    return samples;
}

constexpr std::uint32_t kA = 0;
constexpr std::uint32_t kB = 1;

/// The definition, by looking at each nanosecond.
std::uint32_t slowOwner(const Interval& sample, const std::vector<OwnedWork>& work, std::uint32_t groups)
{
    std::vector<std::int64_t> times(groups);
    for (Timestamp t = sample.start; t < sample.end; t += Nanoseconds(1))
        for (std::uint32_t group = 0; group < groups; ++group)
            times[group] += std::ranges::any_of(work, [&](const OwnedWork& each) {
                return each.group == group && each.time.start <= t && t < each.time.end;
            });
    const auto length = static_cast<double>(sample.length().count());
    for (std::uint32_t group = 0; group < groups; ++group) {
        std::int64_t others = 0;
        for (std::uint32_t other = 0; other < groups; ++other)
            others += other == group ? 0 : times[other];
        if (static_cast<double>(times[group]) >= kOwnedShare * length &&
            static_cast<double>(others) <= (1 - kOwnedShare) * length)
            return group;
    }
    return kNoOwner;
}

} // namespace

TEST(SampleOwners, OwnWhatTheyFillAlone)
{
    const std::vector<OwnedWork> work{
        {interval(4, 196), kA}, {interval(196, 250), kB}, {interval(300, 400), kB}};
    EXPECT_THAT(sampleOwners(samplesOf(5, 100), work), ElementsAre(kA, kA, kNoOwner, kB, kNoOwner));
}

TEST(SampleOwners, ShortKernelsInARowOwnTogether)
{
    std::vector<OwnedWork> work;
    for (int i = 0; i < 20; ++i)
        work.push_back({interval(i * 5, i * 5 + 5), kA});
    EXPECT_THAT(sampleOwners(samplesOf(1, 100), work), ElementsAre(kA));
    work[3].group = kB; // 5 of 100
    EXPECT_THAT(sampleOwners(samplesOf(1, 100), work), ElementsAre(kA));
    work[4].group = kB;
    EXPECT_THAT(sampleOwners(samplesOf(1, 100), work), ElementsAre(kNoOwner));
}

TEST(SampleOwners, WorkAtTheSameTimeCannotBeToldApart)
{
    const std::vector<OwnedWork> two{{interval(0, 100), kA}, {interval(50, 60), kB}};
    EXPECT_THAT(sampleOwners(samplesOf(1, 100), two), ElementsAre(kNoOwner));
    const std::vector<OwnedWork> same{{interval(0, 100), kA}, {interval(50, 60), kA}};
    EXPECT_THAT(sampleOwners(samplesOf(1, 100), same), ElementsAre(kA));
}

TEST(SampleOwners, FollowTheDefinition)
{
    std::mt19937 random(7); // NOLINT: the same cases every time
    for (int round = 0; round < 300; ++round) {
        std::vector<OwnedWork> work;
        std::int64_t time = 0;
        while (time < 500) {
            const auto start = time + static_cast<std::int64_t>(random() % 7) - 2;
            const auto length = static_cast<std::int64_t>(random() % (round % 3 == 0 ? 200 : 30));
            work.push_back(
                {interval(std::max<std::int64_t>(0, start), std::max<std::int64_t>(0, start) + length),
                 static_cast<std::uint32_t>(random() % 2)});
            time = start + length;
        }
        std::ranges::stable_sort(work, {}, [](const OwnedWork& each) { return each.time.start; });
        const std::vector<Interval> samples = samplesOf(6, 100);
        const std::vector<std::uint32_t> owners = sampleOwners(samples, work);
        for (std::size_t i = 0; i < samples.size(); ++i)
            ASSERT_EQ(owners[i], slowOwner(samples[i], work, 2)) << "round " << round << ", sample " << i;
    }
}

TEST(MeanOfSamples, HasAnIntervalFromTenSamplesOn)
{
    std::vector<double> values;
    for (int i = 0; i < 9; ++i)
        values.push_back(i % 2);
    EXPECT_FALSE(meanOfSamples(values).ci95);
    EXPECT_DOUBLE_EQ(meanOfSamples(values).mean, 4.0 / 9);
    values = {1, 2, 1, 3, 1, 2, 3, 3, 2, 2};
    const SampleMean mean = meanOfSamples(values);
    ASSERT_TRUE(mean.ci95);
    EXPECT_NEAR(mean.mean, 2, 1e-12);
    // The deviation is the root of 6 / 9; independent values.
    EXPECT_NEAR(mean.ci95->high - 2, 1.96 * 0.81650 / 3.16228, 1e-4);
    EXPECT_NEAR(2 - mean.ci95->low, mean.ci95->high - 2, 1e-12);
}

} // namespace tilescope::analysis
