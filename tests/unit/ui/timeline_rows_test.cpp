// The timeline's tables of a span and of search results, and the alignment of two runs, as plain values.

#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "ui/kit/number_text.h"
#include "ui/timeline/difference_band.h"
#include "ui/timeline/range_pairs.h"
#include "ui/timeline/timeline_rows.h"

#include "core/query/file_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tilescope::ui {
namespace {

class TimelineRowsTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        const std::filesystem::path file = folder_ / "lm.tscope";
        test::writeLmFile(file);
        session_ = std::make_unique<query::FileSession>(file);
        naive_ = session_->timeline(RunId{1}, testing::kNotCancelled);
        flash_ = session_->timeline(RunId{2}, testing::kNotCancelled);
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

TEST_F(TimelineRowsTest, ASpanAddsUpThePartsOfKernelsThatLieInIt)
{
    // From the middle of the longest kernel to the middle of the step.
    query::Stretch stretch{0, (naive_->steps[1].start + naive_->steps[1].end) / 2};
    std::int64_t longest = 0;
    const auto events = session_->reader().deviceEvents({.run = RunId{1}});
    for (const DeviceEvent& event : events)
        if (const std::int64_t length = (event.end - event.start).count();
            length > longest && (event.start - naive_->origin).count() < stretch.second - 2 * length) {
            longest = length;
            stretch.first = (event.start - naive_->origin).count() + length / 2;
        }
    ASSERT_GT(longest, 1);
    const SpanOfRun span = spanOf(naive_, stretch, QStringLiteral("A"), testing::kNotCancelled);
    std::int64_t instances = 0;
    std::int64_t total = 0;
    for (const DeviceEvent& event : events) {
        const std::int64_t start = std::max((event.start - naive_->origin).count(), stretch.first);
        const std::int64_t end = std::min((event.end - naive_->origin).count(), stretch.second);
        instances += end > start ? 1 : 0;
        total += std::max<std::int64_t>(end - start, 0);
    }
    const TableData rows = spanRows({span});
    std::int64_t shown = 0;
    double shownTotal = 0;
    for (const TableRow& row : rows.rows) {
        if (row.strong)
            continue;
        shown += std::int64_t(row.cells[2].sort);
        shownTotal += row.cells[3].sort;
    }
    EXPECT_EQ(shown, instances);
    EXPECT_DOUBLE_EQ(shownTotal, double(total));
    ASSERT_TRUE(rows.rows.back().strong) << "the last row is the sum";
    EXPECT_DOUBLE_EQ(rows.rows.back().cells[2].sort, double(instances));
    EXPECT_DOUBLE_EQ(rows.rows.back().cells[3].sort, double(total));
    EXPECT_TRUE(spanWords(span).contains(
        QStringLiteral("%1 kernels in %2").arg(instances).arg(timeText(double(total)))))
        << spanWords(span).toStdString();
}

TEST_F(TimelineRowsTest, ASpanWithinOneKernelShowsIt)
{
    const DeviceEvent first = session_->reader().deviceEvents({.run = RunId{1}}).front();
    const std::int64_t start = (first.start - naive_->origin).count();
    const std::int64_t length = (first.end - first.start).count();
    const SpanOfRun span =
        spanOf(naive_, {start + length / 4, start + length / 2}, {}, testing::kNotCancelled);
    ASSERT_EQ(span.kernels.size(), 1U);
    EXPECT_EQ(span.kernels[0].total, start + length / 2 - (start + length / 4));
    EXPECT_TRUE(spanWords(span).contains(QStringLiteral("1 kernel in "))) << spanWords(span).toStdString();
    EXPECT_EQ(spanRows({span}).rows.size(), 1U) << "one row needs no sum";
}

TEST_F(TimelineRowsTest, TwoRunsShareTheRowsOfTheirKernels)
{
    const auto whole = [](const query::Timeline& timeline) { return query::Stretch{0, timeline.length + 1}; };
    const TableData rows =
        spanRows({spanOf(naive_, whole(*naive_), QStringLiteral("A"), testing::kNotCancelled),
                  spanOf(flash_, whole(*flash_), QStringLiteral("B"), testing::kNotCancelled)});
    ASSERT_EQ(rows.columns.size(), 9U);
    bool onlyNaive = false;
    bool both = false;
    for (const TableRow& row : rows.rows) {
        if (row.strong)
            continue;
        onlyNaive = onlyNaive || (row.cells[2].sort > 0 && row.cells[5].sort == 0);
        both = both || (row.cells[2].sort > 0 && row.cells[5].sort > 0);
        EXPECT_DOUBLE_EQ(row.cells[8].sort, row.cells[6].sort - row.cells[3].sort);
    }
    EXPECT_TRUE(onlyNaive);
    EXPECT_TRUE(both);
}

TEST_F(TimelineRowsTest, DifferencesOfKernelsHaveTheToneOfTheVerdict)
{
    const auto whole = [](const query::Timeline& timeline) { return query::Stretch{0, timeline.length + 1}; };
    std::vector<SpanOfRun> spans{spanOf(naive_, whole(*naive_), QStringLiteral("A"), testing::kNotCancelled),
                                 spanOf(flash_, whole(*flash_), QStringLiteral("B"), testing::kNotCancelled)};
    for (const TableRow& row : spanRows(spans).rows)
        EXPECT_EQ(row.cells[8].tone, Tone::Dim) << "inconclusive";
    spans[1].verdict = analysis::Verdict::Faster;
    bool isBetter = false;
    for (const TableRow& row : spanRows(spans).rows) {
        isBetter = isBetter || row.cells[8].tone == Tone::Better;
        EXPECT_NE(row.cells[8].tone, Tone::Worse);
    }
    EXPECT_TRUE(isBetter);
}

TEST_F(TimelineRowsTest, FindsInBothRunsTheLongestFirst)
{
    std::vector<FoundInRun> runs{
        {QStringLiteral("A"), naive_, search(*naive_, "softmax", testing::kNotCancelled)},
        {QStringLiteral("B"), flash_, search(*flash_, "softmax", testing::kNotCancelled)}};
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
    ASSERT_FALSE(paths.empty());
    EXPECT_EQ(paths.front(), "step/forward");
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
            EXPECT_FALSE(texts[i].intersects(texts[j])) << "texts overlap";
}

TEST_F(TimelineRowsTest, LabelsOfDifferencesAreWholeNamedAndSignedAtEveryZoom)
{
    const TimelineSection above = makeSection(naive_);
    const TimelineSection below = makeSection(flash_);
    const std::vector<RangePair> pairs = pairRanges(*naive_, *flash_);
    const QRectF area(152, 0, 900, 30);
    const auto widthOf = [](const QString& text) { return 6.0 * double(text.size()); };
    const auto step = double(naive_->steps.front().end - naive_->steps.front().start);
    int labels = 0;
    for (double zoom = 1; zoom < 60; zoom *= 1.7)
        for (double from = -0.2; from < 1; from += 0.07) {
            const double perPixel = step / zoom / area.width();
            const auto xOf = [&](double axis) { return area.left() + (axis - from * step) / perPixel; };
            std::vector<std::pair<double, double>> taken;
            for (const DifferenceShape& shape : differenceShapes(pairs, above, below, xOf, area, widthOf)) {
                if (shape.text.isEmpty())
                    continue;
                ++labels;
                const QString value = shape.text.section(QLatin1Char(' '), 1);
                EXPECT_FALSE(shape.text.section(QLatin1Char(' '), 0, 0).isEmpty());
                EXPECT_TRUE(value == QLatin1String("0") || value.startsWith(QLatin1Char('+')) ||
                            value.startsWith(QChar(0x2212)))
                    << shape.text.toStdString();
                const double half = widthOf(shape.text) / 2;
                EXPECT_GE(shape.centre.x() - half, area.left()) << shape.text.toStdString();
                EXPECT_LE(shape.centre.x() + half, area.right()) << shape.text.toStdString();
                for (const auto& [left, right] : taken)
                    EXPECT_TRUE(shape.centre.x() - half >= right || shape.centre.x() + half <= left)
                        << shape.text.toStdString() << " overlaps another";
                taken.emplace_back(shape.centre.x() - half, shape.centre.x() + half);
            }
        }
    EXPECT_GT(labels, 50);
}

} // namespace
} // namespace tilescope::ui
