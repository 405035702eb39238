// The list of runs as a person uses it, by mouse and keyboard.

#include "core/store/run_writer.h"
#include "tests/ui/window_fixture.h"
#include "tests/unit/report/study_file.h"
#include "ui/kit/controls.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/table_view.h"
#include "ui/memory/memory_areas.h"
#include "ui/memory/memory_page.h"
#include "ui/theme/theme.h"
#include "ui/window/run_delegate.h"
#include "ui/window/run_dock.h"
#include "ui/window/run_tree_model.h"

#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QTreeView>
#include <QtTest>

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace tilescope::ui {
namespace {

TEST_F(WindowTest, ManyRunsAreDescribedByWhatVaries)
{
    const int file = window_.workspace().files()[0].id;
    const auto keys = [this] {
        QStringList keys;
        for (const KeyValueRow& row : window_.dock().findChild<KeyValueTable*>()->rows())
            keys << row.key;
        return keys;
    };
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    waitUntilSettled();
    EXPECT_TRUE(keys().contains(QStringLiteral("Differs"))) << "two runs have a column each";
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}, {file, RunId{3}}});
    waitUntilSettled();
    EXPECT_TRUE(keys().contains(QStringLiteral("varies"))) << "a third would not be seen";
    const std::filesystem::path other = folder_ / "other.tscope";
    test::writeLmFile(other);
    window_.open({QString::fromStdString(other.string())});
    waitUntilSettled();
    const int second = window_.workspace().files()[1].id;
    window_.workspace().select(
        {{file, RunId{1}}, {file, RunId{2}}, {file, RunId{3}}, {second, RunId{1}}, {second, RunId{2}}});
    waitUntilSettled();
    QStringList titles;
    for (const QLabel* label : window_.dock().findChildren<QLabel*>())
        titles << label->text();
    EXPECT_TRUE(titles.contains(QStringLiteral("5 runs selected")));
    auto& details = *window_.dock().findChild<KeyValueTable*>();
    std::map<QString, QStringList> rows;
    for (const KeyValueRow& row : details.rows())
        rows[row.key] = row.values;
    EXPECT_EQ(rows[QStringLiteral("varies")], QStringList{QStringLiteral("backend")});
    EXPECT_EQ(rows[QStringLiteral("status")], QStringList{QStringLiteral("4 ok, 1 oom")});
}

TEST_F(WindowTest, DetailsOfACollectiveHaveItsOperationAndMessage)
{
    const std::filesystem::path file = folder_ / "collective.tscope";
    {
        StringTable strings;
        store::RunWriter writer(file, strings);
        writer.beginRun({"ring", "collective",
                         R"({"workload":"collective","op":"all_gather","bytes":67108864,"gpus":4})", "hash",
                         "test"});
        writer.endRun({});
    }
    window_.open({QString::fromStdString(file.string())});
    waitUntilSettled();
    window_.workspace().select({{window_.workspace().files().back().id, RunId{1}}});
    waitUntilSettled();
    std::map<QString, QStringList> rows;
    for (const KeyValueRow& row : window_.dock().findChild<KeyValueTable*>()->rows())
        rows[row.key] = row.values;
    EXPECT_EQ(rows[QStringLiteral("op")], QStringList{QStringLiteral("all_gather")});
    EXPECT_EQ(rows[QStringLiteral("bytes")], QStringList{QStringLiteral("64 MiB")});
    EXPECT_EQ(rows[QStringLiteral("gpus")], QStringList{QStringLiteral("4")});
}

TEST_F(WindowTest, DetailsOfARunShowItsReasonWhole)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{3}}});
    waitUntilSettled();
    auto& details = *window_.dock().findChild<KeyValueTable*>();
    const auto rows = std::int64_t(details.rows().size());
    const KeyValueRow reason = details.rows().back();
    ASSERT_EQ(reason.key, QStringLiteral("reason"));
    const int width = QFontMetrics(Theme::instance().body()).horizontalAdvance(reason.values.front());
    ASSERT_GT(width, details.width() / 2) << "this test needs a longer reason";
    EXPECT_FALSE(details.isElided(details.rows().size() - 1, 0));
    const int line = details.sizeHint().height() / int(rows);
    window_.dock().setFixedWidth(std::min(window_.dock().width(), details.width() * 2 / 3));
    waitUntilSettled();
    for (std::size_t row = 0; row < details.rows().size(); ++row)
        EXPECT_FALSE(details.isElided(row, 0)) << details.rows()[row].key.toStdString();
    EXPECT_GT(details.sizeHint().height(), line * int(rows)) << "it takes several lines";
}

