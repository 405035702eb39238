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
    constexpr std::size_t kMostNested = 512;
    for (int i = 0; i < 5'000 && rows.size() <= kMostNested; ++i) {
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

TEST(RowFor, BoxesThatOverlapWithoutEndNeedNoMoreRowsThanOverlapOrNest)
{
    for (const std::int64_t overlap : {2, 30, 1'000}) {
        std::vector<std::int64_t> ends;
        for (std::int64_t i = 0; i < 20'000; ++i) {
            const std::int64_t start = 10 * i;
            const std::size_t row = rowFor(start, ends.size(), [&ends](std::size_t at) { return ends[at]; });
            ASSERT_LE(row, ends.size());
            if (row == ends.size())
                ends.emplace_back();
            ASSERT_LE(ends[row], start);
            ends[row] = start + 10 * overlap + 5;
        }
        EXPECT_LE(ends.size(), std::max<std::size_t>(513, static_cast<std::size_t>(overlap) + 1)) << overlap;
    }
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
