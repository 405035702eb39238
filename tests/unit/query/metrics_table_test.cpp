#include "core/query/kernels/metrics_table.h"

#include "core/base/error.h"
#include "core/model/metric.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/two_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilescope::query {
namespace {

constexpr std::int64_t kMicro = 1'000;
constexpr std::int64_t kLength = 100 * kMicro; // of a sample
constexpr const char* kGemm = "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT";
constexpr const char* kCopy = "Memset (Device)";

/// A step of 4 ms: a product from 0 to 2 ms, memsets of 10 us in a row from 2 to 3 ms, then nothing. Samples begin 50 us
/// before the step, so that none lies on a border.
class MetricsOf : public ::testing::Test {
protected:
    MetricsOf() { write(file_, {}); }

    static void write(const std::filesystem::path& file, const RunTopology& topology)
    {
        testing::FakeTrace trace;
        trace.step(0, 0, 4'000 * kMicro).range("step/forward", 0, 4'000 * kMicro);
        trace.kernel(kGemm, 0, 2'000 * kMicro).at("step/forward").launchedAt(0);
        for (int i = 0; i < 100; ++i)
            trace.memset(64, (2'000 + 10 * i) * kMicro, (2'010 + 10 * i) * kMicro);
        store::RunWriter writer(file, trace.strings());
        writer.beginRun({"prog", "trace", "{}", "h", "Tilescope test"});
        if (!topology.processes.empty())
            writer.writeTopology(topology);
        writer.writeEnvironment(
            std::vector<EnvironmentEntry>{{kMetricInterval, std::to_string(kLength), "ns"},
                                          {kMetricDramPeak, "4000000000000", "B/s"},
                                          {kMetricsRecorded, "2 metrics of GPU 0", ""}});
        writer.write(trace.batch());
        writer.writeCounterTracks(tracks());
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
    }

    /// SM active 90 in the product but for one hole, 20 in memsets, 0 afterwards; DRAM read 50 and 10.
    static std::vector<CounterTrack> tracks()
    {
        std::vector<CounterTrack> all;
        const auto add = [&](std::string_view name, std::int64_t inProduct, std::int64_t inMemset) {
            CounterTrack track{.name = std::string(name), .unit = "%", .device = DeviceIndex{0}};
            const auto end = [&](std::int64_t at) {
                track.end = timestampAt(at);
                all.push_back(track);
                track.points.clear();
            };
            for (int i = 0; i < 40; ++i) {
                const std::int64_t start = (i * 100 - 50) * kMicro;
                if (i == 7) { // the hole
                    end(start);
                    continue;
                }
                const std::int64_t value = i <= 20 ? inProduct : i <= 30 ? inMemset : 0;
                if (i <= 31) // nothing happens from here on: one long sample
                    track.points.push_back({timestampAt(start), value * 1000});
            }
            end(3'950 * kMicro);
        };
        add(kDramRead, 50, 10);
        add(kSmActive, 90, 20);
        add(kTensorActive, 70, 0);
        return all;
    }

    MetricsTable read(MetricsGroup group, std::optional<std::int32_t> step = {}) const
    {
        return metrics(store::RunReader(file_), {.step = step, .group = group});
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "a.tscope";
};

} // namespace

TEST_F(MetricsOf, AKernelAreTheSamplesInsideIt)
{
    const MetricsTable table = read(MetricsGroup::Kernel);
    ASSERT_EQ(table.metrics.size(), 3U);
    EXPECT_EQ(table.metrics[0].key, "sm_active") << "in the order of the list of metrics";
    EXPECT_EQ(table.metrics[1].key, "tensor_active");
    EXPECT_EQ(table.metrics[2].key, "dram_read");
    EXPECT_EQ(table.interval.count(), kLength);
    ASSERT_EQ(table.rows.size(), 2U);
    const MetricsRow& product = table.rows[0];
    EXPECT_EQ(product.kernel, kGemm);
    EXPECT_EQ(product.family, "matmul");
    EXPECT_EQ(product.instances, 1);
    EXPECT_EQ(product.time.count(), 2'000 * kMicro);
    // Of 19 samples that lie inside it, one is missing.
    EXPECT_EQ(product.values[0].n, 18);
    EXPECT_DOUBLE_EQ(product.values[0].mean.value(), 90);
    EXPECT_EQ(product.values[0].ci95, (analysis::ConfidenceInterval{90, 90}));
    EXPECT_FALSE(product.values[0].bytes) << "not a rate of bytes";
    EXPECT_DOUBLE_EQ(product.values[2].bytes.value(), 0.5 * 4e12 * 2e-3);
    EXPECT_NEAR(product.covered, 0.9, 1e-9);
    EXPECT_FALSE(product.opBytes) << "no op is recorded";
}

TEST_F(MetricsOf, ShortKernelsAreThoseOfTheirSeriesAndNullBelowTen)
{
    const MetricsRow memset = read(MetricsGroup::Kernel).rows[1];
    EXPECT_EQ(memset.kernel, kCopy);
    EXPECT_EQ(memset.instances, 100);
    EXPECT_EQ(memset.values[0].n, 9);
    EXPECT_FALSE(memset.values[0].mean);
    EXPECT_FALSE(memset.values[0].ci95);
    EXPECT_FALSE(memset.values[2].bytes);
}

TEST_F(MetricsOf, AFamilyAreThoseOfItsKernels)
{
    const MetricsTable table = read(MetricsGroup::Family);
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_EQ(table.rows[0].family, "matmul");
    EXPECT_EQ(table.rows[0].kernel, "");
    EXPECT_EQ(table.rows[0].values[0].n, 18);
    EXPECT_EQ(table.rows[1].family, "memset");
}

TEST_F(MetricsOf, AStepIncludesTheTimeInWhichNothingRuns)
{
    const MetricsTable table = read(MetricsGroup::Step);
    ASSERT_EQ(table.rows.size(), 1U);
    const MetricsRow& step = table.rows[0];
    EXPECT_EQ(step.step, 0);
    EXPECT_EQ(step.time.count(), 4'000 * kMicro);
    // 38 whole samples: 20 in the product but for the hole, 10 in memsets, 9 of the long one.
    EXPECT_EQ(step.values[0].n, 38);
    EXPECT_NEAR(step.values[0].mean.value(), (19 * 90 + 10 * 20) / 38.0, 1e-9);
    EXPECT_FALSE(read(MetricsGroup::Step, 5).rows.size() > 0);
}

TEST_F(MetricsOf, TellTheUseOfTensorCoresInTablesOfKernels)
{
    const KernelsTable table = kernels(store::RunReader(file_), {.work = true});
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_DOUBLE_EQ(table.rows[0].tensorActive.value(), 70);
    EXPECT_FALSE(table.rows[1].tensorActive) << "too few samples";
    EXPECT_EQ(table.whyNoTensor, "");
    EXPECT_FALSE(
        kernels(store::RunReader(file_), {.range = "step/forward", .work = true}).rows[0].tensorActive)
        << "samples are of no place";
}

// Metrics are of a device, whichever process uses it.
TEST_F(MetricsOf, ARankAreThoseOfItsDevice)
{
    const RunTopology topology = testing::twoRanks(7);
    const std::filesystem::path file = folder_ / "ranks.tscope";
    write(file, topology);
    const store::RunReader reader(file);
    const MetricsTable first = metrics(reader, {.topology = {.rank = 0}, .group = MetricsGroup::Family});
    ASSERT_EQ(first.rows.size(), 2U);
    EXPECT_EQ(first.rows[0].values[0].n, 18);
    EXPECT_DOUBLE_EQ(first.rows[0].values[0].mean.value(), 90);
    EXPECT_TRUE(metrics(reader, {.topology = {.rank = 1}, .group = MetricsGroup::Family}).rows.empty());
}

TEST_F(MetricsOf, AStepLimitsKernels)
{
    EXPECT_EQ(read(MetricsGroup::Kernel, 0).rows.size(), 2U);
    EXPECT_TRUE(read(MetricsGroup::Kernel, 3).rows.empty());
}

TEST(Metrics, ARunWithoutThemHasNone)
{
    const testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "a.tscope";
    {
        testing::FakeTrace trace;
        trace.step(0, 0, 100).kernel(kGemm, 10, 20);
        store::RunWriter writer(file, trace.strings());
        writer.beginRun({"prog", "trace", "{}", "h", "Tilescope test"});
        writer.write(trace.batch());
        const CounterTrack power{.name = "Power",
                                 .unit = "W",
                                 .device = DeviceIndex{0},
                                 .end = timestampAt(90),
                                 .points = {{timestampAt(1), 5}}};
        writer.writeCounterTracks(std::array{power});
        writer.endRun({});
    }
    const MetricsTable table = metrics(store::RunReader(file), {});
    EXPECT_TRUE(table.rows.empty());
    EXPECT_TRUE(table.metrics.empty()) << "a counter is none";
    EXPECT_EQ(table.recorded, "");
    EXPECT_THROW(metricsGroupOf("op"), Error);
    EXPECT_EQ(metricsGroupOf("step"), MetricsGroup::Step);
}

} // namespace tilescope::query
