// What plots say of what they show: under a cursor that rests, of runs without a trace, of segments, in
// exports.

#include "core/base/shell_word.h"
#include "tests/support/fake_memory.h"
#include "tests/ui/text_recorder.h"
#include "tests/ui/window_fixture.h"
#include "ui/charts/chart_rows.h"
#include "ui/charts/charts_page.h"
#include "ui/experiment/live_plots.h"
#include "ui/experiment/point_grid_view.h"
#include "ui/kit/controls.h"
#include "ui/kit/export_dialog.h"
#include "ui/kit/exporter.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/memory/memory_areas.h"
#include "ui/memory/memory_blocks.h"
#include "ui/memory/memory_page.h"
#include "ui/memory/memory_plot.h"
#include "ui/memory/memory_segments.h"
#include "ui/theme/theme.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/timeline_loading.h"
#include "ui/timeline/timeline_page.h"
#include "ui/window/page_exports.h"

#include <QAbstractSpinBox>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QPainter>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QScrollBar>

#include <cmath>
#include <map>
#include <set>

namespace tilescope::ui {
namespace {

class PlotsWindow : public WindowTest {
protected:
    void selectOf(const std::filesystem::path& file, const std::vector<std::int64_t>& runs)
    {
        window_.open({QString::fromStdString(file.string())});
        waitUntilSettled();
        std::vector<RunKey> keys;
        for (const std::int64_t run : runs)
            keys.push_back({window_.workspace().files().back().id, RunId{run}});
        window_.workspace().select(keys);
        waitUntilSettled();
    }
    std::filesystem::path study()
    {
        test::writeStudyFile(folder_ / "study.tscope");
        return folder_ / "study.tscope";
    }
    TimelineView& timeline()
    {
        clickRail(QStringLiteral("Timeline"));
        return page<TimelinePage>("timeline").view();
    }
    void key(QWidget& widget, Qt::Key key)
    {
        QTest::keyClick(&widget, key);
        waitUntilSettled();
    }
    void choose(const QString& segments, int index)
    {
        QTest::mouseClick(named<SegmentedControl>(segments).findChildren<QPushButton*>().at(index),
                          Qt::LeftButton);
        waitUntilSettled();
    }
};

// The cursor

TEST_F(PlotsWindow, TimeAndBoxUnderARestingCursorAreThoseOfTheMovedWindow)
{
    TimelineView& view = timeline();
    view.setFocus();
    const QSize size = view.viewport()->size();
    const auto at = [&](const SectionItem& item) {
        return view.scene().rectOf(item, size.width(), size.height()).center();
    };
    // A range that is wide enough to be hit, then panned away from under the cursor.
    const SectionItem step{0, {0, 0, 0}};
    const QPoint resting = at(step);
    moveTo(*view.viewport(), resting);
    ASSERT_FALSE(view.hoverText().isEmpty());
    for (const Qt::Key pressed : {Qt::Key_W, Qt::Key_W, Qt::Key_D, Qt::Key_D, Qt::Key_S, Qt::Key_A}) {
        key(view, pressed);
        const double axis = view.scene().axisAt(resting.x(), size.width());
        EXPECT_TRUE(statusText(0).startsWith(timeText(axis)))
            << statusText(0).toStdString() << " where the cursor is at " << timeText(axis).toStdString();
        EXPECT_EQ(view.hoverText().isEmpty(), !view.scene().itemAt(resting, size.width(), size.height()));
    }
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(view.viewport(), &leave);
    EXPECT_TRUE(statusText(0).isEmpty()) << statusText(0).toStdString();
    EXPECT_TRUE(view.hoverText().isEmpty());
    key(view, Qt::Key_D);
    EXPECT_TRUE(statusText(0).isEmpty()) << "nothing is under a cursor that is elsewhere";
}

TEST_F(PlotsWindow, TheLaneUnderTheCursorStaysThereWhenAZoomMakesLanesHigher)
{
    const RunKey first = window_.workspace().selection().front();
    window_.workspace().select({first, {first.file, RunId{2}}});
    window_.resize(1100, 640);
    TimelineView& view = timeline();
    view.setFocus();
    const QSize size = view.viewport()->size();
    const int rowBefore = view.scene().sizes.op;
    const auto isOps = [&](const Band& band) {
        const TimelineSection& section = view.scene().sections[band.section];
        return band.kind == Band::Kind::Lane && band.section == 1 &&
               section.timeline->lanes[section.lanes[band.view].lane].kind == query::Lane::Kind::Thread;
    };
    const std::vector<Band> bands = view.scene().layout.bands;
    const auto ops = std::ranges::find_if(bands, isOps);
    ASSERT_NE(ops, bands.end());
    view.verticalScrollBar()->setValue(ops->top - 40);
    const int top = view.scene().plot(size.width(), size.height()).top();
    const QPoint resting(size.width() / 2, top + ops->top - view.scene().scroll + ops->height / 2);
    moveTo(*view.viewport(), resting);
    for (int turn = 0; turn < 60 && view.scene().sizes.op == rowBefore; ++turn)
        wheel(*view.viewport(), resting, 1, Qt::ControlModifier);
    ASSERT_GT(view.scene().sizes.op, rowBefore);
    const Band* now = view.scene().bandAt(resting, size.width(), size.height());
    ASSERT_NE(now, nullptr);
    EXPECT_EQ(now->section, ops->section);
    EXPECT_EQ(now->view, ops->view);
}

TEST_F(PlotsWindow, LeavingThePlotOfMemoryOnTheComparePageClearsTheStatusBar)
{
    selectOf(study(), {1, 2});
    clickRail(QStringLiteral("Compare"));
    auto& plot = *window_.page(QStringLiteral("compare"))->findChild<MemoryPlot*>();
    ASSERT_TRUE(plot.isVisible());
    moveTo(plot, plot.axisRect()->rect().center());
    EXPECT_TRUE(statusText(0).contains(QStringLiteral("allocated"))) << statusText(0).toStdString();
    moveTo(*window_.statusBar(), window_.statusBar()->rect().center());
    EXPECT_EQ(statusText(0), QString());
}

TEST_F(PlotsWindow, LeavingTheGridOfPointsClearsTheStatusBar)
{
    clickRail(QStringLiteral("Experiment"));
    auto& editor =
        *window_.page(QStringLiteral("experiment"))->findChild<QPlainTextEdit*>(QStringLiteral("spec"));
    editor.setPlainText(QStringLiteral("name: grid\nworkload: attention\ndevice: cpu\nsteps: 3\n"
                                       "sweep: {seq_len: [64, 128], heads: [1, 2]}\n"));
    auto& grid = *window_.page(QStringLiteral("experiment"))->findChild<PointGridView*>();
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return grid.isVisible() && grid.grid().cells.size() == 4; }, kTimeoutMs));
    waitUntilSettled();
    bool isDescribed = false;
    for (int y = 4; y < grid.wantedHeight() && !isDescribed; y += 8)
        for (int x = 4; x < grid.viewport()->width() / 2 && !isDescribed; x += 24) {
            moveTo(*grid.viewport(), {x, y});
            isDescribed = !statusText(0).isEmpty();
        }
    ASSERT_TRUE(isDescribed) << "no cell says what it is";
    moveTo(*window_.statusBar(), window_.statusBar()->rect().center());
    EXPECT_EQ(statusText(0), QString());
}

