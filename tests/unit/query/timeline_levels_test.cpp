#include "core/query/timeline/timeline_levels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace tilescope::query {
namespace {

struct Box {
    std::int64_t start;
    std::int64_t end;
    Hue hue = Hue::Matmul;
};

Track trackOf(const std::vector<Box>& boxes)
{
    TrackBuilder builder;
    for (const Box& box : boxes)
        builder.add(box.start, box.end, 0, box.hue);
    return std::move(builder).build();
}

std::vector<Column> columnsOf(const Track& track, double from, double per, std::size_t n)
{
    std::vector<Column> columns(n);
    track.columns(from, per, columns);
    return columns;
}

TEST(Track, CoversAColumnByTheShareOfItsTime)
{
    const Track track = trackOf({{5, 15}, {15, 18, Hue::Copy}});
    const auto columns = columnsOf(track, 0, 10, 3);
    EXPECT_FLOAT_EQ(columns[0].coverage, 0.5F);
    EXPECT_EQ(columns[0].item, 0U);
    EXPECT_FLOAT_EQ(columns[1].coverage, 0.8F);
    EXPECT_EQ(columns[1].hue, Hue::Matmul); // 5 ns against 3
    EXPECT_EQ(columns[1].item, Column::kSeveral);
    EXPECT_EQ(columns[2].item, Column::kNothing);
    EXPECT_FLOAT_EQ(columns[2].coverage, 0.0F);
}

TEST(Track, ShowsEventsWithoutLength)
{
    const Track track = trackOf({{3, 3, Hue::Memset}});
    const auto columns = columnsOf(track, 0, 2, 3);
    EXPECT_EQ(columns[0].item, Column::kNothing);
    EXPECT_EQ(columns[1].item, 0U);
    EXPECT_EQ(columns[1].hue, Hue::Memset);
    EXPECT_FLOAT_EQ(columns[1].coverage, 0.0F);
}

TEST(Track, KeepsLengthsBeyondFourSeconds)
{
    constexpr std::int64_t kHour = 3'600'000'000'000;
    const Track track = trackOf({{0, 10}, {10, kHour}, {kHour, kHour + 5}});
    EXPECT_EQ(track.length(1), kHour - 10);
    EXPECT_EQ(track.covered(0, kHour + 5), kHour + 5);
    EXPECT_EQ(columnsOf(track, 100, 1, 4)[3].item, 1U);
}

TEST(Track, FindsEventsThatOverlapAWindow)
{
    const Track track = trackOf({{0, 10}, {20, 30}, {30, 40}});
    EXPECT_EQ(track.overlapping(10, 20), std::pair(std::size_t(1), std::size_t(1)));
    EXPECT_EQ(track.overlapping(9, 21), std::pair(std::size_t(0), std::size_t(2)));
    EXPECT_EQ(track.overlapping(30, 31), std::pair(std::size_t(2), std::size_t(3)));
}

TEST(Track, AnEmptyOneHasEmptyColumns)
{
    const Track track = trackOf({});
    EXPECT_EQ(columnsOf(track, 0, 1, 3)[1].item, Column::kNothing);
    EXPECT_EQ(track.covered(0, 100), 0);
}

// The expected column, from looking at every event.
struct Expected {
    std::map<Hue, double> time;
    std::vector<std::uint32_t> items;
};

Expected bruteForceColumns(const std::vector<Box>& boxes, double left, double right)
{
    Expected expected;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const auto start = double(boxes[i].start);
        const auto end = double(boxes[i].end);
        const bool touches = start == end ? start >= left && start < right : start < right && end > left;
        if (!touches)
            continue;
        expected.items.push_back(std::uint32_t(i));
        expected.time[boxes[i].hue] += std::min(end, right) - std::max(start, left);
    }
    return expected;
}

void expectSame(const Column& column, const Expected& expected, double per)
{
    double covered = 0;
    double most = 0;
    for (const auto& [hue, time] : expected.time) {
        covered += time;
        most = std::max(most, time);
    }
    ASSERT_NEAR(column.coverage, covered / per, 1e-5);
    const std::uint32_t item = expected.items.empty()       ? Column::kNothing
                               : expected.items.size() == 1 ? expected.items[0]
                                                            : Column::kSeveral;
    ASSERT_EQ(column.item, item);
    if (covered > 0) {
        ASSERT_NEAR(expected.time.at(column.hue), most, 1e-6 * per + 1e-9);
    }
}

TEST(Track, AgreesWithABruteForceAtEveryZoom)
{
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 60; ++round) {
        std::vector<Box> boxes;
        std::int64_t time = 0;
        const int events = int(random() % 700);
        const int gap = 1 + int(random() % 40);
        for (int i = 0; i < events; ++i) {
            const std::int64_t start = time + std::int64_t(random() % gap);
            const std::int64_t length =
                random() % 17 == 0 ? std::int64_t(random() % 3000) : std::int64_t(random() % 12);
            boxes.push_back({start, start + length, Hue(random() % 5)});
            time = start + length;
        }
        const Track track = trackOf(boxes);
        for (const double per : {0.37, 1.0, 7.3, 64.0, 250.0, 1999.5}) {
            const double from = double(random() % std::uint64_t(time + 10)) - 5;
            const auto columns = columnsOf(track, from, per, 200);
            for (std::size_t c = 0; c < columns.size(); ++c) {
                SCOPED_TRACE("column " + std::to_string(c) + " of " + std::to_string(per));
                expectSame(columns[c],
                           bruteForceColumns(boxes, from + double(c) * per, from + double(c + 1) * per), per);
                if (::testing::Test::HasFatalFailure())
                    return;
            }
        }
    }
}

TEST(Track, CoversTheTimeOfTheEventsBetweenAnyTwoInstants)
{
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<Box> boxes;
    for (std::int64_t time = 0; time < 5000;) {
        const auto length = std::int64_t(random() % 9);
        boxes.push_back({time, time + length, Hue(random() % 4)});
        time += length + std::int64_t(random() % 5);
    }
    const Track track = trackOf(boxes);
    for (int i = 0; i < 500; ++i) {
        const auto from = std::int64_t(random() % 5200) - 100;
        const auto to = from + std::int64_t(random() % 900);
        std::int64_t expected = 0;
        for (const Box& box : boxes)
            expected += std::max<std::int64_t>(0, std::min(box.end, to) - std::max(box.start, from));
        ASSERT_EQ(track.covered(from, to), expected) << from << " to " << to;
        const auto byHue = track.coveredByHue(from, to);
        ASSERT_EQ(std::accumulate(byHue.begin(), byHue.end(), std::int64_t(0)), expected)
            << from << " to " << to;
    }
}

TEST(Rows, NestedEventsGoBelowOpenOnes)
{
    RowsBuilder rows;
    rows.add(0, 100, 0, Hue::Range);
    rows.add(0, 40, 1, Hue::Range);
    rows.add(10, 20, 2, Hue::Range);
    rows.add(40, 90, 3, Hue::Range);
    rows.add(100, 110, 4, Hue::Range);
    // Events that overlap without nesting also get separate rows.
    rows.add(105, 120, 5, Hue::Range);
    std::vector<std::vector<std::uint32_t>> names;
    for (const Track& row : std::move(rows).build()) {
        names.emplace_back();
        for (std::size_t i = 0; i < row.size(); ++i)
            names.back().push_back(row.name(i));
    }
    EXPECT_EQ(names, (std::vector<std::vector<std::uint32_t>>{{0, 4}, {1, 3, 5}, {2}}));
}

} // namespace
} // namespace tilescope::query
