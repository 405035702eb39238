// The timeline as a person uses it: ties between boxes, lanes, notes, menus and keys.

#include "core/query/steps/step_tables.h"
#include "tests/ui/text_recorder.h"
#include "tests/ui/window_fixture.h"
#include "ui/kit/exporter.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/timeline_actions.h"
#include "ui/timeline/timeline_notebook.h"
#include "ui/timeline/timeline_notes.h"
#include "ui/timeline/timeline_page.h"
#include "ui/timeline/timeline_ties.h"
#include "ui/window/help_page.h"
#include "ui/window/page_exports.h"

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <QTextBrowser>

#include <fstream>
#include <map>

namespace tilescope::ui {
namespace {

using query::Hue;
using query::Lane;

class TimelineWindowTest : public WindowTest {
protected:
    void SetUp() override
    {
        QSettings().clear();
        WindowTest::SetUp();
        view_ = &openTimeline();
    }

    void showBothRuns()
    {
        const int file = window_.workspace().files()[0].id;
        window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
        waitUntilSettled();
    }

    const query::Timeline& timeline(std::size_t section = 0) const
    {
        return *view_->scene().sections[section].timeline;
    }
    std::size_t laneOf(Lane::Kind kind, std::size_t section = 0) const
    {
        for (std::size_t l = 0; l < timeline(section).lanes.size(); ++l)
            if (timeline(section).lanes[l].kind == kind)
                return l;
        throw std::runtime_error("no such lane");
    }
    std::size_t viewOf(std::size_t lane) const
    {
        const std::vector<LaneView>& lanes = view_->scene().sections[0].lanes;
        for (std::size_t v = 0; v < lanes.size(); ++v)
            if (lanes[v].lane == lane)
                return v;
        throw std::runtime_error("no such lane");
    }
    std::string nameOf(const SectionItem& item) const
    {
        const query::Timeline& shown = timeline(item.section);
        return shown.names[shown.lanes[item.item.lane].rows[item.item.row].name(item.item.index)].text;
    }
    std::string selectedName() const
    {
        return view_->scene().selected ? nameOf(*view_->scene().selected) : std::string();
    }
    QSize size() const { return view_->viewport()->size(); }
    QRect rectOf(const SectionItem& item) const
    {
        return view_->scene().rectOf(item, size().width(), size().height());
    }
    QRect labelOf(std::size_t lane) const
    {
        const TimelineScene& scene = view_->scene();
        for (const Band& band : scene.layout.bands)
            if (band.kind == Band::Kind::Lane && band.section == 0 &&
                scene.sections[0].lanes[band.view].lane == lane)
                return {0, scene.plot(size().width(), size().height()).top() - scene.scroll + band.top,
                        scene.sizes.label, band.height};
        return {};
    }
    void click(QPoint at)
    {
        QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, at);
        waitUntilSettled();
    }
    void clickBox(const SectionItem& item)
    {
        view_->reveal(item);
        waitUntilSettled();
        click(rectOf(item).center());
        ASSERT_EQ(view_->scene().selected, item);
    }
    void key(int key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(view_, Qt::Key(key), modifiers);
        waitUntilSettled();
    }
    SectionItem firstKernel(const char* part) const
    {
        const std::size_t lane = laneOf(Lane::Kind::Stream);
        const query::Track& row = timeline().lanes[lane].rows[0];
        for (std::size_t i = 0; i < row.size(); ++i)
            if (timeline().names[row.name(i)].text.find(part) != std::string::npos)
                return {0, {lane, 0, i}};
        throw std::runtime_error("no such kernel");
    }
    QString recording() const { return QString::fromStdString((folder_ / "lm.tscope").string()); }
    QByteArray bytesOf(const QString& file) const
    {
        QFile input(file);
        return input.open(QIODevice::ReadOnly) ? input.readAll() : QByteArray();
    }
    void writeNote(const QString& text)
    {
        key(Qt::Key_B);
        auto& line = named<QLineEdit>(QStringLiteral("Note"));
        ASSERT_TRUE(line.isVisible());
        QTest::keyClicks(&line, text);
        QTest::keyClick(&line, Qt::Key_Return);
        waitUntilSettled();
    }