TEST_F(PlotsWindow, MemoryUnderARestingCursorIsThatOfTheMovedWindow)
{
    clickRail(QStringLiteral("Memory"));
    auto& memory = page<MemoryPage>("memory");
    const QPoint resting = memory.areas().plot().center();
    moveTo(memory.areas(), resting);
    memory.areas().setFocus();
    for (const Qt::Key pressed : {Qt::Key_W, Qt::Key_D, Qt::Key_D}) {
        key(memory.areas(), pressed);
        EXPECT_TRUE(statusText(0).startsWith(timeText(memory.areas().timeAt(resting.x()))))
            << statusText(0).toStdString();
    }
}

// Names beside lines and marks

TEST_F(PlotsWindow, NoLineOfAnInstantCrossesANameInThePlotsOfMemory)
{
    clickRail(QStringLiteral("Memory"));
    auto& memory = page<MemoryPage>("memory");
    int checked = 0;
    for (MemoryChart* chart :
         {static_cast<MemoryChart*>(&memory.areas()), static_cast<MemoryChart*>(&memory.blocks())}) {
        const QSize size = chart->size();
        const auto drawn = [&] {
            QImage image(size, QImage::Format_RGB32);
            QPainter painter(&image);
            chart->draw(painter, size, false);
            return image;
        };
        memory.axis().setInstant(memory.axis().window().from - 1); // outside
        TextRecorder recorder(size);
        QPainter painter(&recorder);
        chart->draw(painter, size, true);
        painter.end();
        const QImage bare = drawn();
        for (const TextRecorder::Text& name : recorder.texts()) {
            // Labels of peaks have a veil behind them.
            if (!chart->plot().contains(name.rect.toAlignedRect()) ||
                name.words.contains(QStringLiteral("peak")) ||
                name.words.contains(QStringLiteral("reserved")))
                continue;
            const QRect box = name.rect.toAlignedRect().adjusted(1, 1, -1, -1);
            for (const int x : {box.left() + 2, box.center().x(), box.right() - 2}) {
                memory.axis().setInstant(chart->timeAt(x));
                const QImage lined = drawn();
                const auto columnOf = [x](const QImage& image, int top, int bottom) {
                    return image.copy(x - 1, top, 3, bottom - top);
                };
                EXPECT_EQ(columnOf(lined, box.top(), box.bottom()), columnOf(bare, box.top(), box.bottom()))
                    << "the line crosses '" << name.words.toStdString() << "'";
                const QRect plot = chart->plot();
                EXPECT_NE(columnOf(lined, plot.top(), plot.bottom()),
                          columnOf(bare, plot.top(), plot.bottom()))
                    << "there is a line";
                ++checked;
            }
        }
    }
    EXPECT_GT(checked, 12) << "nothing that could be crossed";
}

