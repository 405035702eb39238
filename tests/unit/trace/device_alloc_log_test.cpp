#include "core/trace/allocators/device_alloc_log.h"

#include "core/trace/host/host_log.h"
#include "core/trace/host/path_tree.h"
#include "core/trace/host/range.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tilescope::trace {
namespace {

class DeviceAllocations : public ::testing::Test {
protected:
    ~DeviceAllocations() override
    {
        log.stop();
        HostLogs::instance().stop();
    }
    std::vector<DeviceAllocRecord> drained()
    {
        std::vector<DeviceAllocRecord> records;
        log.drain([&](const DeviceAllocRecord& record) { records.push_back(record); });
        return records;
    }
    DeviceAllocLog& log = *DeviceAllocLog::of(DeviceIndex{3});
};

TEST_F(DeviceAllocations, TotalsCountOnFromWhatWasThere)
{
    log.start(16, 1000, 4096);
    log.note(AllocAction::SegmentAlloc, 0x1000, 2048, nullptr, 0);
    log.note(AllocAction::Alloc, 0x1000, 500, nullptr, 0);
    log.note(AllocAction::FreeRequested, 0x1000, 500, nullptr, 0);
    log.note(AllocAction::FreeCompleted, 0x1000, 500, nullptr, 0);
    log.note(AllocAction::SegmentFree, 0x1000, 2048, nullptr, 0);
    const auto records = drained();
    ASSERT_EQ(records.size(), 5U);
    const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {
        {1000, 6144}, {1500, 6144}, {1000, 6144}, {1000, 6144}, {1000, 4096}};
    for (std::size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i].allocated, expected[i].first) << i;
        EXPECT_EQ(records[i].reserved, expected[i].second) << i;
    }
    EXPECT_EQ(log.allocated(), 1000);
}

TEST_F(DeviceAllocations, KnowWhereTheyHappened)
{
    HostLogs::instance().start(64, 0);
    HostLogs::instance().setStep(2);
    log.start(16, 0, 0);
    {
        const ScopedRange step("step");
        const ScopedRange forward("forward");
        log.note(AllocAction::Alloc, 0x1000, 64, nullptr, 5);
    }
    const auto records = drained();
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(PathTree::instance().node(records[0].context.path)->path, "step/forward");
    EXPECT_EQ(records[0].step, 2);
    EXPECT_EQ(records[0].pool, 5U);
}

TEST_F(DeviceAllocations, ACompletedFreeHasThePlaceOfItsRequestOrItsOwn)
{
    HostLogs::instance().start(64, 0);
    log.start(16, 0, 0);
    {
        const ScopedRange step("step");
        log.note(AllocAction::FreeRequested, 0x1000, 64, nullptr, 0);
        log.note(AllocAction::FreeCompleted, 0x1000, 64, nullptr, 0);
        log.note(AllocAction::FreeRequested, 0x2000, 64, nullptr, 0);
        log.note(AllocAction::Alloc, 0x3000, 64, nullptr, 0);
        const ScopedRange forward("forward");
        log.note(AllocAction::FreeCompleted, 0x2000, 64, nullptr, 0);
    }
    std::vector<std::string> paths;
    for (const DeviceAllocRecord& record : drained())
        paths.push_back(PathTree::instance().node(record.context.path)->path);
    EXPECT_EQ(paths, (std::vector<std::string>{"step", "step", "step", "step", "step/forward"}));
}

TEST_F(DeviceAllocations, AFreeThatIsCompletedAtOnceTakesNoMoreRoomThanItsRequest)
{
    log.start(16, 0, 0);
    const std::uint64_t before = log.dropped();
    const int blocks = 8;
    for (std::uint64_t address = 1; address <= blocks; ++address) {
        log.note(AllocAction::Alloc, address, 64, nullptr, 0);
        log.note(AllocAction::FreeRequested, address, 64, nullptr, 0);
        log.note(AllocAction::FreeCompleted, address, 64, nullptr, 0);
    }
    EXPECT_EQ(log.dropped(), before);
    const auto records = drained();
    ASSERT_EQ(records.size(), 3U * blocks);
    for (std::size_t i = 0; i < records.size(); i += 3) {
        EXPECT_EQ(records[i].action, AllocAction::Alloc);
        EXPECT_EQ(records[i + 1].action, AllocAction::FreeRequested);
        EXPECT_EQ(records[i + 2].action, AllocAction::FreeCompleted);
        EXPECT_EQ(records[i + 2].address, i / 3 + 1);
        EXPECT_EQ(records[i + 2].allocated, 0);
        EXPECT_GE(records[i + 2].time, records[i].time);
    }
}

TEST_F(DeviceAllocations, AnOpenRequestArrivesAtTheEnd)
{
    log.start(16, 64, 0);
    log.note(AllocAction::FreeRequested, 0x1000, 64, nullptr, 0);
    log.stop();
    const auto records = drained();
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].action, AllocAction::FreeRequested);
    EXPECT_EQ(records[0].allocated, 0);
}

TEST_F(DeviceAllocations, StopWhileAnotherThreadAllocates)
{
    log.start(16, 0, 0);
    std::atomic<bool> isOver{false};
    std::thread allocating([&] {
        while (!isOver)
            log.note(AllocAction::FreeRequested, 0x1000, 0, nullptr, 0);
    });
    while (drained().empty()) {
    }
    log.stop();
    drained();
    std::this_thread::yield();
    EXPECT_TRUE(drained().empty());
    isOver = true;
    allocating.join();
    EXPECT_TRUE(drained().empty());
}

TEST_F(DeviceAllocations, NothingIsNotedUnlessAsked)
{
    log.start(16, 0, 0);
    log.stop();
    log.note(AllocAction::Alloc, 0x1000, 64, nullptr, 0);
    EXPECT_TRUE(drained().empty());
}

TEST_F(DeviceAllocations, OverflowIsCounted)
{
    log.start(16, 0, 0);
    const std::uint64_t before = log.dropped();
    const int capacity = 16;
    for (int i = 0; i < capacity + 7; ++i)
        log.note(AllocAction::Alloc, 0x1000, 1, nullptr, 0);
    EXPECT_EQ(log.dropped() - before, 7U);
    EXPECT_EQ(log.allocated(), capacity + 7) << "the total stays true";
}

TEST(DeviceAllocLog, OfImpossibleDevicesIsNone)
{
    EXPECT_EQ(DeviceAllocLog::of(DeviceIndex{1000}), nullptr);
    EXPECT_EQ(DeviceAllocLog::of(DeviceIndex::none()), nullptr);
}

} // namespace
} // namespace tilescope::trace
