// Advice by what was sampled of the GPU: metrics, instructions, clocks.

#include "core/model/counter_track.h"
#include "core/model/kernel_samples.h"
#include "core/model/metric.h"
#include "core/query/advice/advice_table.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/kernels/metrics_table.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::query {
namespace {

using analysis::AdviceRule;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kMicros = 1'000;
constexpr std::int64_t kSampleLength = 100 * kMicros;
constexpr std::int64_t kLengthOfKernel = 3'000 * kMicros;
constexpr double kPeakBytes = 4e12; // B/s
constexpr const char* kProduct = "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT";
constexpr const char* kNorm = "layer_norm_kernel";

/// A step of 4 ms with one kernel of 3 ms at its beginning.
class HardwareAdvice : public ::testing::Test {
protected:
    struct Metrics {
        double tensor = 0; ///< %
        double dramRead = 0;
        double dramWrite = 0;
        double clock = 0; ///< Hz; 0: not sampled
    };
    struct Samples {
        std::string reason;
        std::int64_t unissued = 0; ///< of 100, with that reason
    };
    struct Slow {
        std::int64_t from = 0; ///< ns: the GPU reports a power cap
        std::int64_t to = 0;
    };
    struct Recorded {
        const char* kernel = kProduct;
        std::string shapes = {}; ///< of its op; empty: no op
        std::optional<Metrics> metrics = {};
        std::optional<Samples> samples = {};
        std::optional<Slow> slow = {}; ///< from 2 to 1.5 GHz; none: no clocks
    };

    AdviceTable adviceOf(const Recorded& recorded)
    {
        write(recorded);
        return advice(store::RunReader(file_), {});
    }

    void write(const Recorded& recorded)
    {
        std::filesystem::remove(file_);
        testing::FakeTrace trace;
        trace.step(0, 0, 4'000 * kMicros).range("step/forward", 0, 4'000 * kMicros);
        if (!recorded.shapes.empty())
            trace.op("aten::add", 0, 10 * kMicros).at("step/forward").shaped(recorded.shapes);
        trace.kernel(recorded.kernel, 0, kLengthOfKernel).at("step/forward").launchedAt(0);
        if (!recorded.shapes.empty())
            trace.by(trace.lastOp());
        TraceBatch batch = trace.batch();
        batch.deviceEvents.back().launch.grid = {4096, 1, 1};
        batch.deviceEvents.back().launch.block = {256, 1, 1};
        batch.deviceEvents.back().launch.registersPerThread = 32;
        store::RunWriter writer(file_, trace.strings());
        writer.beginRun({"prog", "trace", "{}", "h", "Tilescope test"});
        std::vector<EnvironmentEntry> facts{{"gpu.0.name", "NVIDIA H200", ""},
                                            {"gpu.name", "NVIDIA H200", ""},
                                            {"gpu.0.compute_capability", "9.0", ""},
                                            {"gpu.0.multiprocessors", "132", ""}};
        if (recorded.metrics) {
            facts.push_back({kMetricInterval, std::to_string(kSampleLength), "ns"});
            facts.push_back({kMetricDramPeak, std::to_string(std::int64_t(kPeakBytes)), "B/s"});
        }
        writer.writeEnvironment(facts);
        writer.write(batch);
        std::vector<CounterTrack> tracks;
        if (recorded.metrics) {
            tracks.push_back(metricTrack(kTensorActive, recorded.metrics->tensor));
            tracks.push_back(metricTrack(kDramRead, recorded.metrics->dramRead));
            tracks.push_back(metricTrack(kDramWrite, recorded.metrics->dramWrite));
            if (recorded.metrics->clock > 0)
                tracks.push_back(metricTrack(kGpcClock, recorded.metrics->clock));
        }
        if (recorded.slow) {
            const auto [from, to] = *recorded.slow;
            tracks.push_back(steps(kPowerCapCounter, "%", {{-kMicros, 0}, {from, 100}, {to, 0}}));
            tracks.push_back(steps("SM clock", "Hz", {{-kMicros, 2e9}, {from, 1.5e9}, {to, 2e9}}));
        }
        writer.writeCounterTracks(tracks);
        if (recorded.samples)
            writer.writeKernelSamples(kernelSamples(recorded));
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
    }