TEST_F(PlotsWindow, NamesOfPeaksOnTheComparePageAreBesideTheirRings)
{
    const std::filesystem::path studies = study(); // 404 and 7 MiB
    const int file = window_.workspace().files().front().id;
    for (const QSize size : {QSize(1067, 667), QSize(1280, 720), QSize(1600, 1000)})
        for (const bool ofStudy : {true, false}) {
            window_.resize(size);
            if (ofStudy)
                selectOf(studies, {1, 2});
            else
                window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
            clickRail(QStringLiteral("Compare"));
            window_.showPage(QStringLiteral("compare"));
            waitUntilSettled();
            auto& plot = *window_.page(QStringLiteral("compare"))->findChild<MemoryPlot*>();
            plot.replot();
            ASSERT_EQ(plot.series().size(), 2U);
            std::vector<QRectF> boxes;
            for (int i = 0; i < plot.itemCount(); ++i) {
                const auto* words = qobject_cast<QCPItemText*>(plot.item(i));
                if (words == nullptr || !words->visible() || !words->text().endsWith(QStringLiteral("MiB")))
                    continue;
                const QRectF box(words->topLeft->pixelPosition(), words->bottomRight->pixelPosition());
                EXPECT_TRUE(QRectF(plot.axisRect()->rect()).adjusted(-1, -1, 1, 1).contains(box))
                    << words->text().toStdString() << " leaves the plot";
                for (const QRectF& other : boxes)
                    EXPECT_FALSE(other.intersects(box)) << words->text().toStdString() << " lies on another";
                const MemorySeries& run = plot.series()[words->text().startsWith(QLatin1Char('A')) ? 0 : 1];
                const std::size_t peak = run.lane->allocated.peak();
                const QPointF ring(
                    plot.xAxis->coordToPixel(double(run.lane->allocated.time(peak) - run.zero) / 1e6),
                    plot.yAxis->coordToPixel(double(run.lane->allocated.value(peak)) /
                                             byteUnit(404 << 20).divisor));
                const double dx = std::max({box.left() - ring.x(), ring.x() - box.right(), 0.0});
                const double dy = std::max({box.top() - ring.y(), ring.y() - box.bottom(), 0.0});
                EXPECT_LE(std::hypot(dx, dy), 2.5 * box.height()) << words->text().toStdString();
                boxes.push_back(box);
            }
            EXPECT_EQ(boxes.size(), 2U) << size.width();
        }
}