TEST_F(WindowTest, TheRunListFiltersAndItsSelectionIsWhatPagesShow)
{
    clickRail(QStringLiteral("Memory"));
    auto& tree = named<QTreeView>(QStringLiteral("Runs"));
    auto& filter = named<QLineEdit>(QStringLiteral("Filter runs"));
    const auto runs = [&tree] { return tree.model()->rowCount(tree.model()->index(0, 0)); };
    const auto run = [&tree](int row) { return tree.model()->index(row, 0, tree.model()->index(0, 0)); };
    ASSERT_EQ(runs(), 3);
    QTest::keyClicks(&filter, QStringLiteral("status:oom"));
    EXPECT_EQ(runs(), 1);
    ASSERT_EQ(window_.workspace().selection().size(), 1U);
    EXPECT_EQ(window_.workspace().selection().front().run, RunId{1}) << "hidden, yet what pages show";
    filter.clear();
    EXPECT_EQ(runs(), 3);
    EXPECT_TRUE(tree.selectionModel()->isSelected(run(0)));

    clickRow(tree, run(1));
    ASSERT_EQ(window_.workspace().selection().size(), 1U);
    EXPECT_EQ(window_.workspace().selection().front().run, RunId{2});
    MemoryPage& memory = page<MemoryPage>("memory");
    EXPECT_EQ(memory.table().model()->rowCount(), 10) << "without the two score matrices";
    clickRow(tree, run(0), Qt::ControlModifier);
    EXPECT_EQ(window_.workspace().selection().size(), 2U);
    EXPECT_EQ(memory.areas().runs().size(), 2U);

    clickRow(tree, run(2));
    EXPECT_FALSE(memory.areas().isVisible()) << "a run without a trace says so instead";
    EXPECT_TRUE(memory.areas().runs().empty());

    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{2}}});
    EXPECT_EQ(tree.currentIndex().row(), 1) << "keys, such as Menu, act on what was selected elsewhere";
}

TEST_F(WindowTest, TheRunListShowsTheColumnsThatAreWantedAndSortsByThem)
{
    auto& tree = named<QTreeView>(QStringLiteral("Runs"));
    EXPECT_TRUE(tree.isColumnHidden(RunTreeModel::Backend));
    QMenu& menu = *named<QPushButton>(QStringLiteral("Columns of the run list")).menu();
    QMetaObject::invokeMethod(&menu, "aboutToShow");
    QStringList titles;
    for (QAction* action : menu.actions()) {
        titles << action->text();
        if (action->text() == QLatin1String("Backend"))
            action->trigger();
    }
    waitUntilSettled();
    for (const char* title :
         {"Status", "Workload", "Backend", "Size", "Type", "Step, ms", "Peak, MiB", "Flags"})
        EXPECT_TRUE(titles.contains(QLatin1String(title))) << title;
    ASSERT_FALSE(tree.isColumnHidden(RunTreeModel::Backend));
    const QHeaderView& header = *tree.header();
    QTest::mouseClick(header.viewport(), Qt::LeftButton, {},
                      {header.sectionViewportPosition(RunTreeModel::Backend) + 5, header.height() / 2});
    waitUntilSettled();
    QStringList backends;
    for (int row = 0; row < 3; ++row)
        backends
            << tree.model()->index(row, RunTreeModel::Backend, tree.model()->index(0, 0)).data().toString();
    QStringList sorted = backends;
    sorted.sort();
    if (tree.header()->sortIndicatorOrder() == Qt::DescendingOrder)
        std::reverse(sorted.begin(), sorted.end());
    EXPECT_EQ(backends, sorted);
    EXPECT_NE(backends.front(), backends.back());
    const MainWindow another;
    for (const QTreeView* other : another.findChildren<QTreeView*>())
        EXPECT_FALSE(other->isColumnHidden(RunTreeModel::Backend)) << "remembered";
}