    static CounterTrack steps(std::string_view name, std::string_view unit,
                              const std::vector<std::pair<std::int64_t, double>>& values)
    {
        CounterTrack track{.name = std::string(name), .unit = std::string(unit), .device = DeviceIndex{0}};
        for (const auto& [time, value] : values)
            track.points.push_back({timestampAt(time), std::int64_t(value * kPartsOfCounterUnit)});
        track.end = timestampAt(4'000 * kMicros);
        return track;
    }

    static CounterTrack metricTrack(std::string_view name, double value)
    {
        std::vector<std::pair<std::int64_t, double>> values;
        for (std::int64_t at = 0; at < kLengthOfKernel; at += kSampleLength)
            values.emplace_back(at, value);
        CounterTrack track = steps(name, "%", values);
        track.end = timestampAt(kLengthOfKernel);
        return track;
    }

    /// 100 samples, of which some are at line 7 with the reason, and the others issue.
    static KernelSamples kernelSamples(const Recorded& recorded)
    {
        KernelSamples samples;
        samples.kernels = {{.device = DeviceIndex{0}, .name = recorded.kernel, .symbol = "k", .cubin = 1}};
        samples.instructions = {{.kernel = 0, .offset = 16, .line = {"/src/norm.py", 7}},
                                {.kernel = 0, .offset = 32, .line = {"/src/norm.py", 9}}};
        samples.reasons = {recorded.samples->reason, "selected"};
        const std::int64_t stalled = recorded.samples->unissued;
        samples.stalls = {{.instruction = 0, .reason = 0, .samples = stalled, .unissued = stalled},
                          {.instruction = 1, .reason = 1, .samples = 100 - stalled, .unissued = 0}};
        return samples;
    }

    static std::optional<Advice> find(const AdviceTable& table, AdviceRule rule)
    {
        const auto found = std::ranges::find(table.rows, rule, &Advice::rule);
        if (found == table.rows.end())
            return {};
        Nanoseconds sum{0};
        for (const AdviceEvidence& row : found->evidence)
            sum += row.atStake;
        EXPECT_EQ(sum, found->atStake);
        EXPECT_FALSE(found->bound.empty());
        EXPECT_FALSE(found->remedy.empty());
        EXPECT_FALSE(found->command.empty());
        return *found;
    }
    static bool isSilent(const AdviceTable& table, AdviceRule rule)
    {
        return std::ranges::find(table.silent, rule) != table.silent.end();
    }
    static std::string whyNot(const AdviceTable& table, AdviceRule rule)
    {
        const auto found = std::ranges::find(table.unjudged, rule, &UnjudgedRule::rule);
        return found == table.unjudged.end() ? std::string() : found->why;
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "a.tscope";
};

} // namespace

TEST_F(HardwareAdvice, NamesWhatProductsWaitForWhileTheirTensorPipeIsIdle)
{
    const AdviceTable table = adviceOf({.metrics = Metrics{.tensor = 40, .dramRead = 10, .dramWrite = 5},
                                        .samples = Samples{"barrier", 60}});
    const auto found = find(table, AdviceRule::IdleTensorPipe);
    ASSERT_TRUE(found);
    EXPECT_NEAR(double(found->atStake.count()), 0.6 * kLengthOfKernel, 10);
    EXPECT_THAT(found->sentence, AllOf(HasSubstr("it works 40.0 % of the time"),
                                       HasSubstr("by barrier at norm.py:7: waits at a barrier")));
    EXPECT_THAT(found->evidence.front().note, HasSubstr("tensor pipe active 40.0 %, barrier at norm.py:7"));
    EXPECT_THAT(found->command, HasSubstr(" inside --run 1 --kernel "));
}

TEST_F(HardwareAdvice, AsksForSamplesWhereOnlyTheTensorPipeIsKnown)
{
    const auto found =
        find(adviceOf({.metrics = Metrics{.tensor = 40, .dramRead = 10}}), AdviceRule::IdleTensorPipe);
    ASSERT_TRUE(found);
    EXPECT_THAT(found->remedy, HasSubstr("Record with --inside as well"));
}

TEST_F(HardwareAdvice, IsSilentOnTensorPipesThatWorkOrAreNotNeeded)
{
    constexpr AdviceRule kRule = AdviceRule::IdleTensorPipe;
    EXPECT_TRUE(isSilent(adviceOf({.metrics = Metrics{.tensor = 93}}), kRule)) << "it works";
    EXPECT_TRUE(isSilent(adviceOf({.metrics = Metrics{.tensor = 0}}), kRule)) << "a product without it";
    EXPECT_TRUE(isSilent(adviceOf({.metrics = Metrics{.tensor = 10, .dramRead = 70}}), kRule))
        << "device memory is the limit";
    EXPECT_TRUE(isSilent(adviceOf({.kernel = kNorm, .metrics = Metrics{.tensor = 40}}), kRule))
        << "no product";
    EXPECT_THAT(whyNot(adviceOf({}), kRule), HasSubstr("record --metrics"));
}

TEST_F(HardwareAdvice, ComparesBytesOfDeviceMemoryWithThoseOfTheOp)
{
    const double moved = 0.6 * kPeakBytes * 3e-3;
    const double needed = 3 * 2.0 * 1024 * 1024; // two operands and a result
    const Metrics metrics{.dramRead = 50, .dramWrite = 10};
    const auto found =
        find(adviceOf({.kernel = kNorm, .shapes = "bf16[1024, 1024] bf16[1024, 1024]", .metrics = metrics}),
             AdviceRule::ExcessTraffic);
    ASSERT_TRUE(found);
    EXPECT_NEAR(double(found->atStake.count()), 0.6 * (1 - needed / moved) * kLengthOfKernel, 10);
    EXPECT_THAT(found->sentence, HasSubstr("instead of 6.00 MiB"));
    EXPECT_TRUE(isSilent(
        adviceOf({.kernel = kNorm, .shapes = "bf16[36000, 36000] bf16[36000, 36000]", .metrics = metrics}),
        AdviceRule::ExcessTraffic))
        << "the op needs them";
    EXPECT_THAT(whyNot(adviceOf({.kernel = kNorm, .metrics = metrics}), AdviceRule::ExcessTraffic),
                HasSubstr("shapes"));
}

TEST_F(HardwareAdvice, NamesKernelsWithManyWarpsThatIssueLittle)
{
    const Samples barrier{"barrier", 80};
    const auto found =
        find(adviceOf({.kernel = kNorm, .metrics = Metrics{.dramRead = 10}, .samples = barrier}),
             AdviceRule::LowIssue);
    ASSERT_TRUE(found);
    EXPECT_NEAR(double(found->atStake.count()), (1 - 0.2 / 0.5) * kLengthOfKernel, 10);
    EXPECT_THAT(found->sentence, AllOf(HasSubstr("20.0 % used"), HasSubstr("barrier at norm.py:7")));
    EXPECT_TRUE(find(adviceOf({.kernel = kNorm, .samples = barrier}), AdviceRule::LowIssue))
        << "a barrier is no limit of the hardware";
}

TEST_F(HardwareAdvice, IsSilentOnKernelsThatDeviceMemoryLimits)
{
    constexpr AdviceRule kRule = AdviceRule::LowIssue;
    const Samples loads{"long_scoreboard", 90};
    EXPECT_TRUE(
        isSilent(adviceOf({.kernel = kNorm, .metrics = Metrics{.dramRead = 80}, .samples = loads}), kRule));
    EXPECT_TRUE(isSilent(adviceOf({.kernel = kNorm, .samples = loads}), kRule)) << "it may be the limit";
    EXPECT_TRUE(isSilent(adviceOf({.kernel = kNorm, .samples = Samples{"barrier", 30}}), kRule))
        << "most slots are used";
    EXPECT_TRUE(isSilent(adviceOf({.samples = Samples{"barrier", 80}}), kRule)) << "products need few warps";
    EXPECT_THAT(whyNot(adviceOf({}), kRule), HasSubstr("record --inside"));
}

TEST_F(HardwareAdvice, ComparesReducedClocksWithTheHighest)
{
    const auto found =
        find(adviceOf({.slow = Slow{1'000 * kMicros, 2'000 * kMicros}}), AdviceRule::ReducedClocks);
    ASSERT_TRUE(found);
    EXPECT_NEAR(double(found->atStake.count()), 0.25 * 1'000 * kMicros, 10);
    EXPECT_THAT(found->sentence, HasSubstr("power cap, 1.50 of 2.00 GHz"));
    EXPECT_TRUE(
        isSilent(adviceOf({.slow = Slow{3'500 * kMicros, 4'000 * kMicros}}), AdviceRule::ReducedClocks))
        << "no kernel runs then";
    EXPECT_THAT(whyNot(adviceOf({}), AdviceRule::ReducedClocks), HasSubstr("not recorded"));
}

// What the roofline shows beside the work of ops.
TEST_F(HardwareAdvice, KernelsHaveTheRateOfTheirTensorPipeAndTheBytesOfDeviceMemory)
{
    write({.shapes = "bf16[1024, 1024] bf16[1024, 1024]",
           .metrics = Metrics{.tensor = 40, .dramRead = 50, .dramWrite = 10}});
    const store::RunReader reader(file_);
    const MetricsTable sampled = metrics(reader, {});
    ASSERT_EQ(sampled.rows.size(), 1U);
    EXPECT_NEAR(sampled.rows[0].dramBytes.value(), 0.6 * kPeakBytes * 3e-3, 1e3);
    EXPECT_EQ(sampled.rows[0].opBytes, 3 * 2 * 1024 * 1024);
    const KernelsTable table = kernels(reader, {.work = true});
    ASSERT_EQ(table.rows.size(), 1U);
    ASSERT_TRUE(table.ceilings.sheet.flops) << table.ceilings.sheetFrom;
    EXPECT_NEAR(table.rows[0].tensorRate.value(), 0.4 * *table.ceilings.sheet.flops, 1e6);
    EXPECT_EQ(table.rows[0].dramBytes, sampled.rows[0].dramBytes);
    EXPECT_EQ(metrics(reader, {.group = MetricsGroup::Step}).rows[0].tensorRate, std::nullopt);
}

// 132 multiprocessors of an H200 with 4,096 FLOP in bf16 a cycle each.
TEST_F(HardwareAdvice, TheRateOfTheTensorPipeIsThatAtTheSampledClock)
{
    write({.shapes = "bf16[1024, 1024] bf16[1024, 1024]",
           .metrics = Metrics{.tensor = 40, .dramRead = 50, .dramWrite = 10, .clock = 1.5e9}});
    const MetricsTable sampled = metrics(store::RunReader(file_), {});
    ASSERT_EQ(sampled.rows.size(), 1U);
    EXPECT_NEAR(sampled.rows[0].tensorRate.value(), 0.4 * 132 * 4096 * 1.5e9, 1e11);
}

} // namespace tilescope::query