// Runs without a trace

TEST_F(PlotsWindow, StepsThatAreOutOfRangeAreMarkedAtTheEdgeOfThePlot)
{
    StepsPlot plot;
    plot.resize(600, 240);
    std::vector<SweepProgress::Step> steps;
    for (const double ms : {1230, 1300, 1410, 9000}) // of the warm-up: three below the timed ones, one above
        steps.push_back({std::int64_t(steps.size()) - 4, ms * 1e6});
    for (const double ms : {1600, 1620, 1610, 1605})
        steps.push_back({std::int64_t(steps.size()) - 4, ms * 1e6});
    plot.show(steps, 8);
    std::size_t drawn = 0;
    for (int i = 0; i < plot.graphCount(); ++i)
        for (const QCPGraphData& each : *plot.graph(i)->data()) {
            EXPECT_TRUE(plot.yAxis->range().contains(each.value)) << each.value;
            EXPECT_TRUE(plot.xAxis->range().contains(each.key)) << each.key;
            ++drawn;
        }
    EXPECT_EQ(drawn, steps.size());
}

TEST_F(PlotsWindow, RunsWithoutATraceTakeNoRoomOnTheTimelineAndAreNamed)
{
    selectOf(study(), {3, 1, 4, 5, 2, 6, 7, 8});
    TimelineView& view = timeline();
    const std::vector<TimelineSection>& sections = view.scene().sections;
    ASSERT_EQ(sections.size(), 2U);
    EXPECT_EQ(sections[0].letter, QStringLiteral("B")) << "as the run list calls it";
    EXPECT_EQ(sections[1].letter, QStringLiteral("E"));
    const auto* untraced = window_.findChild<QLabel*>(QStringLiteral("untraced"));
    ASSERT_TRUE(untraced != nullptr && untraced->isVisible());
    EXPECT_TRUE(untraced->text().startsWith(QStringLiteral("6 of the selected runs")))
        << untraced->text().toStdString();
    for (const char* letter : {"A ", "C ", "D ", "F ", "G ", "H "})
        EXPECT_TRUE(untraced->text().contains(QString::fromLatin1(letter))) << letter;
    const auto& table = named<TableView>(QStringLiteral("Kernels of the span"));
    EXPECT_FALSE(table.table().rows.empty());
    EXPECT_EQ(table.table().columns.back().title.left(5), QStringLiteral("E − B"));
    const auto* span = window_.findChild<QLabel*>(QStringLiteral("span"));
    EXPECT_FALSE(span->text().contains(QStringLiteral("0\u2009ns"))) << span->text().toStdString();

    const int file = window_.workspace().files().back().id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    waitUntilSettled();
    EXPECT_FALSE(untraced->isVisible());
}

TEST_F(PlotsWindow, TheTimelineShowsTheFirst32OfManyTracedRunsAndSaysSo)
{
    const std::filesystem::path first = study();
    std::vector<RunKey> keys;
    for (int copy = 0; copy < 17; ++copy) {
        const std::filesystem::path file = folder_ / (std::to_string(copy) + ".tscope");
        std::filesystem::copy_file(first, file);
        window_.open({QString::fromStdString(file.string())});
        waitUntilSettled();
        for (const std::int64_t run : {1, 2})
            keys.push_back({window_.workspace().files().back().id, RunId{run}});
    }
    window_.workspace().select(keys);
    waitUntilSettled();
    EXPECT_EQ(timeline().scene().sections.size(), kMostTimelines);
    const auto* missing = window_.findChild<QLabel*>(QStringLiteral("untraced"));
    ASSERT_TRUE(missing != nullptr && missing->isVisible());
    EXPECT_EQ(missing->text(),
              QStringLiteral(
                  "Timelines of the first 32 traced runs; not shown: the last 2 runs of the selection."));
}