    TimelineView* view_ = nullptr;
};

TEST_F(TimelineWindowTest, TheHeaderPartitionsTheStepAsTheTablesDo)
{
    showBothRuns();
    TextRecorder recorder(size());
    view_->viewport()->render(&recorder);
    QStringList texts;
    for (const TextRecorder::Text& text : recorder.texts())
        texts << text.words.trimmed();
    const SelectedRun run = window_.workspace().selectedRuns().front();
    const auto session = run.file->borrow();
    const std::vector<query::StepRow> steps = query::stepsOf(session->reader(), run.key.run);
    ASSERT_FALSE(steps.empty());
    const analysis::StepPartition& parts = steps.front().partition;
    EXPECT_EQ(parts.gpuBusy + parts.launching + parts.synchronizing + parts.tracing + parts.unexplained,
              parts.wall.end - parts.wall.start);
    EXPECT_GT(parts.launching.count(), 0);
    const double wall = double((parts.wall.end - parts.wall.start).count());
    for (const auto& [word, time] : {std::pair("busy", parts.gpuBusy), {"host launching", parts.launching}}) {
        const QString share = percentText(double(time.count()) / wall);
        EXPECT_TRUE(texts.join(QLatin1Char(' ')).contains(QLatin1String(word) + QLatin1Char(' ') + share))
            << word << ' ' << share.toStdString() << " in " << texts.join(QLatin1Char('|')).toStdString();
    }
}

TEST_F(TimelineWindowTest, AKernelIsTiedToItsLaunchAndTheKeysGoBothWays)
{
    const SectionItem kernel = firstKernel("softmax_warp_forward");
    clickBox(kernel);
    ASSERT_EQ(view_->scene().links.size(), 2U) << "its launch, and the backward of its op";
    EXPECT_EQ(nameOf(view_->scene().links[1].from), "cudaLaunchKernel") << "ops are tied, not kernels";
    key(Qt::Key_L);
    EXPECT_EQ(selectedName(), "cudaLaunchKernel");
    key(Qt::Key_L);
    EXPECT_EQ(view_->scene().selected, kernel);
    key(Qt::Key_O);
    EXPECT_EQ(selectedName(), "autograd::engine::evaluate_function: SoftmaxBackward0");
    key(Qt::Key_O);
    EXPECT_EQ(selectedName(), "aten::softmax");
    key(Qt::Key_Escape);
    EXPECT_TRUE(view_->scene().links.empty());
}

TEST_F(TimelineWindowTest, LaunchesOfAllVisibleEventsAreDrawnIfTheyCanBeDistinguished)
{
    const SectionItem kernel = firstKernel("softmax_warp_forward");
    view_->select(kernel);
    view_->zoomToSelection();
    ASSERT_TRUE(QTest::qWaitFor([this] { return !view_->scene().launches.empty(); }, kTimeoutMs));
    for (const SceneLink& link : view_->scene().launches)
        EXPECT_EQ(nameOf(link.from), "cudaLaunchKernel");
}

TEST_F(TimelineWindowTest, AllInstancesOfAKernelAreRingedCountedAndSteppedThrough)
{
    showBothRuns();
    const SectionItem kernel = firstKernel("softmax_warp_forward");
    clickBox(kernel);
    std::size_t instances = 0;
    for (std::size_t s = 0; s < 2; ++s) {
        const query::Track& row = timeline(s).lanes[laneOf(Lane::Kind::Stream, s)].rows[0];
        for (std::size_t i = 0; i < row.size(); ++i)
            instances += timeline(s).names[row.name(i)].text == nameOf(kernel) ? 1 : 0;
    }
    ASSERT_GT(instances, 2U);
    ASSERT_TRUE(view_->scene().instances);
    EXPECT_EQ(view_->scene().instances->size(), instances);
    const auto counted = [&](std::size_t at) {
        const QString words = QStringLiteral("%1 of %2 instances").arg(at).arg(instances);
        for (const QPushButton* button :
             window_.page(QStringLiteral("timeline"))->findChildren<QPushButton*>())
            if (button->text().startsWith(words) && button->isVisible())
                return true;
        return false;
    };
    EXPECT_TRUE(counted(1));
    key(Qt::Key_BracketRight);
    EXPECT_NE(view_->scene().selected, kernel);
    EXPECT_EQ(selectedName(), nameOf(kernel));
    EXPECT_TRUE(counted(2));
    key(Qt::Key_BracketLeft);
    EXPECT_EQ(view_->scene().selected, kernel);
    key(Qt::Key_BracketLeft);
    EXPECT_TRUE(counted(instances)) << "before the first is the last";
    EXPECT_EQ(view_->scene().selected->section, 1U);
}

TEST_F(TimelineWindowTest, AClickOnALabelFoldsADragMovesAndBothAreRemembered)
{
    showBothRuns();
    const std::size_t stream = laneOf(Lane::Kind::Stream);
    const std::size_t memory = laneOf(Lane::Kind::Memory);
    click(labelOf(stream).center());
    EXPECT_TRUE(view_->scene().sections[0].lanes[viewOf(stream)].folded);
    EXPECT_TRUE(view_->scene().sections[1].lanes[viewOf(stream)].folded) << "the same lane of both runs";
    const std::size_t place = viewOf(stream);
    drag(*view_->viewport(), labelOf(memory).center(), labelOf(stream).center());
    EXPECT_EQ(viewOf(memory), place);
    EXPECT_EQ(viewOf(stream), place + 1);
    EXPECT_EQ(view_->scene().sections[1].lanes[place].lane, laneOf(Lane::Kind::Memory, 1));
    // The arrangement is stored when the mouse rests.
    ASSERT_TRUE(QTest::qWaitFor(
        [this] { return LaneArrangement::read(recording()) == arrangementOf(view_->scene().sections[0]); },
        kTimeoutMs));

    MainWindow another;
    another.open({recording()});
    another.show();
    another.showPage(QStringLiteral("timeline"));
    waitUntilSettled();
    const TimelineScene& scene =
        dynamic_cast<TimelinePage&>(*another.page(QStringLiteral("timeline"))).view().scene();
    ASSERT_FALSE(scene.sections.empty());
    EXPECT_EQ(scene.sections[0].lanes, view_->scene().sections[0].lanes);
}

TEST_F(TimelineWindowTest, LanesAreChosenMovedHiddenAndScaledByTheKeyboard)
{
    key(Qt::Key_Down, Qt::ControlModifier);
    key(Qt::Key_Down, Qt::ControlModifier);
    ASSERT_TRUE(view_->currentLane());
    const std::size_t lane = view_->scene().sections[0].lanes[view_->currentLane()->view].lane;
    const std::size_t place = viewOf(lane);
    ASSERT_EQ(place, 1U);
    key(Qt::Key_Up, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_EQ(viewOf(lane), place - 1);
    key(Qt::Key_Down, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_EQ(viewOf(lane), place);
    const int height = labelOf(lane).height();
    key(Qt::Key_Plus, Qt::ControlModifier);
    EXPECT_GT(labelOf(lane).height(), height);
    key(Qt::Key_Minus, Qt::ControlModifier);
    EXPECT_EQ(labelOf(lane).height(), height);
    key(Qt::Key_C);
    EXPECT_TRUE(view_->scene().sections[0].lanes[place].folded);
    key(Qt::Key_H);
    EXPECT_TRUE(labelOf(lane).isNull());
    key(Qt::Key_H, Qt::ShiftModifier);
    EXPECT_FALSE(labelOf(lane).isNull());
    key(Qt::Key_0, Qt::ControlModifier);
    EXPECT_EQ(view_->scene().sections[0].lanes, makeSection(view_->scene().sections[0].timeline).lanes);
}

TEST_F(TimelineWindowTest, TheLowerEdgeOfALabelSetsTheLanesHeight)
{
    const std::size_t memory = laneOf(Lane::Kind::Memory);
    const QRect label = labelOf(memory);
    drag(*view_->viewport(), label.bottomLeft() + QPoint(20, 0), label.bottomLeft() + QPoint(20, 36));
    EXPECT_NEAR(labelOf(memory).height(), label.height() + 36, 2);
    EXPECT_FALSE(view_->scene().sections[0].lanes[viewOf(memory)].folded) << "a drag is no click";
}

TEST_F(TimelineWindowTest, TheLanesMenuHidesAndShows)
{
    const std::size_t memory = laneOf(Lane::Kind::Memory);
    QMenu menu;
    page<TimelinePage>("timeline").actions().fillLanes(menu);
    const auto entry = [&menu] {
        for (QAction* action : menu.actions())
            if (action->text() == QLatin1String("Memory"))
                return action;
        throw std::runtime_error("no such lane in the menu");
    };
    EXPECT_TRUE(entry()->isChecked());
    entry()->trigger();
    EXPECT_TRUE(labelOf(memory).isNull());
    page<TimelinePage>("timeline").actions().fillLanes(menu);
    EXPECT_FALSE(entry()->isChecked());
    entry()->trigger();
    EXPECT_FALSE(labelOf(memory).isNull());
}

TEST_F(TimelineWindowTest, ANoteIsKeptBesideTheRecordingListedJumpedToAndRemoved)
{
    const QByteArray before = bytesOf(recording());
    const SectionItem kernel = firstKernel("softmax_warp_forward");
    clickBox(kernel);
    writeNote(QStringLiteral("why so long? <b>"));
    ASSERT_EQ(view_->scene().notes.size(), 1U);
    const query::Track& row = timeline().lanes[kernel.item.lane].rows[0];
    EXPECT_EQ(view_->scene().notes[0].at, row.start(kernel.item.index));
    EXPECT_EQ(bytesOf(recording()), before) << "the recording is not touched";
    const std::vector<TimelineNote> kept = readNotes(notesFileOf(recording()));
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_EQ(kept[0].text, QStringLiteral("why so long? <b>"));

    key(Qt::Key_Escape);
    moveTo(*view_->viewport(), {3 * size().width() / 4, size().height() / 2}); // away from the first flag
    writeNote({});                                                             // a bookmark
    ASSERT_EQ(view_->scene().notes.size(), 2U);
    key(Qt::Key_B, Qt::ShiftModifier);
    auto& table = named<TableView>(QStringLiteral("Notes"));
    ASSERT_EQ(table.model()->rowCount(), 2);
    view_->setWindow({double(row.end(row.size() - 1)) * 0.9, double(row.end(row.size() - 1))});
    for (int i = 0; i < 2; ++i)
        if (table.model()->index(i, 1).data().toString().startsWith(QStringLiteral("why")))
            clickRow(table, table.model()->index(i, 1));
    EXPECT_LE(view_->window().from, view_->scene().sections[0].toAxis(double(kept[0].at)));
    EXPECT_GE(view_->window().to, view_->scene().sections[0].toAxis(double(kept[0].at)));
    const TimelineScene& scene = view_->scene();
    const QPoint flag(int(scene.xOf(scene.sections[0].toAxis(double(kept[0].at)), size().width())) + 3,
                      scene.ruler(size().width()).bottom() - 4);
    view_->setSpan({});
    click(flag);
    ASSERT_TRUE(view_->scene().span) << "a click on its flag selects what it is about";
    EXPECT_NEAR(view_->scene().span->length(), double(kept[0].length), 1);
    key(Qt::Key_Escape);
    key(Qt::Key_B, Qt::ShiftModifier);
    ASSERT_EQ(table.model()->rowCount(), 2);
    for (int i = 0; i < 2; ++i)
        if (table.model()->index(i, 1).data().toString().startsWith(QStringLiteral("why")))
            clickRow(table, table.model()->index(i, 1));
    table.setFocus();
    QTest::keyClick(&table, Qt::Key_Delete);
    waitUntilSettled();
    EXPECT_EQ(table.model()->rowCount(), 1);
    EXPECT_EQ(readNotes(notesFileOf(recording())).size(), 1U);
}

TEST_F(TimelineWindowTest, ASidecarThatIsNoneIsSaidAndLeftAlone)
{
    const QString sidecar = notesFileOf(recording());
    std::ofstream(sidecar.toStdString()) << "\x01 not what it says it is";
    const QByteArray before = bytesOf(sidecar);
    MainWindow another;
    another.open({recording()});
    another.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&another, kTimeoutMs));
    QStringList said;
    TimelinePage& timelinePage = dynamic_cast<TimelinePage&>(*another.page(QStringLiteral("timeline")));
    QObject::connect(&timelinePage.notebook(), &TimelineNotebook::problem, &another,
                     [&said](const QString& sentence) { said << sentence; });
    another.showPage(QStringLiteral("timeline"));
    waitUntilSettled();
    ASSERT_EQ(said.size(), 1);
    EXPECT_TRUE(said[0].contains(QStringLiteral(".notes.json"))) << said[0].toStdString();
    timelinePage.notebook().startNote();
    for (QLineEdit* line : another.findChildren<QLineEdit*>())
        if (line->accessibleName() == QLatin1String("Note"))
            QTest::keyClick(line, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(said.size(), 2) << "it cannot be kept, and that is said";
    EXPECT_EQ(timelinePage.view().scene().notes.size(), 1U) << "kept for now";
    EXPECT_EQ(bytesOf(sidecar), before);
}

TEST_F(TimelineWindowTest, RightClickAndTheMenuKeyOfferWhatCanBeDone)
{
    const SectionItem kernel = firstKernel("softmax_warp_forward");
    clickBox(kernel);
    const auto offered = [this] {
        QStringList texts;
        for (QMenu* menu : view_->findChildren<QMenu*>(QString(), Qt::FindDirectChildrenOnly)) {
            if (!menu->isVisible())
                continue;
            for (const QAction* action : menu->actions())
                texts << action->text();
            menu->close();
        }
        waitUntilSettled();
        return texts;
    };
    const auto ask = [this](QContextMenuEvent::Reason reason, QPoint at) {
        QContextMenuEvent event(reason, at, view_->viewport()->mapToGlobal(at));
        QApplication::sendEvent(view_->viewport(), &event);
    };
    ask(QContextMenuEvent::Mouse, rectOf(kernel).center());
    const QStringList byMouse = offered();
    EXPECT_TRUE(byMouse.contains(QStringLiteral("Go to its launch, or to what it launched")));
    EXPECT_TRUE(byMouse.contains(QStringLiteral("Next instance of the kernel")));
    ask(QContextMenuEvent::Keyboard, {});
    EXPECT_EQ(offered(), byMouse);
    ask(QContextMenuEvent::Mouse, labelOf(kernel.item.lane).center());
    const QStringList ofLane = offered();
    EXPECT_TRUE(ofLane.contains(QStringLiteral("Hide the lane")));
    EXPECT_FALSE(ofLane.contains(QStringLiteral("Next instance of the kernel")));
}

TEST_F(TimelineWindowTest, TheHistoryTakesABurstOfWheelTurnsAsOneStep)
{
    const TimeWindow whole = view_->window();
    ASSERT_FALSE(view_->canGoBack());
    view_->setBurst(std::chrono::hours(1));
    for (int i = 0; i < 4; ++i)
        wheel(*view_->viewport(), view_->viewport()->rect().center(), 1, Qt::ControlModifier);
    const TimeWindow close = view_->window();
    view_->setBurst(std::chrono::milliseconds(0));
    wheel(*view_->viewport(), view_->viewport()->rect().center(), 1, Qt::ControlModifier);
    const TimeWindow closer = view_->window();
    key(Qt::Key_Left, Qt::AltModifier);
    EXPECT_EQ(view_->window(), close);
    key(Qt::Key_Left, Qt::AltModifier);
    EXPECT_EQ(view_->window(), whole);
    EXPECT_FALSE(view_->canGoBack());
    key(Qt::Key_Right, Qt::AltModifier);
    key(Qt::Key_Right, Qt::AltModifier);
    EXPECT_EQ(view_->window(), closer);
}

TEST_F(TimelineWindowTest, ARangeIsSelectedInBothRunsWhereEachHasIt)
{
    showBothRuns();
    const std::size_t ranges = laneOf(Lane::Kind::Ranges);
    const std::vector<query::Track>& rows = timeline().lanes[ranges].rows;
    std::optional<SectionItem> attention;
    for (std::size_t r = 0; r < rows.size() && !attention; ++r)
        for (std::size_t i = 0; i < rows[r].size() && !attention; ++i)
            if (rows[r].hue(i) == Hue::RangeAttention)
                attention = SectionItem{0, {ranges, r, i}};
    ASSERT_TRUE(attention);
    clickBox(*attention);
    const auto& selected = view_->scene().selectedRange;
    ASSERT_EQ(selected.size(), 2U);
    ASSERT_TRUE(selected[0] && selected[1]);
    EXPECT_DOUBLE_EQ(selected[0]->length(), double(rows[attention->item.row].length(attention->item.index)));
    EXPECT_LT(selected[1]->length(), selected[0]->length()) << "flash is faster";
    key(Qt::Key_Escape);
    EXPECT_TRUE(view_->scene().selectedRange.empty());
}

TEST_F(TimelineWindowTest, TheBandBetweenTwoRunsTellsWhyTheyDiffer)
{
    showBothRuns();
    const TimelineScene& scene = view_->scene();
    const auto band = std::ranges::find(scene.layout.bands, Band::Kind::Difference, &Band::kind);
    ASSERT_NE(band, scene.layout.bands.end());
    const QSize size = view_->viewport()->size();
    const QPoint at(size.width() / 2,
                    scene.plot(size.width(), size.height()).top() + scene.topOf(*band) + band->height / 2);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !view_->causesAt(at).isEmpty(); }, kTimeoutMs));
    const QString causes = view_->causesAt(at).join(QLatin1Char('\n'));
    EXPECT_TRUE(causes.contains(QStringLiteral("attention"))) << causes.toStdString();
    EXPECT_TRUE(causes.contains(QStringLiteral("softmax"))) << causes.toStdString();
    EXPECT_TRUE(view_->causesAt({at.x(), 1}).isEmpty()) << "only the band tells it";
}

