#include "core/trace/counters/counter_reader.h"
#include "tests/unit/trace/cupti_pipeline.h"

#include <gmock/gmock.h>

namespace tilescope::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A range profiler without a GPU: every kernel took 1 ns and read 10 bytes more than the one before.
class FakeCounters final : public CounterApi {
public:
    std::string open(const std::vector<std::string>& wanted, std::size_t count) override
    {
        metrics = wanted;
        kernels = count;
        ++opened;
        return refusal;
    }
    std::string beginPass() override
    {
        ++passes;
        return {};
    }
    std::string endPass(bool& complete) override
    {
        complete = passes == needed;
        return {};
    }
    std::string read(std::vector<std::vector<double>>& values) override
    {
        for (std::size_t i = 0; i < kernels + surplus; ++i) {
            values.emplace_back(metrics.size(), 10.0 * static_cast<double>(i + 1));
            values.back()[0] = 1;
        }
        return {};
    }
    void close() override { --opened; }

    std::vector<std::string> metrics;
    std::size_t kernels = 0;
    std::size_t surplus = 0;
    std::string refusal;
    int needed = 1;
    int passes = 0;
    int opened = 0;
};

class CounterReader : public CuptiPipeline {
protected:
    CounterReading read(TraceLevel level = TraceLevel::Kernels)
    {
        Tracer tracer(options(level), strings, sink, cupti);
        const std::vector<std::string> names = {"dram_read"};
        return readCounters(
            names, tracer,
            [&] {
                ++steps;
                const ScopedRange step("step");
                for (const char* phase : {"forward", "backward"}) {
                    const ScopedRange range(phase);
                    cupti.launch();
                    cupti.call("cudaMemsetAsync"); // no kernel
                    cupti.call("cudaLaunchKernelExC");
                }
            },
            counters);
    }
    FakeCounters counters;
    int steps = 0;
};

TEST_F(CounterReader, KernelsCountForTheRangesThatLaunchThemInOrder)
{
    counters.needed = 2;
    const CounterReading reading = read();
    EXPECT_EQ(reading.whyNot, "");
    EXPECT_EQ(steps, 3) << "one that records the launches, and one for each pass";
    EXPECT_EQ(counters.kernels, 4U);
    EXPECT_EQ(counters.opened, 0);
    ASSERT_THAT(reading.values, SizeIs(3));
    EXPECT_EQ(reading.values[0], (CounterValue{"step", "dram_read", 100, "B", 1, 2}));
    EXPECT_EQ(reading.values[1], (CounterValue{"step/backward", "dram_read", 70, "B", 1, 2}));
    EXPECT_EQ(reading.values[2], (CounterValue{"step/forward", "dram_read", 30, "B", 1, 2}));
    EXPECT_TRUE(sink.all.empty()) << "counters are not events";
    EXPECT_FALSE(cupti.subscribed());
}

TEST_F(CounterReader, FullTracesListALaunchOnceToo)
{
    EXPECT_EQ(read(TraceLevel::Full).whyNot, "");
    EXPECT_EQ(counters.kernels, 4U);
}

TEST_F(CounterReader, ReportsARefusalAndLeavesNothingOpen)
{
    counters.refusal = "the driver lets only administrators read hardware counters";
    const CounterReading reading = read();
    EXPECT_EQ(reading.whyNot, counters.refusal);
    EXPECT_THAT(reading.values, IsEmpty());
    EXPECT_EQ(counters.opened, 0);
}

TEST_F(CounterReader, KernelsThatDoNotMatchTheirLaunchesAreNotGuessed)
{
    counters.surplus = 1;
    const CounterReading reading = read();
    EXPECT_THAT(reading.whyNot, HasSubstr("5 kernels"));
    EXPECT_THAT(reading.values, IsEmpty());
}

TEST_F(CounterReader, ARivalKeepsCountersFromBeingRead)
{
    cupti.subscribeResult = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    cupti.rivalName = "Nsight Systems";
    EXPECT_THAT(read().whyNot, HasSubstr("Nsight Systems"));
    EXPECT_EQ(counters.passes, 0);
}

} // namespace
} // namespace tilescope::trace
