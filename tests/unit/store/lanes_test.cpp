// Which lane, row and code an event has: the same for the tracks of a file and for a timeline that grows.

#include "core/store/rows/lanes.h"

#include <gtest/gtest.h>

#include <random>

namespace tilescope::store {

TEST(RowFor, IsTheFirstBelowAllThatAreStillOpen)
{
    constexpr std::uint32_t kSeed = 20'261'121;
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    std::mt19937 random(kSeed);
    std::vector<std::vector<Box>> rows;
    std::int64_t start = 0;
    for (int i = 0; i < 5'000; ++i) {
        start += random() % 20;
        const Box box{start, static_cast<std::int64_t>(random() % 100), 0};
        const std::size_t row = rowFor(start, rows.size(), [&rows](std::size_t at) {
            return rows[at].back().start + rows[at].back().length;
        });
        std::size_t expected = 0;
        for (std::size_t at = 0; at < rows.size(); ++at)
            for (const Box& known : rows[at])
                if (known.start + known.length > start)
                    expected = at + 1;
        ASSERT_EQ(row, expected);
        if (row == rows.size())
            rows.emplace_back();
        rows[row].push_back(box);
    }
    EXPECT_GT(rows.size(), 5u);
}

TEST(LaneBox, TheCodeSaysWhatAThreadsBoxIs)
{
    const auto detailOf = [](ApiKind kind) {
        return static_cast<CallDetail>(
            BoxCode::detail(LaneBox::call(ThreadId{1}, StringId{9}, kind, 5, 8).box.code));
    };
    EXPECT_EQ(detailOf(ApiKind::Launch), CallDetail::Call);
    EXPECT_EQ(detailOf(ApiKind::Wait), CallDetail::Waits);
    EXPECT_EQ(detailOf(ApiKind::Synchronize), CallDetail::Waits);
    EXPECT_EQ(detailOf(ApiKind::Overhead), CallDetail::Tracing);
    const LaneBox op = LaneBox::op(ThreadId{1}, StringId{9}, 5, 8);
    EXPECT_EQ(op.lane.kind, LaneKind::Thread);
    EXPECT_EQ(op.box, (Box{5, 3, BoxCode::of(9, 0)}));
}

TEST(LaneBox, ANegativeLengthIsTakenAsNone)
{
    const LaneBox kernel =
        LaneBox::onStream(DeviceIndex{0}, StreamId{7}, DeviceEventKind::Kernel, StringId{3}, 10, 4);
    EXPECT_EQ(kernel.box.length, 0);
    EXPECT_EQ(kernel.end(), 10);
}

} // namespace tilescope::store
