// What the timeline says about a span, what it finds, and how it joins two runs: as plain values.

#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "ui/models/timeline_rows.h"
#include "ui/plots/difference_band.h"
#include "ui/plots/range_pairs.h"

#include "core/query/file_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tilescope::ui {
namespace {

const auto kNotCancelled = [] { return false; };

class TimelineRowsTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        const std::filesystem::path file = folder_ / "lm.tscope";
        test::writeLmFile(file);
        session_ = std::make_unique<query::FileSession>(file);
        naive_ = session_->timeline(RunId{1}, kNotCancelled);
        flash_ = session_->timeline(RunId{2}, kNotCancelled);
    }

    testing::TemporaryFolder folder_;
    std::unique_ptr<query::FileSession> session_;
    std::shared_ptr<const query::Timeline> naive_, flash_;
};

TEST_F(TimelineRowsTest, PairsTheNthRangeOfAPathWithTheNthOfThatPath)
{
    const std::vector<RangePair> pairs = pairRanges(*naive_, *flash_);
    ASSERT_FALSE(pairs.empty());
    std::size_t steps = 0;
    for (const RangePair& pair : pairs) {
        const query::Track& a = naive_->lanes[pair.a.lane].rows[pair.a.row];
        const query::Track& b = flash_->lanes[pair.b.lane].rows[pair.b.row];
        EXPECT_EQ(naive_->names[a.name(pair.a.index)].text, flash_->names[b.name(pair.b.index)].text);
        EXPECT_EQ(pair.toA - pair.fromA, a.length(pair.a.index));
        EXPECT_EQ(pair.difference(), b.length(pair.b.index) - a.length(pair.a.index));
        if (pair.depth == 1) {
            EXPECT_EQ(pair.fromA, naive_->steps[steps].start);
            EXPECT_EQ(pair.fromB, flash_->steps[steps].start);
            ++steps;
        }
    }
    EXPECT_EQ(steps, naive_->steps.size());
    EXPECT_EQ(pairOf(*naive_, pairs.front().a, *flash_), pairs.front().b);
}

TEST_F(TimelineRowsTest, ASpanAddsUpTheKernelsThatStartInIt)
{
    const query::Stretch stretch{naive_->steps[1].start, naive_->steps[1].end};
    const SpanOfRun span = spanOf(naive_, stretch, QStringLiteral("A"), kNotCancelled);
    std::int64_t instances = 0;
    std::int64_t total = 0;
    for (const DeviceEvent& event : session_->reader().deviceEvents({.run = RunId{1}})) {
        const std::int64_t start = (event.start - naive_->origin).count();
        if (start < stretch.first || start >= stretch.second)
            continue;
        ++instances;
        total += (event.end - event.start).count();
    }
    std::int64_t shown = 0;
    double shownTotal = 0;
    for (const TableRow& row : spanRows({span}).rows) {
        shown += std::int64_t(row.cells[2].sort);
        shownTotal += row.cells[3].sort;
    }
    EXPECT_EQ(shown, instances);
    EXPECT_DOUBLE_EQ(shownTotal, double(total));
    EXPECT_TRUE(spanWords(span).contains(QStringLiteral("%1 kernels").arg(instances)))
        << spanWords(span).toStdString();
}

TEST_F(TimelineRowsTest, TwoRunsShareTheRowsOfTheirKernels)
{
    const auto whole = [](const query::Timeline& timeline) { return query::Stretch{0, timeline.length + 1}; };
    const TableData rows = spanRows({spanOf(naive_, whole(*naive_), QStringLiteral("A"), kNotCancelled),
                                     spanOf(flash_, whole(*flash_), QStringLiteral("B"), kNotCancelled)});
    ASSERT_EQ(rows.columns.size(), 9U);
    bool onlyNaive = false;
    bool both = false;
    for (const TableRow& row : rows.rows) {
        onlyNaive = onlyNaive || (row.cells[2].sort > 0 && row.cells[5].sort == 0);
        both = both || (row.cells[2].sort > 0 && row.cells[5].sort > 0);
        EXPECT_DOUBLE_EQ(row.cells[8].sort, row.cells[6].sort - row.cells[3].sort);
    }
    EXPECT_TRUE(onlyNaive);
    EXPECT_TRUE(both);
}

