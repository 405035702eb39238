// Replays of CUDA graphs as wholes.

#include "core/trace/cupti/activity_decoder.h"
#include "core/trace/cupti/cupti_session.h"
#include "core/trace/host/host_log.h"
#include "tests/support/fake_cupti.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::trace {

namespace {

using ::testing::Contains;

class WholeGraphs : public ::testing::Test {
protected:
    WholeGraphs()
    {
        assembler_.begin();
        EXPECT_EQ(session_.recordGraphsAsWholes(), "");
    }
    ~WholeGraphs() override { HostLogs::instance().stop(); }

    void start()
    {
        HostLogs::instance().startWithin("step", 1 << 10, 2);
        EXPECT_EQ(session_.start(TraceLevel::Kernels), "");
    }
    void stop()
    {
        Losses losses;
        session_.stop(losses);
        HostLogs::instance().stop();
    }
    void replay(int times)
    {
        for (int i = 0; i < times; ++i)
            cupti_.replay(cupti_.call("cudaGraphLaunch"), kGraph);
    }
    std::vector<DeviceEvent> events()
    {
        cupti_.flush(true);
        while (const auto buffer = session_.buffers().take()) {
            HostLogs::instance().drain([this](const ThreadLog& log, const HostRecord& record) {
                assembler_.addHost(log.thread(), record);
            });
            decoder_.decode(*buffer, assembler_);
            session_.buffers().giveBack(*buffer);
        }
        return assembler_.take().deviceEvents;
    }

    static constexpr std::uint32_t kGraph = 2;

    FakeCupti cupti_;
    StringTable strings_;
    Assembler assembler_{strings_, 0, 0};
    ActivityDecoder decoder_{cupti_, strings_};
    CuptiSession session_{cupti_, 16, 1 << 16};
};

TEST_F(WholeGraphs, AReplayIsOneActivityOfItsLaunch)
{
    start();
    cupti_.makeGraph(kGraph, {{.id = 1, .kind = GraphNodeFacts::Kind::Kernel, .kernel = "gemm"}});
    const auto made = session_.takeGraphs();
    ASSERT_EQ(made.size(), 1U);
    EXPECT_EQ(made[0].id, kGraph);
    ASSERT_EQ(made[0].nodes.size(), 1U);
    EXPECT_EQ(made[0].nodes[0].kernel, "gemm");
    decoder_.nameGraph(kGraph, strings_.intern("CUDA graph 2: 1 kernel"), strings_.intern("step/forward"));
    replay(3);
    stop();
    const auto found = events();
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(strings_.text(found[0].name), "CUDA graph 2: 1 kernel");
    EXPECT_EQ(strings_.text(found[0].path), "step/forward");
    EXPECT_GT(found[0].launched, Timestamp{});
    EXPECT_EQ(assembler_.losses().list(strings_).size(), 0U);
}

/// CUPTI 13.0 crashes if it is asked for whole graphs after a graph was made.
TEST_F(WholeGraphs, StayOnBetweenThePartsOfARecording)
{
    start();
    cupti_.makeGraph(kGraph, {});
    replay(1);
    stop();
    session_.detachSoon();
    EXPECT_THAT(cupti_.enabledActivities(), Contains(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
    EXPECT_EQ(cupti_.enabledActivities().size(), 1U) << "nothing else costs time then";
    EXPECT_TRUE(cupti_.subscribed());
    replay(5);
    EXPECT_EQ(events().size(), 1U) << "of the part";
    EXPECT_EQ(cupti_.finalized(), 0);
    start();
    replay(2);
    stop();
    EXPECT_EQ(events().size(), 2U);
    EXPECT_EQ(assembler_.losses().list(strings_).size(), 0U);
}

TEST_F(WholeGraphs, AreKnownAlsoIfTheyWereMadeBeforeTheRecording)
{
    cupti_.makeGraph(kGraph, {});
    start();
    replay(1);
    stop();
    EXPECT_EQ(session_.takeGraphs().size(), 1U);
    EXPECT_EQ(events().size(), 1U);
}

} // namespace

} // namespace tilescope::trace
