#include "core/analysis/waiting/idle_places.h"

#include "core/analysis/waiting/host_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace tilescope::analysis {

namespace {

using ::testing::ElementsAre;

Timestamp instant(std::int64_t time)
{
    return timestampAt(time);
}

constexpr ThreadId kMain{1};

// train.py: step() calls load() at line 2 and run() at line 3; run() launches at lines 11 and 12.
const std::vector<HostStack> kStacks{{kNoStack, "train.py(1): step", 2},
                                     {0, "train.py(20): load", 21},
                                     {kNoStack, "train.py(1): step", 3},
                                     {2, "train.py(10): run", 11},
                                     {2, "train.py(10): run", 12}};
constexpr std::uint32_t kLoad = 1;
constexpr std::uint32_t kFirst = 3;
constexpr std::uint32_t kSecond = 4;

/// A program whose GPU works for 10 ns after each launch.
class Program {
public:
    Program& launch(std::int64_t time, std::uint32_t stack)
    {
        samples.push_back({.time = instant(time), .stack = stack, .state = SampleState::kLaunch});
        work.push_back({.start = instant(time + 2),
                        .end = instant(time + 12),
                        .launched = instant(time),
                        .thread = kMain});
        return *this;
    }
    Program& sample(std::int64_t time, std::uint32_t stack)
    {
        samples.push_back({.time = instant(time), .stack = stack, .state = SampleState::kRan});
        return *this;
    }
    HostSamples host() const
    {
        HostSamples all{.stacks = kStacks, .threads = {{.thread = kMain, .samples = samples}}};
        std::ranges::stable_sort(all.threads[0].samples, {}, &HostSample::time);
        return all;
    }
    IdleTime idle(std::span<const Interval> windows = {}) const
    {
        return idleTime(work, host(), calls, windows);
    }