TEST_F(WindowTest, NamesKeepTheirWidthHoweverNarrowTheListIs)
{
    auto& tree = named<QTreeView>(QStringLiteral("Runs"));
    const QFontMetrics metrics(Theme::instance().body());
    for (const int width : {sizes().of(240), sizes().dock, sizes().of(400), sizes().of(600)}) {
        window_.resizeDocks({&window_.dock()}, {width}, Qt::Horizontal);
        waitUntilSettled();
        EXPECT_GE(tree.columnWidth(RunTreeModel::Run), RunDelegate::leastNameWidth()) << width;
        EXPECT_GT(tree.columnWidth(RunTreeModel::Run),
                  metrics.horizontalAdvance(QStringLiteral("naive batch 8")));
        int all = 0;
        for (int column = 0; column < RunTreeModel::ColumnCount; ++column)
            all += tree.columnWidth(column);
        EXPECT_LE(all, tree.viewport()->width()) << width;
    }
    EXPECT_TRUE(
        QTest::qWaitFor([&tree] { return !tree.isColumnHidden(RunTreeModel::Precision); }, kTimeoutMs))
        << "it is back where there is room";
    window_.resizeDocks({&window_.dock()}, {sizes().of(240)}, Qt::Horizontal);
    waitUntilSettled();
    EXPECT_TRUE(tree.isColumnHidden(RunTreeModel::Precision)) << "the type goes first";
    window_.close();
    MainWindow another;
    another.open({QString::fromStdString((folder_ / "lm.tscope").string())});
    another.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&another, kTimeoutMs));
    waitUntilSettled();
    for (const QTreeView* other : another.findChildren<QTreeView*>())
        EXPECT_GE(other->columnWidth(RunTreeModel::Run), RunDelegate::leastNameWidth());
    another.resizeDocks({&another.dock()}, {sizes().dock}, Qt::Horizontal);
    another.close();
}

TEST_F(WindowTest, RunsWithDifferentNamesReadDifferentlyAtTheDefaultWidth)
{
    const auto result = [](const ExperimentSpec&) { return report::FakeResult{}; };
    QStringList files;
    for (const std::string study : {"attention-grid", "flash", "scaling", "mixed-precision", "checkpointing",
                                    "accumulation", "oom-boundary", "roofline", "memory-decomposition"}) {
        const std::filesystem::path file = folder_ / (study + ".tscope");
        report::writeStudyFile(file, study, config::Edition::Full, result, 1);
        files << QString::fromStdString(file.string());
    }
    test::writeGpuFile(folder_ / "gpu.tscope");
    test::writeStudyFile(folder_ / "study.tscope");
    for (const char* name : {"gpu.tscope", "study.tscope"})
        files << QString::fromStdString((folder_ / name).string());
    for (const QString& file : files)
        window_.workspace().open(file);
    waitUntilSettled();
    window_.resizeDocks({&window_.dock()}, {sizes().dock}, Qt::Horizontal);
    waitUntilSettled();
    auto& tree = named<QTreeView>(QStringLiteral("Runs"));
    const QAbstractItemModel& model = *tree.model();
    int cut = 0;
    int groups = 0;
    // In a file or group, each name represents one title.
    const std::function<void(const QModelIndex&)> look = [&](const QModelIndex& parent) {
        std::map<QString, QString> titles; // by what is drawn
        for (int row = 0; row < model.rowCount(parent); ++row) {
            const QModelIndex index = model.index(row, 0, parent);
            if (!index.data(RunTreeModel::RunNumberRole).isValid()) {
                groups += parent.isValid() ? 1 : 0;
                look(index);
                continue;
            }
            const QRect cell(0, 0, tree.columnWidth(RunTreeModel::Run), sizes().row);
            const QString title = index.data(RunTreeModel::WholeTitleRole).toString();
            const QString shown = RunDelegate::nameIn(cell, index);
            cut += shown == title ? 0 : 1;
            const auto [known, isNew] = titles.emplace(shown, title);
            EXPECT_EQ(known->second, title)
                << parent.data().toString().toStdString() << ": both read '" << shown.toStdString() << "'";
        }
    };
    look({});
    EXPECT_GT(groups, 5);
    EXPECT_GT(cut, 10) << "names that do not fit";
}

TEST(RunNames, ANameWithoutRoomKeepsWhatVariesInTheFile)
{
    auto snapshot = std::make_shared<query::FileSnapshot>();
    for (const char* batch : {"8", "16"})
        for (const char* seed : {"1", "3"})
            for (const char* precision : {"fp32", "bf16"}) {
                query::RunSummary& run = snapshot->runs.emplace_back();
                run.run = RunId{std::int64_t(snapshot->runs.size())};
                run.workload = "attention";
                run.params = {{"backend", "naive"},
                              {"seq_len", "1024"},
                              {"batch", batch},
                              {"seed", seed},
                              {"precision", precision}};
            }
    RunTreeModel model;
    model.setNamesPrecision(true);
    model.setFiles({{1, QStringLiteral("file"), {}, {}, std::make_shared<const RunGroups>(snapshot)}});
    const QModelIndex index = model.indexOf({1, RunId{8}});
    const QString brief = index.data(RunTreeModel::BriefTitleRole).toString();
    EXPECT_FALSE(brief.contains(QStringLiteral("naive"))) << brief.toStdString();
    int briefs = 0;
    for (int width = RunDelegate::leastNameWidth(); width < sizes().of(400); ++width) {
        const QString shown = RunDelegate::nameIn(QRect(0, 0, width, sizes().row), index);
        briefs += shown == brief ? 1 : 0;
        EXPECT_FALSE(shown.contains(QStringLiteral("…"))) << shown.toStdString() << " at " << width;
    }
    EXPECT_GT(briefs, 0);
}

