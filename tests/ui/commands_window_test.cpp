// The commands of the command line in the window: the critical path, what-if, and those that the menu Tools runs.

#include "core/query/file_session.h"
#include "core/query/path/path_tables.h"
#include "core/query/path/what_if_table.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_ranks.h"
#include "tests/ui/window_fixture.h"
#include "ui/kit/table_view.h"
#include "ui/overview/key_figure_card.h"
#include "ui/timeline/timeline_actions.h"
#include "ui/timeline/timeline_path.h"
#include "ui/window/command_dialog.h"
#include "ui/window/key_sheet.h"
#include "ui/window/palette_entries.h"
#include "ui/window/what_if_dialog.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <set>

namespace tilescope::ui {
namespace {

class CommandsTest : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
#ifdef TILESCOPE_PROGRAM
        qputenv("TILESCOPE_CLI", TILESCOPE_PROGRAM);
#endif
    }
    void TearDown() override
    {
        qunsetenv("TILESCOPE_CLI");
    }

    QString file()
    {
        return QString::fromStdString((folder_ / "lm.tscope").string());
    }

    CommandDialog& dialogOf(Command command)
    {
        dialog_ = std::make_unique<CommandDialog>(command, window_.workspace().selectedRuns(),
                                                  QStringList{file()}, &window_);
        dialog_->show();
        waitUntilSettled();
        return *dialog_;
    }
    template <class Kind> Kind& in(QWidget& dialog, const char* accessibleName)
    {
        for (Kind* widget : dialog.findChildren<Kind*>())
            if (widget->accessibleName() == QLatin1String(accessibleName))
                return *widget;
        throw std::runtime_error(std::string("there is no ") + accessibleName);
    }
    QPushButton& button(QWidget& dialog, const QString& text)
    {
        for (QPushButton* each : dialog.findChildren<QPushButton*>())
            if (each->text() == text)
                return *each;
        throw std::runtime_error("there is no " + text.toStdString());
    }

    std::unique_ptr<CommandDialog> dialog_;
};

TEST_F(CommandsTest, ShowsTheCriticalPathOverTheBoxesAndInTheTable)
{
    TimelineView& view = openTimeline();
    QTest::keyClick(&view, Qt::Key_X);
    waitUntilSettled();
    ASSERT_NE(view.scene().path, nullptr);
    const query::TimelineStep step = *view.scene().sections.front().step;
    query::FileSession session(folder_ / "lm.tscope");
    const query::PathTable known =
        query::criticalPaths(session.reader(), {.run = RunId{1}, .step = step.step});
    const TableView& table = named<TableView>(QStringLiteral("Segments of the critical path"));
    EXPECT_EQ(table.table().rows.size(), known.rows.front().segments.size());
    std::int64_t covered = 0;
    std::int64_t last = step.start;
    for (const ScenePath::Part& part : view.scene().path->parts) {
        EXPECT_GE(part.start, last) << "the parts are in order and do not overlap";
        last = part.end;
        covered += part.end - part.start;
    }
    EXPECT_LE(covered, step.end - step.start);
    EXPECT_GT(covered, (step.end - step.start) / 2);
    EXPECT_EQ(window_.currentPage()->command(),
              QStringLiteral("tilescope show %1 path --run 1 --step %2").arg(file()).arg(step.step));
    const QImage with = view.grab().toImage();
    QTest::keyClick(&view, Qt::Key_X);
    waitUntilSettled();
    EXPECT_EQ(view.scene().path, nullptr);
    EXPECT_NE(view.grab().toImage(), with) << "the path was drawn";
    EXPECT_NO_THROW(named<TableView>(QStringLiteral("Kernels of the span")));
}

TEST_F(CommandsTest, ASegmentOfThePathSelectsItsBox)
{
    TimelineView& view = openTimeline();
    QTest::keyClick(&view, Qt::Key_X);
    waitUntilSettled();
    TableView& table = named<TableView>(QStringLiteral("Segments of the critical path"));
    int selected = 0;
    for (const TableRow& row : table.table().rows) {
        view.select({});
        emit table.chosen(row.id);
        selected += view.scene().selected ? 1 : 0;
    }
    EXPECT_GT(selected, 0);
    EXPECT_NO_THROW(named<TableView>(QStringLiteral("Segments of the critical path")))
        << "the table stays while its boxes are selected";
}

