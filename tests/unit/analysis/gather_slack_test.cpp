#include "core/analysis/ranks/gather_slack.h"

#include "core/model/strings.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;

/// One rank with a compute stream 7 and a gather on stream 22.
class Rank {
public:
    Rank& gather(const std::string& path, std::int64_t start, std::int64_t end)
    {
        gathers_.push_back({.device = DeviceIndex{0},
                            .stream = StreamId{22},
                            .correlation = CorrelationId{++correlation_},
                            .path = strings_.intern(path),
                            .step = 0,
                            .start = timestampAt(start),
                            .end = timestampAt(end)});
        return *this;
    }
    Rank& kernel(const std::string& path, std::int64_t start, std::int64_t end, std::int64_t launched = 0)
    {
        work_.push_back({.device = DeviceIndex{0},
                         .stream = StreamId{7},
                         .correlation = CorrelationId{++correlation_},
                         .path = strings_.intern(path),
                         .step = 0,
                         .launched = timestampAt(launched),
                         .start = timestampAt(start),
                         .end = timestampAt(end)});
        return *this;
    }
    /// The compute stream waits for what the gather's stream was given so far.
    Rank& wait()
    {
        Wait wait;
        wait.kind = WaitKind::StreamWait;
        wait.device = DeviceIndex{0};
        wait.stream = StreamId{7};
        wait.waitedFor = StreamId{22};
        wait.recordCorrelation = CorrelationId{++correlation_};
        wait.correlation = CorrelationId{++correlation_};
        waits_.push_back(wait);
        return *this;
    }
    std::vector<std::optional<GatherSlack>> slacks() const
    {
        return slackOfGathers(gathers_, work_, waits_, [this](StringId id) { return strings_.text(id); });
    }

private:
    StringTable strings_;
    std::uint32_t correlation_ = 0;
    std::vector<Gather> gathers_;
    std::vector<DependentWork> work_;
    std::vector<Wait> waits_;
};

} // namespace

TEST(GatherSlack, IsUpToTheFirstKernelBehindTheWait)
{
    // The gather of layer 1 is started before the work of layer 0, which hides it.
    const auto slacks = Rank()
                            .gather("step/forward/layers.0", 0, 100)
                            .kernel("step/forward/layers.0", 110, 400)
                            .wait()
                            .kernel("step/forward/layers.1", 400, 500)
                            .slacks();
    ASSERT_EQ(slacks.size(), 1U);
    ASSERT_TRUE(slacks[0]);
    EXPECT_EQ(slacks[0]->rule, SlackRule::StreamOrder);
    EXPECT_EQ(slacks[0]->work, 1U);
    EXPECT_EQ(slacks[0]->slack, 300_ns);
    EXPECT_EQ(slacks[0]->stall, 0_ns) << "it ended before it was needed";
}

TEST(GatherSlack, TellsHowLongTheStreamStoodStill)
{
    const auto slacks = Rank()
                            .kernel("step/forward/layers.0", 0, 40)
                            .gather("step/forward/layers.1", 10, 100)
                            .wait()
                            .kernel("step/forward/layers.1", 103, 200, 30)
                            .slacks();
    ASSERT_TRUE(slacks[0]);
    EXPECT_EQ(slacks[0]->slack, 3_ns);
    EXPECT_EQ(slacks[0]->stall, 60_ns) << "from the end of the kernel before to the end of the gather";
}

TEST(GatherSlack, IsNoStallWhileTheHostHasNotLaunchedTheKernel)
{
    const auto slacks = Rank()
                            .gather("step/forward/layers.1", 10, 100)
                            .wait()
                            .kernel("step/forward/layers.1", 150, 200, 140)
                            .slacks();
    ASSERT_TRUE(slacks[0]);
    EXPECT_EQ(slacks[0]->slack, 50_ns);
    EXPECT_EQ(slacks[0]->stall, 0_ns);
}

TEST(GatherSlack, WithoutRecordedWaitsIsUpToTheModule)
{
    const auto slacks = Rank()
                            .gather("step/forward/layers.1", 10, 100)
                            .kernel("step/forward/layers.0", 100, 120)
                            .kernel("step/forward/layers.10", 120, 130)
                            .kernel("step/forward/layers.1/attention", 130, 200)
                            .slacks();
    ASSERT_TRUE(slacks[0]);
    EXPECT_EQ(slacks[0]->rule, SlackRule::Module);
    EXPECT_EQ(slacks[0]->work, 2U);
    EXPECT_EQ(slacks[0]->slack, 30_ns);
}

TEST(GatherSlack, KnowsTheAnnotationsOfFsdp)
{
    const std::string gather =
        "step/forward/FSDP::pre_forward (b.1)/FSDP::all_gather (b.1)/nccl:_all_gather_base";
    const auto slacks =
        Rank()
            .gather(gather, 10, 100)
            .kernel("step/forward/FSDP::pre_forward (b.1)", 100, 110)
            .kernel("step/forward/FSDP::pre_forward (b.2)/FSDP::all_gather_copy_out (b.2)", 110, 120)
            .kernel("step/forward/FSDP::pre_forward (b.1)/FSDP::all_gather_copy_out (b.1)", 120, 130)
            .gather("step/forward/FSDP::all_gather", 200, 300)
            .kernel("step/forward/FSDP::all_gather_copy_out", 310, 320)
            .slacks();
    ASSERT_TRUE(slacks[0]);
    EXPECT_EQ(slacks[0]->work, 2U);
    ASSERT_TRUE(slacks[1]);
    EXPECT_EQ(slacks[1]->work, 3U);
    EXPECT_EQ(slacks[1]->slack, 10_ns);
}

TEST(GatherSlack, IsUnknownWhereNothingTellsWhoNeedsTheGather)
{
    const auto slacks = Rank()
                            .kernel("step/forward/layers.1", 0, 5)
                            .gather("step/forward/layers.1", 10, 100)
                            .kernel("step/forward/layers.2", 110, 120)
                            .gather("step/forward", 200, 300)
                            .kernel("step/forward", 310, 320)
                            .slacks();
    EXPECT_FALSE(slacks[0]);
    EXPECT_FALSE(slacks[1]);
}

} // namespace tilescope::analysis