TEST_F(PlotsWindow, MemoryLanesOfAllRunsHaveOneScaleFromZero)
{
    selectOf(study(), {1, 2}); // 404 and 7 MiB
    TimelineView& view = timeline();
    const TimelineScene& scene = view.scene();
    ASSERT_EQ(scene.sections.size(), 2U);
    const QSize size = view.viewport()->size();
    QImage image(size, QImage::Format_RGB32);
    QPainter painter(&image);
    TimelinePainter().paint(painter, scene, size.width(), size.height());
    painter.end();
    double perByte[2] = {};
    double bandHeight = 0;
    for (const Band& band : scene.layout.bands) {
        const TimelineSection& section = scene.sections[band.section];
        if (band.kind != Band::Kind::Lane)
            continue;
        const query::Lane& lane = section.timeline->lanes[section.lanes[band.view].lane];
        if (lane.kind != query::Lane::Kind::Memory)
            continue;
        const std::size_t peak = lane.allocated.peak();
        const int top = scene.plot(size.width(), size.height()).top() - scene.scroll + band.top;
        int highest = band.height;
        for (int x = scene.sizes.label; x < size.width(); ++x)
            for (int y = 0; y < highest; ++y)
                if (image.pixel(x, std::clamp(top + y, 0, size.height() - 1)) == colours().activations.rgb())
                    highest = y;
        perByte[band.section] = (band.height - highest) / double(lane.allocated.value(peak));
        bandHeight = band.height;
    }
    // A pixel is what a height can be wrong by.
    const double bytes = double(scene.memoryRange().to);
    EXPECT_NEAR(perByte[0], bandHeight / bytes, 3 / (bytes / 1.1)) << "the taller of both";
    EXPECT_LT(perByte[1] * double(7 << 20), 5) << "7 MiB of 404 are next to nothing";
}

// Fit lanes

TEST_F(PlotsWindow, LanesThatAreMadeToFitFillTheViewAndAreAlikeInBothRuns)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    TimelineView& view = timeline();
    view.setFitsLanes(true);
    for (int height = 420; height <= 1000; height += 29) {
        window_.resize(1366, height);
        waitUntilSettled();
        const TimelineScene& scene = view.scene();
        const QSize size = view.viewport()->size();
        const int room = scene.plot(size.width(), size.height()).height();
        if (scene.layout.height > room)
            continue; // not even the lowest lanes fit
        std::map<std::string, std::set<int>> rows;
        for (const Band& band : scene.layout.bands)
            if (band.kind == Band::Kind::Lane) {
                const TimelineSection& section = scene.sections[band.section];
                rows[laneKey(*section.timeline, section.lanes[band.view].lane)].insert(band.rowHeight);
            }
        for (const auto& [lane, heights] : rows)
            EXPECT_EQ(heights.size(), 1U) << lane << " at " << height;
    }
}

// Segments