TEST_F(CommandsTest, TheTableOfASpanIsThatOfTheCurrentLane)
{
    TimelineView& view = openTimeline();
    const query::TimelineStep step = *view.scene().sections.front().step;
    const TimelineSection& section = view.scene().sections.front();
    view.setSpan(TimeWindow{section.toAxis(double(step.start)), section.toAxis(double(step.end))});
    waitUntilSettled();
    const auto title = [this] {
        for (const QLabel* label : window_.currentPage()->findChildren<QLabel*>())
            if (label->isVisible() && label->text().startsWith(QStringLiteral("Span")))
                return label->text();
        return QString();
    };
    EXPECT_EQ(title(), QStringLiteral("Span"));
    const auto& table = named<TableView>(QStringLiteral("Kernels of the span"));
    const std::size_t all = table.table().rows.size();
    std::set<QString> titles;
    bool hasOps = false;
    for (std::size_t lane = 0; lane < section.lanes.size(); ++lane) {
        QTest::keyClick(&view, Qt::Key_Down, Qt::ControlModifier);
        waitUntilSettled();
        const query::Lane& current =
            section.timeline->lanes[section.lanes[view.scene().currentLane->view].lane];
        if (current.kind == query::Lane::Kind::Stream || current.kind == query::Lane::Kind::Thread) {
            EXPECT_EQ(title(), QStringLiteral("Span, ") + QString::fromStdString(current.title));
            hasOps =
                hasOps || (current.kind == query::Lane::Kind::Thread &&
                           table.table().rows.front().cells.front().exact.contains(QStringLiteral("::")));
        } else {
            EXPECT_EQ(title(), QStringLiteral("Span"));
            EXPECT_EQ(table.table().rows.size(), all);
        }
        titles.insert(title());
    }
    EXPECT_GE(titles.size(), 3U);
    EXPECT_TRUE(hasOps) << "the ops of a thread";
}

TEST_F(CommandsTest, ManyLanesAreListedByKind)
{
    testing::writeFakeRanks(folder_ / "group.tscope", {.ranks = 8, .lateRank = 1});
    window_.open({QString::fromStdString((folder_ / "group.tscope").string())});
    waitUntilSettled();
    TimelineView& view = openTimeline();
    waitUntilSettled();
    QMenu menu;
    TimelineActions& actions = page<TimelinePage>("timeline").actions();
    actions.fillLanes(menu);
    const auto ofKind = [&menu](const char* title) {
        for (QAction* action : menu.actions())
            if (action->menu() != nullptr && action->text() == QLatin1String(title))
                return action->menu();
        throw std::runtime_error(std::string("no lanes of kind ") + title);
    };
    const auto shown = [&view](query::Lane::Kind kind) {
        const TimelineSection& section = view.scene().sections.front();
        return std::ranges::count_if(section.lanes, [&](const LaneView& lane) {
            return section.timeline->lanes[lane.lane].kind == kind && !lane.hidden;
        });
    };
    EXPECT_EQ(shown(query::Lane::Kind::Ranges), 8);
    ofKind("Ranges")->actions().at(1)->trigger(); // hide all
    EXPECT_EQ(shown(query::Lane::Kind::Ranges), 0);
    actions.fillLanes(menu);
    ofKind("Ranges")->actions().at(0)->trigger();
    EXPECT_EQ(shown(query::Lane::Kind::Ranges), 8);
}

TEST_F(CommandsTest, PredictsTheStepAsShowWhatIfDoes)
{
    WhatIfDialog dialog(window_.workspace().selectedRuns().front(), &window_);
    dialog.setVisible(true);
    const auto* answer = dialog.findChild<QLabel*>(QStringLiteral("answer"));
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return answer->text().contains(QStringLiteral(" instead of ")); }, kTimeoutMs))
        << answer->text().toStdString();
    const QString work = in<QComboBox>(dialog, "Kind of work").currentText();
    EXPECT_FALSE(work.isEmpty());
    query::FileSession session(folder_ / "lm.tscope");
    const query::WhatIfTable known =
        query::whatIf(session.reader(), {.run = RunId{1}, .scales = {{work.toStdString(), 0.5}}});
    TableView& table = in<TableView>(dialog, "Predicted steps");
    ASSERT_EQ(table.table().rows.size(), known.rows.size());
    EXPECT_LT(known.rows.front().predictedMs.median, known.rows.front().recordedMs.median);
    EXPECT_EQ(dialog.command(),
              QStringLiteral("tilescope show %1 what-if --run 1 --scale %2=0.5").arg(file(), work));
    QSignalSpy predicted(&dialog, &WhatIfDialog::predicted);
    in<QDoubleSpinBox>(dialog, "Factor of its time").setValue(1);
    ASSERT_TRUE(predicted.wait(kTimeoutMs));
    EXPECT_TRUE(answer->text().startsWith(QStringLiteral("Nothing is changed")))
        << answer->text().toStdString();
    EXPECT_EQ(dialog.command(), QString()) << "show what-if refuses it";
    in<QComboBox>(dialog, "Kind of work").setEditText(QStringLiteral("nothing of that name"));
    in<QDoubleSpinBox>(dialog, "Factor of its time").setValue(2);
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return answer->text().contains(QStringLiteral("nothing of that name")); }, kTimeoutMs))
        << answer->text().toStdString();
}