TEST_F(TimelineWindowTest, AGapExplainsWhatTheDeviceWaitsFor)
{
    const std::size_t busy = laneOf(Lane::Kind::Busy);
    const query::Track& row = timeline().lanes[busy].rows[0];
    std::size_t gap = 0;
    while (gap < row.size() && row.hue(gap) != Hue::GapLaunching)
        ++gap;
    ASSERT_LT(gap, row.size());
    view_->select(SectionItem{0, {busy, 0, gap}});
    view_->zoomToSelection();
    waitUntilSettled();
    moveTo(*view_->viewport(), rectOf({0, {busy, 0, gap}}).center());
    const QString text = view_->hoverText();
    EXPECT_TRUE(text.startsWith(QStringLiteral("Idle "))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("host launching"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("waits for "))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("stream 7"))) << text.toStdString();
}

TEST_F(TimelineWindowTest, TwoRunsLeaveAsShapesWithText)
{
    showBothRuns();
    const auto all = exportablesOf(page<TimelinePage>("timeline"), QStringLiteral("page"));
    const auto view = std::find_if(
        all.begin(), all.end(), [](const Exportable& one) { return one.name == QLatin1String("Timeline"); });
    ASSERT_NE(view, all.end());
    const QString svg = QString::fromStdString((folder_ / "t.svg").string());
    const QString pdf = QString::fromStdString((folder_ / "t.pdf").string());
    const ExportOptions options{ExportFormat::Svg, QSize(1200, 800), 1,
                                QStringLiteral("naive against flash")};
    writeExport(*view, options, svg);
    const QByteArray shapes = bytesOf(svg);
    for (const char* text : {">attention<", ">naive<", ">flash<", ">step 0<", ">GPU busy<"})
        EXPECT_TRUE(shapes.contains(text)) << text;
    EXPECT_FALSE(shapes.contains("<image")) << "boxes are shapes";
    ExportOptions paper = options;
    paper.format = ExportFormat::Pdf;
    writeExport(*view, paper, pdf);
    EXPECT_TRUE(bytesOf(pdf).startsWith("%PDF"));
    EXPECT_TRUE(bytesOf(pdf).contains("/Font"));
}

TEST_F(TimelineWindowTest, ALaunchThatIsUnknownIsNotRecorded)
{
    test::writeLargeFile(folder_ / "bare.tscope", 100, 1); // kernels without launch configuration
    window_.open({QString::fromStdString((folder_ / "bare.tscope").string())});
    waitUntilSettled();
    window_.workspace().select({{window_.workspace().files().back().id, RunId{1}}});
    waitUntilSettled();
    clickBox(firstKernel("softmax"));
    std::map<QString, QStringList> found;
    for (const KeyValueTable* table : page<TimelinePage>("timeline").findChildren<KeyValueTable*>())
        for (const KeyValueRow& row : table->rows())
            found[row.key] = row.values;
    for (const char* key : {"Grid, block", "Registers", "Shared memory"})
        EXPECT_EQ(found[QString::fromUtf8(key)], QStringList(QStringLiteral("not recorded"))) << key;
}

} // namespace
} // namespace tilescope::ui