// 20 MiB with two blocks, 2 MiB with a small one, and one that is free.
std::filesystem::path snapshot(testing::FakeMemory& memory)
{
    constexpr std::int64_t kMiB = 1 << 20;
    memory.segment(0x10000000, 20 * kMiB).freeBlock(0x10000000, 20 * kMiB);
    memory.segment(0x20000000, 2 * kMiB).freeBlock(0x20000000, 2 * kMiB);
    memory.segment(0x30000000, 20 * kMiB).freeBlock(0x30000000, 20 * kMiB);
    memory.step(0, 5, 100'000);
    memory.alloc(0x10000000, 6 * kMiB - 100, 10, "step/forward");
    memory.alloc(0x10000000 + 6 * kMiB, 3 * kMiB - 7, 20'000, "step/backward", MemoryCategory::Gradients);
    memory.alloc(0x20000000, 1000, 30'000, "step/forward");
    memory.alloc(0x30000000, 1 * kMiB, 40'000, "step/forward").free(0x30000000, 60'000);
    return memory.file();
}

class SegmentsWindow : public PlotsWindow {
protected:
    void SetUp() override
    {
        PlotsWindow::SetUp();
        selectOf(snapshot(memory_), {1});
        clickRail(QStringLiteral("Memory"));
        page_ = &page<MemoryPage>("memory");
        choose(QStringLiteral("What the list shows"), 2);
        ASSERT_EQ(page_->table().model()->rowCount(), 3);
    }
    QModelIndex rowOf(std::uint64_t address)
    {
        const QAbstractItemModel& model = *page_->table().model();
        for (int row = 0; row < model.rowCount(); ++row)
            if (model.index(row, 0).data().toString() == QStringLiteral("0x%1").arg(address, 0, 16))
                return model.index(row, 0);
        throw std::runtime_error("no such segment");
    }
    std::uint32_t blockAt(std::uint64_t address)
    {
        const auto& blocks = page_->areas().runs().front().history->blocks;
        for (std::uint32_t i = 0; i < blocks.size(); ++i)
            if (blocks[i].address == address)
                return i;
        throw std::runtime_error("no such block");
    }
    testing::FakeMemory memory_{"snapshot"};
    MemoryPage* page_ = nullptr;
};

TEST_F(SegmentsWindow, AClickOnASegmentOfTheListMarksItInThePlots)
{
    for (const std::uint64_t address : {0x20000000ULL, 0x10000000ULL}) {
        clickRow(page_->table(), rowOf(address));
        EXPECT_EQ(page_->segments().selectedSegment().value_or(address), address);
        EXPECT_EQ(page_->blocks().selectedSegment(), address);
        EXPECT_FALSE(page_->blocks().selected());
        EXPECT_TRUE(statusText(1).startsWith(QStringLiteral("1 segment selected")))
            << statusText(1).toStdString();
    }
    choose(QStringLiteral("Placement of the blocks"), 2);
    EXPECT_EQ(page_->segments().selectedSegment(), 0x10000000ULL);
    EXPECT_EQ(page_->table().currentId(), std::int64_t(0x10000000));
}

TEST_F(SegmentsWindow, ASelectedBlockMarksTheSegmentThatItLiesIn)
{
    choose(QStringLiteral("Placement of the blocks"), 2);
    const auto clickPart = [this](std::uint64_t address) {
        const MemorySegments& view = page_->segments();
        for (std::size_t strip = 0; strip < view.strips().size(); ++strip)
            for (std::size_t part = 0; part < view.strips()[strip].parts.size(); ++part)
                if (view.strips()[strip].segment.address +
                        std::uint64_t(view.strips()[strip].parts[part].offset) ==
                    address) {
                    QTest::mouseClick(view.viewport(), Qt::LeftButton, {},
                                      view.rectOf(strip, part).center().toPoint());
                    waitUntilSettled();
                    return;
                }
        FAIL() << "nothing lies there";
    };
    clickPart(0x10000000 + 6 * (1 << 20));
    EXPECT_EQ(page_->blocks().selected(), blockAt(0x10000000 + 6 * (1 << 20)));
    EXPECT_EQ(page_->table().currentId(), std::int64_t(0x10000000));
    // The list of blocks then has the block, and the list of segments its segment again.
    choose(QStringLiteral("What the list shows"), 0);
    EXPECT_EQ(page_->table().currentId(), std::int64_t(blockAt(0x10000000 + 6 * (1 << 20))));
    choose(QStringLiteral("What the list shows"), 2);
    EXPECT_EQ(page_->table().currentId(), std::int64_t(0x10000000));
    // A click outside blocks selects the segment.
    clickPart(0x20000000 + 1024);
    EXPECT_EQ(page_->table().currentId(), std::int64_t(0x20000000));
    EXPECT_FALSE(page_->blocks().selected());
}

TEST_F(SegmentsWindow, ChoosingWhereBlocksStandMovesNoControl)
{
    auto& placement = named<SegmentedControl>(QStringLiteral("Placement of the blocks"));
    const QPoint before = placement.mapTo(&window_, QPoint(0, 0));
    for (const int index : {2, 1, 2, 0}) {
        choose(QStringLiteral("Placement of the blocks"), index);
        EXPECT_EQ(placement.mapTo(&window_, QPoint(0, 0)), before) << index;
    }
}

TEST_F(SegmentsWindow, ASnapshotSaysWhatItCountsAndWhatPyTorchCounts)
{
    QStringList labels;
    for (const QLabel* label : page_->findChildren<QLabel*>())
        if (label->isVisible())
            labels << label->text();
    const QString words = labels.join(QLatin1Char('\n'));
    EXPECT_TRUE(
        words.contains(QStringLiteral("requested 10.0\u2009MiB (allocated with rounding: 10.0\u2009MiB)")) ||
        words.contains(QStringLiteral("(allocated with rounding:")))
        << words.toStdString();
    bool hasRequested = false;
    bool hasAllocated = false;
    for (const TableRow& row : page_->shares().table().rows) {
        hasRequested = hasRequested || row.cells[0].text == QStringLiteral("requested");
        hasAllocated = hasAllocated || row.cells[0].text == QStringLiteral("allocated, with rounding");
    }
    EXPECT_TRUE(hasRequested && hasAllocated);
}

// Export

class ExportDialogWindow : public PlotsWindow {};

double meanDifference(const QImage& a, const QImage& b)
{
    double sum = 0;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x)
            sum += std::abs(qGray(a.pixel(x, y)) - qGray(b.pixel(x, y)));
    return sum / (double(a.width()) * a.height());
}

TEST_F(ExportDialogWindow, ThePreviewIsTheWholeOfWhatIsWrittenOnEveryPage)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    for (const QString& name : window_.pageNames()) {
        window_.showPage(name);
        waitUntilSettled();
        ExportDialog dialog(exportsOf(*window_.currentPage(), window_.dock()), name, {name}, &window_);
        dialog.show();
        auto& what = *dialog.findChild<QComboBox*>();
        const auto& shown = *dialog.findChild<QLabel*>(QStringLiteral("preview"));
        const auto all = exportsOf(*window_.currentPage(), window_.dock());
        for (int i = 0; i < what.count(); ++i) {
            what.setCurrentIndex(i);
            const QPixmap pixmap = shown.pixmap();
            const std::string which = name.toStdString() + ", " + what.currentText().toStdString();
            EXPECT_DOUBLE_EQ(pixmap.devicePixelRatio(), dialog.devicePixelRatio()) << which;
            EXPECT_LE(pixmap.deviceIndependentSize().width(), shown.width()) << which;
            EXPECT_LE(pixmap.deviceIndependentSize().height(), shown.height()) << which;
            const Exportable& one = all[std::size_t(i)];
            if (!one.draw)
                continue; // of a long table the upper part is shown
            const QImage drawn = pixmap.toImage().convertToFormat(QImage::Format_RGB32);
            const double scale = std::max(1.0, double(drawn.width()) / one.size.width());
            QImage whole = imageOf(one, one.size, scale).convertToFormat(QImage::Format_RGB32);
            whole.setDevicePixelRatio(1);
            whole = whole.scaled(drawn.size(), Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
            EXPECT_NEAR(double(drawn.width()) / drawn.height(), double(one.size.width()) / one.size.height(),
                        0.02 * one.size.width() / one.size.height())
                << which;
            EXPECT_LT(meanDifference(drawn, whole), 4) << which << " is not what is written";
        }
    }
}

TEST_F(ExportDialogWindow, ItsFieldsHaveNoButtonsThatAreNotDrawn)
{
    clickRail(QStringLiteral("Charts"));
    ExportDialog dialog(exportsOf(*window_.currentPage(), window_.dock()), {}, {}, &window_);
    QList<QAbstractSpinBox*> boxes = dialog.findChildren<QAbstractSpinBox*>();
    EXPECT_EQ(boxes.size(), 3);
    for (const QString& name : window_.pageNames())
        boxes += window_.page(name)->findChildren<QAbstractSpinBox*>();
    for (const QAbstractSpinBox* box : boxes)
        EXPECT_EQ(box->buttonSymbols(), QAbstractSpinBox::NoButtons) << box->accessibleName().toStdString();
}

TEST_F(ExportDialogWindow, AFileIsNamedByRecordingRunsPageAndContent)
{
    ExportDialog dialog({{QStringLiteral("the whole page"), {300, 200}},
                         {QStringLiteral("Timeline"), {300, 200}},
                         {QStringLiteral("Kernels of the span"), {300, 200}}},
                        QStringLiteral("demo #1 timeline"),
                        {QStringLiteral("Demo"), QStringLiteral("run1"), QStringLiteral("timeline")},
                        &window_);
    const char* names[] = {"Demo-run1-timeline.pdf", "Demo-run1-timeline.pdf",
                           "Demo-run1-timeline-kernels-of-the-span.pdf"};
    for (int i = 0; i < 3; ++i) {
        dialog.findChild<QComboBox*>()->setCurrentIndex(i);
        EXPECT_EQ(dialog.fileName(), QString::fromLatin1(names[i]));
    }
}

// Charts

TEST_F(PlotsWindow, AnySelectionGivesAChartWithoutZigZagAndWhatItSaysOfItIsWhole)
{
    const std::filesystem::path file = study();
    const std::vector<std::vector<std::int64_t>> selections{
        {2, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8}, {5, 7}, {1, 2}, {1}};
    for (const std::vector<std::int64_t>& runs : selections) {
        selectOf(file, runs);
        clickRail(QStringLiteral("Charts"));
        auto& charts = page<ChartsPage>("charts");
        EXPECT_NE(charts.recipe().series, QStringLiteral("trace"));
        std::size_t points = 0;
        for (const ChartSeries& series : charts.chart().series) {
            points += series.points.size();
            for (std::size_t i = 1; i < series.points.size(); ++i)
                EXPECT_LT(series.points[i - 1].x, series.points[i].x) << series.name.toStdString();
        }
        EXPECT_EQ(points, runs.size()) << "no run is lost";
        std::size_t cells = 0;
        for (const TableRow& row : named<TableView>(QStringLiteral("Data of the chart")).table().rows)
            for (const TableCell& cell : row.cells)
                cells += std::isnan(cell.sort) ? 0 : 1;
        EXPECT_EQ(cells, points) << "the table has what the chart shows";
        const auto* note = charts.findChild<QLabel*>(QStringLiteral("note"));
        if (note->isVisible()) {
            EXPECT_TRUE(note->wordWrap());
            EXPECT_GE(note->height(), note->heightForWidth(note->width())) << note->text().toStdString();
        }
    }
}

// The recipe as a word of the command gives the same values as the page: the program draws it as CSV.
TEST_F(PlotsWindow, TheCopiedCommandOfAChartGivesTheSameValues)
{
    const std::filesystem::path file = study();
    const std::vector<std::vector<std::int64_t>> selections{{3, 4, 5, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
    for (const std::vector<std::int64_t>& runs : selections) {
        selectOf(file, runs);
        clickRail(QStringLiteral("Charts"));
        auto& charts = page<ChartsPage>("charts");
        ChartRecipe recipe = charts.recipe();
        recipe.title = QStringLiteral("Anna's chart");
        recipe.y = QStringLiteral("peak memory");
        recipe.fit = ChartRecipe::Fit::Power;
        charts.setRecipe(recipe);
        QTest::keyClick(&window_, Qt::Key_C, Qt::ControlModifier | Qt::AltModifier);
        const std::string command = QApplication::clipboard()->text().toStdString();
        std::vector<std::string> words = splitShellWords(command);
        ASSERT_EQ(words.at(0), "tilescope-gui") << command;
        EXPECT_EQ(ChartRecipe::fromJson(QByteArray::fromStdString(words.at(2)), {}).runs.isEmpty(),
                  runs.size() == 9)
            << "all runs of a file need no names: " << command;
        QStringList arguments;
        for (std::size_t i = 1; i < words.size(); ++i)
            arguments << QString::fromStdString(words[i]);
        QProcess program;
        program.setWorkingDirectory(QString::fromStdString(folder_.path().string()));
        program.start(QStringLiteral(WINDOW_PROGRAM), arguments);
        ASSERT_TRUE(program.waitForFinished(kTimeoutMs));
        EXPECT_EQ(program.exitCode(), 0) << program.readAllStandardError().toStdString();
        QFile csv(QString::fromStdString((folder_.path() / words.at(4) / "chart.csv").string()));
        ASSERT_TRUE(csv.open(QIODevice::ReadOnly)) << command;
        EXPECT_EQ(csv.readAll().toStdString(), csvOf(chartRows(charts.chart())).toStdString());
    }
    window_.workspace().select({});
    waitUntilSettled();
    EXPECT_TRUE(page<ChartsPage>("charts").command().isEmpty()) << "without a chart there is nothing to draw";
}

} // namespace
} // namespace tilescope::ui