TEST_F(TimelineRowsTest, FindsInBothRunsTheLongestFirst)
{
    std::vector<FoundInRun> runs{{QStringLiteral("A"), naive_, search(*naive_, "softmax", kNotCancelled)},
                                 {QStringLiteral("B"), flash_, search(*flash_, "softmax", kNotCancelled)}};
    const std::vector<FoundBox> boxes = foundBoxes(runs, 5);
    ASSERT_EQ(boxes.size(), 5U);
    EXPECT_TRUE(std::is_sorted(boxes.begin(), boxes.end(), [](const FoundBox& a, const FoundBox& b) {
        return a.found.length > b.found.length;
    }));
    const TableData rows = foundRows(runs, boxes);
    for (const TableRow& row : rows.rows)
        EXPECT_TRUE(row.cells[1].exact.contains(QStringLiteral("softmax"), Qt::CaseInsensitive))
            << row.cells[1].exact.toStdString();
    EXPECT_TRUE(foundBoxes({}, 5).empty());
}

TEST_F(TimelineRowsTest, RunsAreAlignedAtRangesOfTheStep)
{
    const std::vector<std::string_view> paths = pathsToAlignAt(*naive_, 100);
    EXPECT_NE(std::find(paths.begin(), paths.end(), "step/forward"), paths.end());
    EXPECT_EQ(pathsToAlignAt(*naive_, 2).size(), 2U);
    const query::TimelineStep step = naive_->steps[1];
    const auto forward = firstOf(*naive_, "step/forward", step.start, step.end);
    ASSERT_TRUE(forward);
    EXPECT_GE(forward->first, step.start);
    EXPECT_LE(forward->second, step.end);
    EXPECT_FALSE(firstOf(*naive_, "step/nothing", step.start, step.end));
}

TEST_F(TimelineRowsTest, ATrapezoidJoinsTheEdgesOfItsRanges)
{
    TimelineSection above = makeSection(naive_);
    TimelineSection below = makeSection(flash_);
    const QRectF area(0, 0, 1000, 30);
    const double perPixel = double(naive_->steps.front().end - naive_->steps.front().start) / 1000;
    const auto xOf = [perPixel](double axis) { return axis / perPixel; };
    const std::vector<RangePair> pairs = pairRanges(*naive_, *flash_);
    const auto shapes = differenceShapes(pairs, above, below, xOf, area,
                                         [](const QString& text) { return 6.0 * double(text.size()); });
    ASSERT_FALSE(shapes.empty());
    std::vector<QRectF> texts;
    for (const DifferenceShape& shape : shapes) {
        const bool joins = std::any_of(pairs.begin(), pairs.end(), [&](const RangePair& pair) {
            return shape.outline[0] == QPointF(xOf(above.toAxis(double(pair.fromA))), 0) &&
                   shape.outline[2] == QPointF(xOf(below.toAxis(double(pair.toB))), 30);
        });
        EXPECT_TRUE(joins);
        if (!shape.text.isEmpty()) {
            const double width = 6.0 * double(shape.text.size());
            texts.emplace_back(shape.centre.x() - width / 2, 0, width, 30);
        }
    }
    EXPECT_FALSE(texts.empty());
    EXPECT_TRUE(std::any_of(shapes.begin(), shapes.end(), [](const DifferenceShape& shape) {
        return shape.text.startsWith(QStringLiteral("backward "));
    })) << "a wide one says whose difference it is";
    for (std::size_t i = 0; i < texts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_FALSE(texts[i].intersects(texts[j])) << "texts lie over each other";
}

} // namespace
} // namespace tilescope::ui