TEST_F(CommandsTest, TheListsOfCommandsAndOfKeysHaveThemAll)
{
    const std::vector<PaletteEntry> entries = paletteEntries(window_);
    const std::vector<KeyGroup> groups = keyGroups(window_);
    for (const char* word :
         {"Critical path", "What if", "Counters", "replay", "Perfetto", "PyTorch", "Arrow", "Share", "Merge",
          "Verify", "Compact", "Compile", "Hosts", "Record", "Write report"}) {
        const QString text = QString::fromLatin1(word);
        EXPECT_TRUE(std::ranges::any_of(entries, [&](const PaletteEntry& entry) {
            return entry.kind == PaletteEntry::Kind::Action && entry.text.contains(text);
        })) << word;
        if (text == QLatin1String("Write report"))
            continue; // has no key
        EXPECT_TRUE(std::ranges::any_of(groups, [&](const KeyGroup& group) {
            return std::ranges::any_of(group.lines,
                                       [&](const KeyLine& line) { return line.does.contains(text); });
        })) << word;
    }
}

TEST_F(CommandsTest, NamesTheOutputByTheFormat)
{
    CommandDialog& dialog = dialogOf(Command::Export);
    EXPECT_EQ(dialog.arguments(),
              (QStringList{QStringLiteral("export"), file(), QStringLiteral("--run=1"),
                           QStringLiteral("--perfetto=") +
                               file().replace(QStringLiteral(".tscope"), QStringLiteral(".pftrace"))}));
    in<QComboBox>(dialog, "Format").setCurrentIndex(1);
    EXPECT_TRUE(in<QLineEdit>(dialog, "File to write").text().endsWith(QStringLiteral("lm.json.gz")));
    in<QComboBox>(dialog, "Format").setCurrentIndex(3);
    EXPECT_TRUE(in<QLineEdit>(dialog, "File to write").text().endsWith(QStringLiteral("/lm")));
    in<QLineEdit>(dialog, "File to write").clear();
    EXPECT_FALSE(button(dialog, QStringLiteral("Run")).isEnabled());
    EXPECT_TRUE(dialog.arguments().isEmpty());
}

TEST_F(CommandsTest, NothingRunsBeforeItIsWhole)
{
    EXPECT_FALSE(button(dialogOf(Command::Compile), QStringLiteral("Run")).isEnabled());
    EXPECT_FALSE(button(dialogOf(Command::Merge), QStringLiteral("Run")).isEnabled()) << "one file is open";
    CommandDialog& replay = dialogOf(Command::Replay);
    EXPECT_TRUE(button(replay, QStringLiteral("Run")).isEnabled()) << "the costliest op is chosen";
    EXPECT_FALSE(in<QComboBox>(replay, "Op").currentText().isEmpty());
}

#ifdef TILESCOPE_PROGRAM
TEST_F(CommandsTest, OffersTheFormatsThatTheCommandLineWrites)
{
    QProcess help;
    help.start(QStringLiteral(TILESCOPE_PROGRAM), {QStringLiteral("export"), QStringLiteral("--help")});
    ASSERT_TRUE(help.waitForFinished(kTimeoutMs));
    std::set<QString> written;
    static const QRegularExpression line(QStringLiteral("^  (--\\w+) VALUE +OUT"),
                                         QRegularExpression::MultilineOption);
    const QString text = QString::fromUtf8(help.readAllStandardOutput());
    for (const QRegularExpressionMatch& match : line.globalMatch(text))
        written.insert(match.captured(1));
    ASSERT_GE(written.size(), 7U) << text.toStdString();
    CommandDialog& dialog = dialogOf(Command::Export);
    auto& formats = in<QComboBox>(dialog, "Format");
    std::set<QString> offered;
    for (int i = 0; i < formats.count(); ++i) {
        formats.setCurrentIndex(i);
        offered.insert(dialog.arguments().back().section(QLatin1Char('='), 0, 0));
    }
    EXPECT_EQ(offered, written);
}