TEST(RunNames, BriefNamesLeaveOutWhatAllRunsShare)
{
    query::FileSnapshot snapshot;
    for (const char* batch : {"4", "8"}) {
        query::RunSummary& run = snapshot.runs.emplace_back();
        run.workload = "attention";
        run.params = {{"backend", "naive"}, {"seq_len", "1024"}, {"batch", batch}, {"precision", "bf16"}};
    }
    EXPECT_EQ(RunTitles(snapshot).shortOf(snapshot.runs[0], true), QStringLiteral("naive 1k b4"));
    EXPECT_EQ(RunTitles(snapshot).briefOf(snapshot.runs[0], true), QStringLiteral("b4"));
    snapshot.runs.pop_back();
    EXPECT_EQ(RunTitles(snapshot).briefOf(snapshot.runs[0], true), QStringLiteral("naive 1k"));
}

TEST(RunNames, ALongFileNameIsElidedInTitles)
{
    TitleLabel title(QStringLiteral("a-very-long-name-of-an-imported-trace-2026-11-26.json.gz"));
    title.resize(sizes().of(160), sizes().row);
    EXPECT_TRUE(title.shown().contains(QStringLiteral("…")));
    EXPECT_LE(title.fontMetrics().horizontalAdvance(title.shown()), title.width());
    EXPECT_LT(title.minimumSizeHint().width(), title.sizeHint().width()) << "its place may be narrow";
    EXPECT_EQ(TitleLabel(QStringLiteral("Alive at the peak")).minimumSizeHint().width(),
              TitleLabel(QStringLiteral("Alive at the peak")).sizeHint().width());
    title.resize(title.sizeHint());
    EXPECT_EQ(title.shown(), title.text());
}

TEST_F(WindowTest, SizeAndDockSurviveARestartThatBeginsWithTheStartPage)
{
    clickRail(QStringLiteral("Kernels"));
    window_.resize(1210, 790);
    window_.dock().toggleViewAction()->trigger();
    waitUntilSettled();
    ASSERT_FALSE(window_.dock().isVisible());
    ASSERT_TRUE(window_.close());
    MainWindow another;
    another.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&another, kTimeoutMs));
    EXPECT_EQ(another.size(), QSize(1210, 790));
    EXPECT_FALSE(another.dock().isVisible());
    EXPECT_EQ(another.currentPageName(), QStringLiteral("overview"));
    another.dock().toggleViewAction()->trigger();
    another.close();
}

TEST_F(WindowTest, AFileThatWasOpenIsOpenedAgainFromTheMenu)
{
    QMenu* recent = nullptr;
    for (QMenu* menu : window_.menuBar()->findChildren<QMenu*>())
        if (menu->title() == QLatin1String("Open recent"))
            recent = menu;
    ASSERT_NE(recent, nullptr);
    QTest::keyClick(&window_, Qt::Key_W, Qt::ControlModifier);
    waitUntilSettled();
    ASSERT_TRUE(window_.workspace().files().empty());
    emit recent->aboutToShow();
    ASSERT_FALSE(recent->actions().isEmpty());
    QAction* first = recent->actions().front();
    const QString words = first->text().remove(QLatin1Char('&'));
    EXPECT_TRUE(words.startsWith(QStringLiteral("lm.tscope"))) << words.toStdString();
    EXPECT_TRUE(words.contains(QString::fromStdString(folder_.path().string())))
        << "files of the same name can be distinguished";
    first->trigger();
    waitUntilSettled();
    ASSERT_EQ(window_.workspace().files().size(), 1U);
    EXPECT_TRUE(window_.workspace().files()[0].problem.isEmpty());
    emit recent->aboutToShow();
    int named = 0;
    for (const QAction* action : recent->actions())
        named += action->text().contains(QString::fromStdString(folder_.path().string())) ? 1 : 0;
    EXPECT_EQ(named, 1) << "listed once";
}

} // namespace
} // namespace tilescope::ui
