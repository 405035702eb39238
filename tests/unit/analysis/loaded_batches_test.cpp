#include "core/analysis/path/loaded_batches.h"

#include "core/analysis/path/launch_lag.h"
#include "core/analysis/steps/start_cause.h"
#include "core/analysis/time/data_loading.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {
namespace {

using namespace tilescope::literals;

constexpr std::int64_t kMicrosecond = 1'000;

Interval micros(std::int64_t start, std::int64_t end)
{
    return {Timestamp(Nanoseconds(start * kMicrosecond)), Timestamp(Nanoseconds(end * kMicrosecond))};
}

TEST(LoadedBatches, ArrivalsOfLateBatchesShowHowLongOneTakes)
{
    const std::vector<Interval> taken{micros(0, 30), micros(1'000, 1'530), micros(2'000, 3'530),
                                      micros(4'000, 5'530)};
    const auto batches = loadedBatches(taken);
    ASSERT_EQ(batches.size(), 4U);
    EXPECT_FALSE(batches[0]) << "when it was begun is unknown";
    ASSERT_TRUE(batches[3]);
    EXPECT_TRUE(batches[3]->isLate);
    EXPECT_EQ(batches[3]->loading, micros(3'500, 5'500))
        << "from the batch before until the thread could go on";
    ASSERT_TRUE(batches[1]);
    EXPECT_EQ(batches[1]->loading, micros(-500, 1'500)) << "the usual time";
}

TEST(LoadedBatches, ABatchThatIsReadyTookTheUsualTime)
{
    const std::vector<Interval> taken{micros(0, 1'000), micros(2'000, 2'500), micros(10'000, 10'030)};
    const auto batches = loadedBatches(taken);
    ASSERT_TRUE(batches[2]);
    EXPECT_FALSE(batches[2]->isLate);
    EXPECT_EQ(batches[2]->loading, micros(2'470, 3'970));
}

TEST(LoadedBatches, ABatchThatTakesLongerThanUsualIsLoadedWhileTheThreadWaits)
{
    const std::vector<Interval> taken{micros(0, 30), micros(1'000, 1'530), micros(2'000, 2'530),
                                      micros(3'000, 3'030), micros(10'000, 13'030)};
    const auto batches = loadedBatches(taken);
    ASSERT_TRUE(batches[4]);
    EXPECT_EQ(batches[4]->loading, micros(10'000, 13'000)) << "usually 1 ms";
}

TEST(LoadedBatches, WhereNoBatchWasReadyAllAreWaitedFor)
{
    const std::vector<Interval> taken{micros(0, 2'500), micros(4'600, 4'845), micros(7'000, 7'363),
                                      micros(9'500, 9'712)};
    const auto batches = loadedBatches(taken);
    for (std::size_t i = 1; i < taken.size(); ++i) {
        ASSERT_TRUE(batches[i]) << i;
        EXPECT_TRUE(batches[i]->isLate) << i;
        EXPECT_EQ(batches[i]->loading.start, batches[i - 1]->loading.end) << i;
    }
}

TEST(LoadedBatches, OtherPartsOfARecordingTellHowLongAReadyBatchTakes)
{
    const std::vector<Interval> taken{micros(0, 5'000), micros(6'000, 6'151), micros(12'000, 12'226)};
    EXPECT_FALSE(loadedBatches(taken)[1]) << "151 µs may be the time of a batch that is ready";
    const auto batches = loadedBatches(taken, Nanoseconds(29 * kMicrosecond));
    ASSERT_TRUE(batches[1]);
    EXPECT_TRUE(batches[1]->isLate);
}

TEST(LoadedBatches, ATimeThatIsLongForAReadyBatchIsAWaitWhereverItIsTheShortest)
{
    const std::vector<Interval> taken{micros(0, 1'850), micros(2'700, 2'955), micros(4'200, 4'545),
                                      micros(5'700, 5'970)};
    const auto batches = loadedBatches(taken);
    for (std::size_t i = 1; i < taken.size(); ++i) {
        ASSERT_TRUE(batches[i]) << i;
        EXPECT_TRUE(batches[i]->isLate) << i;
    }
    EXPECT_EQ(batches[0]->loading.start, taken[0].start) << "the processes also start";
}

TEST(LoadedBatches, WithoutWaitsNothingIsKnown)
{
    const std::vector<Interval> taken{micros(0, 30), micros(1'000, 1'040), micros(2'000, 2'030)};
    for (const auto& batch : loadedBatches(taken))
        EXPECT_FALSE(batch);
    EXPECT_TRUE(loadedBatches({}).empty());
}

DeviceEvent kernelFrom(std::int64_t launched, std::int64_t start, std::int64_t end)
{
    DeviceEvent event;
    event.launched = Timestamp(Nanoseconds(launched));
    event.start = Timestamp(Nanoseconds(start));
    event.end = Timestamp(Nanoseconds(end));
    return event;
}

TEST(LaunchLag, IsReadFromKernelsThatWaitedForTheirLaunch)
{
    LaunchLag lag;
    std::int64_t time = 1'000'000;
    for (int i = 0; i < 40; ++i) { // launched far ahead: they follow each other
        lag.add({}, kernelFrom(time - 500'000, time, time + 20'000));
        time += 21'000;
    }
    EXPECT_EQ(lag.usual().gap, 1'000_ns);
    EXPECT_FALSE(lag.usual().launch) << "none waited for its launch";
    for (int i = 0; i < 5; ++i) {
        time += 100'000;
        lag.add({}, kernelFrom(time - 8'000, time, time + 20'000));
    }
    EXPECT_EQ(lag.usual().launch, 8'000_ns);
}

TEST(StartCause, IsKnownByName)
{
    EXPECT_EQ(startCauseOf("cuModuleLoadData"), StartCause::ModuleLoading);
    EXPECT_EQ(startCauseOf("_compile.compile_inner (dynamo_timed)"), StartCause::Compilation);
    EXPECT_EQ(startCauseOf("Torch-Compiled Region: 0/0"), kNoStartCause) << "runs in every step";
    EXPECT_EQ(startCauseOf("cudaFree"), kNoStartCause);
    EXPECT_EQ(startCauseOf("cudaFree", true), StartCause::Initialisation) << "the first call";
    EXPECT_EQ(startCauseOf("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"),
              StartCause::DataLoading);
}

TEST(LoadsData, IsSaidByTheName)
{
    for (const char* name : {"data", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                             "torch/utils/data/dataloader.py(733): __next__", "next_batch"})
        EXPECT_TRUE(loadsData(name)) << name;
    for (const char* name : {"metadata", "data_parallel", "forward"})
        EXPECT_FALSE(loadsData(name)) << name;
}

} // namespace
} // namespace tilescope::analysis