TEST_F(CommandsTest, ACompactedRecordingStaysOpen)
{
    const std::size_t runs = window_.workspace().files().front().snapshot->runs.size();
    store::deleteRuns(folder_ / "lm.tscope", std::array{RunId{2}});
    const auto before = std::filesystem::file_size(folder_ / "lm.tscope");
    for (QAction* action : window_.findChildren<QAction*>())
        if (action->text().startsWith(QStringLiteral("Compact")))
            action->trigger();
    auto* dialog = window_.findChild<CommandDialog*>();
    ASSERT_NE(dialog, nullptr);
    EXPECT_EQ(dialog->arguments(), (QStringList{QStringLiteral("compact"), file()}));
    QSignalSpy ended(dialog, &CommandDialog::ended);
    QSignalSpy replaced(dialog, &CommandDialog::recordingReplaced);
    QTest::mouseClick(&button(*dialog, QStringLiteral("Run")), Qt::LeftButton);
    ASSERT_TRUE(ended.wait(kTimeoutMs));
    EXPECT_EQ(ended.front().front().toString(), QString())
        << in<QPlainTextEdit>(*dialog, "Output of the command").toPlainText().toStdString();
    EXPECT_EQ(replaced.size(), 1);
    waitUntilSettled();
    EXPECT_LT(std::filesystem::file_size(folder_ / "lm.tscope"), before);
    ASSERT_EQ(window_.workspace().files().size(), 1U);
    EXPECT_EQ(window_.workspace().files().front().snapshot->runs.size(), runs - 1) << "read again";
    openTimeline();
    EXPECT_FALSE(page<TimelinePage>("timeline").view().scene().sections.empty());
}

TEST_F(CommandsTest, RunsTheCommandAndShowsWhatItPrints)
{
    CommandDialog& dialog = dialogOf(Command::Verify);
    QSignalSpy ended(&dialog, &CommandDialog::ended);
    QTest::mouseClick(&button(dialog, QStringLiteral("Run")), Qt::LeftButton);
    ASSERT_TRUE(ended.wait(kTimeoutMs));
    EXPECT_EQ(ended.front().front().toString(), QString());
    EXPECT_TRUE(in<QPlainTextEdit>(dialog, "Output of the command")
                    .toPlainText()
                    .contains(QStringLiteral("lm.tscope")));
    CommandDialog& share = dialogOf(Command::Share);
    QSignalSpy shared(&share, &CommandDialog::ended);
    QTest::mouseClick(&button(share, QStringLiteral("Run")), Qt::LeftButton);
    ASSERT_TRUE(shared.wait(kTimeoutMs));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "lm.html"));
    EXPECT_TRUE(button(share, QStringLiteral("Open folder")).isVisible());
}
#endif

// Reads the card of a name.
const KeyFigure* figureOf(const QWidget& page, const QString& title)
{
    for (const KeyFigureCard* card : page.findChildren<KeyFigureCard*>())
        if (card->isVisible() && card->figure().title == title)
            return &card->figure();
    return nullptr;
}

TEST_F(CommandsTest, ARecordingWithoutStepsHasTheBusyTimeOfAllOfIt)
{
    const std::filesystem::path file = folder_ / "stepless.tscope";
    {
        StringTable strings;
        store::RunWriter writer(file, strings);
        writer.beginRun(
            {.name = "stepless", .workload = "trace", .specJson = "{}", .specHash = "", .program = "test"});
        TraceBatch batch;
        for (const auto& [start, length] : {std::pair(0, 3'000'000), std::pair(9'000'000, 1'000'000)}) {
            DeviceEvent event; // 4 of 10 ms
            event.name = strings.intern("gemm");
            event.start = Timestamp{} + Nanoseconds(start + 1000);
            event.end = event.start + Nanoseconds(length);
            batch.deviceEvents.push_back(event);
        }
        writer.write(batch);
        RunResult result;
        result.status = RunStatus::Ok;
        writer.endRun(result);
    }
    window_.open({QString::fromStdString(file.string())});
    waitUntilSettled();
    window_.showPage(QStringLiteral("overview"));
    waitUntilSettled();
    const KeyFigure* busy = figureOf(*window_.currentPage(), QStringLiteral("GPU busy"));
    ASSERT_NE(busy, nullptr);
    EXPECT_EQ(busy->lines.front().number, QStringLiteral("40.0"));
    EXPECT_EQ(busy->verdict, QStringLiteral("of the whole recording"));
    const KeyFigure* idle = figureOf(*window_.currentPage(), QStringLiteral("GPU idle"));
    ASSERT_NE(idle, nullptr);
    EXPECT_EQ(idle->lines.front().number, QStringLiteral("60.0")) << "both add up to the whole";
    window_.showPage(QStringLiteral("memory"));
    waitUntilSettled();
    QStringList texts;
    for (const QLabel* label : window_.currentPage()->findChildren<QLabel*>())
        texts << label->text();
    QString shown = texts.join(QLatin1Char(' '));
    shown.remove(QChar(0x2060)); // keeps options on one line
    EXPECT_TRUE(shown.contains(QStringLiteral("--no-memory"))) << "a recording has no keys of a spec";
}

} // namespace
} // namespace tilescope::ui