    std::vector<HostSample> samples;
    std::vector<LaunchedWork> work;
    std::vector<CudaCall> calls;
};

Nanoseconds sumOf(const IdleTime& idle)
{
    Nanoseconds sum = idle.launching + idle.queued + idle.unknown;
    for (const IdlePlace& place : idle.places)
        sum += place.host;
    return sum;
}

TEST(IdlePlaces, BelongToTheLaunchesAroundThem)
{
    Program program;
    for (const std::int64_t step : {0, 1000, 2000})
        program.launch(step + 100, kFirst).launch(step + 200, kSecond);
    const IdleTime idle = program.idle();
    // From 112 to 202, and from 212 to 1102.
    EXPECT_EQ(idle.total, Nanoseconds(3 * 90 + 2 * 890));
    EXPECT_EQ(idle.launching, Nanoseconds(5 * 2));
    ASSERT_EQ(idle.places.size(), 2U);
    EXPECT_EQ(idle.places[0].before, kFirst);
    EXPECT_EQ(idle.places[0].after, kSecond);
    EXPECT_THAT(idle.places[0].times, ElementsAre(Nanoseconds(88), Nanoseconds(88), Nanoseconds(88)));
    EXPECT_EQ(idle.places[1].host, Nanoseconds(2 * 888));
    EXPECT_EQ(sumOf(idle), idle.total);
    EXPECT_EQ(idle.busy, Nanoseconds(6 * 10));
}

TEST(IdlePlaces, WorkThatWasQueuedDoesNotWaitForTheHost)
{
    Program program;
    program.launch(100, kFirst);
    program.work.push_back(
        {.start = instant(150), .end = instant(160), .launched = instant(105), .thread = kMain});
    program.work.push_back({.start = instant(170), .end = instant(180)});
    const IdleTime idle = program.idle();
    EXPECT_EQ(idle.queued, Nanoseconds(150 - 112));
    EXPECT_EQ(idle.unknown, Nanoseconds(10));
    EXPECT_EQ(sumOf(idle), idle.total);
    EXPECT_TRUE(idle.places.empty());
}

TEST(IdlePlaces, CallsAreExactAndTakeNoSamples)
{
    Program program;
    program.launch(100, kFirst).launch(1000, kSecond);
    program.calls = {{.start = instant(300), .end = instant(500), .thread = kMain, .name = 7},
                     {.start = instant(350), .end = instant(400), .thread = kMain, .name = 8}};
    program.sample(200, kLoad).sample(450, kLoad).sample(600, kLoad);
    const IdleTime idle = program.idle();
    EXPECT_THAT(idle.calls,
                ElementsAre(IdleCall{.place = 0, .name = 7, .time = Nanoseconds(200), .count = 1}));
    EXPECT_EQ(idle.hits.size(), 2U);
    EXPECT_EQ(idle.places[0].sampled, idle.places[0].host - Nanoseconds(200));
}

TEST(IdlePlaces, OnlyWindowsCount)
{
    Program program;
    program.launch(100, kFirst).launch(1000, kSecond).launch(2000, kFirst);
    const Interval windows[] = {{instant(200), instant(300)}, {instant(900), instant(1500)}};
    const IdleTime idle = program.idle(windows);
    EXPECT_EQ(idle.total, Nanoseconds(100 + (1002 - 900) + (1500 - 1012)));
    EXPECT_EQ(sumOf(idle), idle.total);
}

TEST(IdlePlaces, AWindowCountsBeforeTheFirstAndAfterTheLastWork)
{
    Program program;
    program.launch(100, kFirst).launch(200, kSecond).sample(50, kLoad).sample(250, kLoad);
    const Interval windows[] = {{instant(0), instant(300)}};
    const IdleTime idle = program.idle(windows);
    EXPECT_EQ(idle.total + idle.busy, Nanoseconds(300));
    EXPECT_EQ(sumOf(idle), idle.total);
    ASSERT_EQ(idle.places.size(), 3U);
    EXPECT_EQ(idle.places[0].before, kNoStack);
    EXPECT_EQ(idle.places[0].after, kFirst);
    EXPECT_EQ(idle.places[0].host, Nanoseconds(100));
    EXPECT_EQ(idle.places[2].before, kSecond);
    EXPECT_EQ(idle.places[2].after, kNoStack);
    EXPECT_EQ(idle.places[2].host, Nanoseconds(300 - 212));
    EXPECT_EQ(idle.hits.size(), 2U);
}

TEST(IdleShares, FewSamplesShareNothingOut)
{
    Program program;
    program.launch(100, kFirst).launch(10000, kSecond);
    const auto stackOf = [](const HostSample& sample) { return sample.stack; };
    for (int i = 1; i < kLeastSamples; ++i)
        program.sample(1000 + i, kLoad);
    const IdleShares few = sharesOf(program.idle(), kStacks, stackOf);
    EXPECT_TRUE(few.shares.empty());
    EXPECT_EQ(few.unresolved, program.idle().places[0].sampled);
    program.sample(5000, kFirst);
    const IdleShares enough = sharesOf(program.idle(), kStacks, stackOf);
    ASSERT_EQ(enough.shares.size(), 2U);
    EXPECT_EQ(enough.shares[0].samples, kLeastSamples - 1);
    EXPECT_NEAR(enough.shares[0].time, 0.9 * static_cast<double>(program.idle().places[0].sampled.count()),
                1);
    EXPECT_LT(enough.shares[0].interval.low, enough.shares[0].time);
    EXPECT_EQ(enough.unresolved, Nanoseconds(0));
}

/// Long and short calls between the same launches, of random lengths: the samples of all intervals share the time of the
/// place out without favouring either, and 92 to 98 % of the intervals hold the truth.
TEST(IdleShares, IntervalsHoldTheTruth)
{
    const unsigned seed = 20260;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto uniform = [&](double from, double to) {
        return std::uniform_real_distribution<>(from, to)(random);
    };
    int held = 0;
    int all = 0;
    double error = 0;
    for (int layout = 0; layout < 200; ++layout) {
        Program program;
        std::map<std::uint32_t, double> truth;
        struct Call {
            std::int64_t start, end;
            std::uint32_t stack;
        };
        std::vector<Call> calls;
        const double shortest = uniform(2e4, 2e5);
        const double longest = uniform(3e5, 3e6);
        std::int64_t time = 0;
        for (int step = 0; step < 300; ++step) {
            program.launch(time, kSecond);
            std::int64_t now = time + 12;
            for (const auto& [stack, length] : {std::pair{kLoad, uniform(0.3, 1.7) * longest},
                                                std::pair{kFirst, uniform(0.3, 1.7) * shortest}}) {
                const auto end = now + static_cast<std::int64_t>(length);
                calls.push_back({now, end, stack});
                truth[stack] += length;
                now = end;
            }
            time = now;
        }
        program.launch(time, kSecond);
        constexpr double kPeriod = 1e6;
        std::size_t call = 0;
        for (double sample = uniform(0, kPeriod); sample < static_cast<double>(time);
             sample += kPeriod * uniform(0.5, 1.5)) {
            const auto instant = static_cast<std::int64_t>(sample);
            while (call + 1 < calls.size() && calls[call].end <= instant)
                ++call;
            program.sample(instant, calls[call].stack);
        }
        const IdleShares shares =
            sharesOf(program.idle(), kStacks, [](const HostSample& each) { return each.stack; });
        for (const IdleShare& share : shares.shares) {
            ++all;
            held +=
                share.interval.low <= truth[share.value] && truth[share.value] <= share.interval.high ? 1 : 0;
            error += std::abs(share.time - truth[share.value]) / (truth[kLoad] + truth[kFirst]);
        }
    }
    ASSERT_GE(all, 380);
    EXPECT_LT(error / all, 0.03);
    EXPECT_GE(held, 0.92 * all);
    EXPECT_LE(held, 0.98 * all) << held << " of " << all;
}

TEST(HostCauses, FollowTheStackAndTheState)
{
    const std::vector<HostStack> stacks{{kNoStack, "train.py(1): step", 2},
                                        {0, "torch/optim/adamw.py(90): step", 91},
                                        {0, "torch/utils/data/dataloader.py(600): __next__", 601},
                                        {0, "torch/autograd/graph.py(820): _engine_run_backward", 829},
                                        {1, "train.py(40): closure", 41},
                                        {4, "torch/nn/modules/module.py(1739): _call_impl", 1750},
                                        {5, "model.py(9): forward", 12}};
    const HostCauses causes(stacks);
    const auto causeOf = [&](std::uint32_t stack, std::uint32_t state) {
        return causes.of({.stack = stack, .state = state});
    };
    EXPECT_EQ(causeOf(0, SampleState::kRan), HostCause::Python);
    EXPECT_EQ(causeOf(0, 0), HostCause::OffCore);
    EXPECT_EQ(causeOf(0, SampleState::kInCall), HostCause::CudaCalls);
    EXPECT_EQ(causeOf(1, SampleState::kRan), HostCause::Optimizer);
    EXPECT_EQ(causeOf(2, 0), HostCause::DataLoading);
    EXPECT_EQ(causeOf(3, 0), HostCause::Backward);
    EXPECT_EQ(causeOf(4, SampleState::kRan), HostCause::Optimizer);
    EXPECT_EQ(causeOf(6, SampleState::kRan), HostCause::Python) << "a closure evaluates the model";
}

TEST(HostStacks, TheProgramsLineIsTheInnermostThatIsNotALibrarys)
{
    const std::vector<HostStack> stacks{{kNoStack, "/usr/lib/python3.11/runpy.py(1): _run", 5},
                                        {0, "train.py(1): step", 2},
                                        {1, "torch/nn/modules/module.py(1739): _call_impl", 1750},
                                        {2, "model.py(9): forward", 12},
                                        {3, "torch/nn/functional.py(100): linear", 101}};
    EXPECT_THAT(programCalls(stacks), ElementsAre(0U, 1U, 1U, 3U, 3U));
    EXPECT_EQ(partsOf(stacks[3].function).file, "model.py");
    EXPECT_EQ(partsOf(stacks[3].function).name, "forward");
    EXPECT_EQ(commonCaller(stacks, 4, 2), 2U);
    EXPECT_EQ(commonCaller(stacks, 0, kNoStack), kNoStack);
}

} // namespace

} // namespace tilescope::analysis
