// The Kernels page as a person uses it, by mouse and keyboard.

#include "core/query/kernels/op_tables.h"
#include "tests/ui/window_fixture.h"
#include "ui/kernels/kernel_rows.h"
#include "ui/kernels/kernels_page.h"
#include "ui/kernels/roofline_plot.h"
#include "ui/kit/exporter.h"
#include "ui/kit/histogram_plot.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/timeline/timeline_page.h"

#include <QLineEdit>
#include <QPushButton>
#include <QtTest>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace tilescope::ui {
namespace {

TEST_F(WindowTest, AClickSelectsAKernelAndAFilterKeepsThoseOfItsName)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    const int rows = table.model()->rowCount();
    ASSERT_GT(rows, 3);
    const QModelIndex second = table.model()->index(1, 0);
    clickRow(table, second);
    EXPECT_EQ(table.currentIndex().row(), 1);
    const QString chosen = window_.workspace().kernel();
    EXPECT_FALSE(chosen.isEmpty());
    QTest::keyClick(&table, Qt::Key_Down);
    EXPECT_EQ(table.currentIndex().row(), 2);
    EXPECT_NE(window_.workspace().kernel(), chosen) << "the keyboard selects as the mouse does";

    QTest::keyClick(&table, Qt::Key_Slash);
    auto& filter = named<QLineEdit>(QStringLiteral("Filter kernels"));
    QTest::keyClicks(&filter, QStringLiteral("softmax"));
    const int kept = table.model()->rowCount();
    EXPECT_GT(kept, 0);
    EXPECT_LT(kept, rows);
    filter.clear();
    EXPECT_EQ(table.model()->rowCount(), rows);
}

TEST_F(WindowTest, AnUntracedSecondRunHasNoZerosBesideTheFirst)
{
    const std::filesystem::path path = folder_ / "gpu.tscope";
    test::writeGpuFile(path);
    window_.open({QString::fromStdString(path.string())});
    waitUntilSettled();
    clickRail(QStringLiteral("Kernels"));
    const int file = window_.workspace().files().back().id;
    const auto* summary =
        window_.page(QStringLiteral("kernels"))->findChild<QLabel*>(QStringLiteral("summary"));
    const auto columnsOfB = [&](int second) {
        window_.workspace().select({{file, RunId{1}}, {file, RunId{second}}});
        waitUntilSettled();
        const std::vector<TableColumn>& columns = page<KernelsPage>("kernels").table().table().columns;
        return std::ranges::count_if(columns, [](const TableColumn& column) {
            return column.title.startsWith(QLatin1String("B, ")) ||
                   column.title.startsWith(QStringLiteral("B − A"));
        });
    };
    EXPECT_EQ(columnsOfB(2), 2) << "its total, and B - A";
    EXPECT_FALSE(summary->text().contains(QStringLiteral("not traced")));
    EXPECT_EQ(columnsOfB(5), 0);
    EXPECT_TRUE(summary->text().contains(QStringLiteral("B was not traced")))
        << summary->text().toStdString();
}

TEST_F(WindowTest, TimesOfARowShareAUnitAndAnAbsentKernelIsADash)
{
    const std::filesystem::path path = folder_ / "gpu.tscope";
    test::writeGpuFile(path);
    window_.open({QString::fromStdString(path.string())});
    waitUntilSettled();
    clickRail(QStringLiteral("Kernels"));
    const int file = window_.workspace().files().back().id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    waitUntilSettled();
    const TableData& table = page<KernelsPage>("kernels").table().table();
    std::map<QString, std::size_t> columns;
    QStringList units;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const QString& title = table.columns[i].title;
        columns[title.section(QLatin1Char(','), 0, 0)] = i;
        EXPECT_FALSE(title.startsWith(QLatin1String("FLOP/s"))) << "the unit is TFLOP/s";
        for (const char* name : {"Total, ", "B, ", "B − A, ", "Mean, ", "Std. dev., ", "Min, ", "Max, "})
            if (title.startsWith(QString::fromUtf8(name)))
                units << title.section(QLatin1Char(' '), -1);
    }
    EXPECT_EQ(units.size(), 7) << units.join(QLatin1Char(' ')).toStdString();
    EXPECT_EQ(units.removeDuplicates(), 6) << units.join(QLatin1Char(' ')).toStdString();
    int onlyA = 0, onlyB = 0;
    for (const TableRow& row : table.rows) {
        const QString& a = row.cells[columns[QStringLiteral("Total")]].text;
        const QString& b = row.cells[columns[QStringLiteral("B")]].text;
        EXPECT_NE(a, QStringLiteral("0"));
        EXPECT_NE(b, QStringLiteral("0"));
        onlyA += b == notMeasured() ? 1 : 0;
        onlyB += a == notMeasured() ? 1 : 0;
        EXPECT_NE(row.cells[columns[QStringLiteral("B − A")]].text, notMeasured()) << "the whole of it";
    }
    EXPECT_GT(onlyA, 0);
    EXPECT_GT(onlyB, 0);
}

TEST_F(WindowTest, AKernelLeadsToTheTimelineWhereItIsSelected)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    clickRow(table, table.model()->index(2, 0));
    const std::string kernel = window_.workspace().kernel().toStdString();
    QTest::keyClick(&table, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("timeline"));
    const TimelineScene& scene = page<TimelinePage>("timeline").view().scene();
    ASSERT_TRUE(scene.selected);
    const query::Timeline& timeline = *scene.sections[scene.selected->section].timeline;
    const query::TimelineItem& item = scene.selected->item;
    const query::Track& row = timeline.lanes[item.lane].rows[item.row];
    EXPECT_EQ(timeline.names[row.name(item.index)].text, kernel);
}

TEST_F(WindowTest, TabShowsWhichTableHasTheKeyboardAndDownBeginsWithItsFirstRow)
{
    clickRail(QStringLiteral("Overview"));
    auto& table = named<TableView>(QStringLiteral("Ranges"));
    ASSERT_GT(table.model()->rowCount(), 1);
    const auto edge = [&table] { return table.grab().toImage().pixelColor(table.viewport()->pos()); };
    const QColor before = edge();
    table.setFocus(Qt::TabFocusReason);
    EXPECT_FALSE(table.currentId()) << "nothing is chosen yet";
    EXPECT_NE(edge(), before);
    QTest::keyClick(&table, Qt::Key_Down);
    EXPECT_EQ(table.currentIndex().row(), 0);
    QTest::keyClick(&table, Qt::Key_Down);
    EXPECT_EQ(table.currentIndex().row(), 1);
    table.clearFocus();
    EXPECT_EQ(edge(), before);
}

TEST_F(WindowTest, KernelsAreGroupedAndAGroupOpensIntoItsKernels)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    const auto total = [&table] {
        double sum = 0;
        for (int row = 0; row < table.model()->rowCount(); ++row)
            sum += table.model()->index(row, int(KernelColumn::Total)).data(TableModel::SortRole).toDouble();
        return sum;
    };
    const double all = total();
    ASSERT_GT(all, 0);
    for (const char* word : {"family", "range", "module", "phase"}) {
        for (QPushButton* button : window_.page(QStringLiteral("kernels"))->findChildren<QPushButton*>())
            if (button->text() == QLatin1String(word))
                QTest::mouseClick(button, Qt::LeftButton);
        waitUntilSettled();
        EXPECT_NEAR(total(), all, 1) << word << ": the same time, grouped otherwise";
    }
    ASSERT_EQ(table.model()->rowCount(), 4) << "forward, loss, backward, optimizer";
    const double first =
        table.model()->index(0, int(KernelColumn::Total)).data(TableModel::SortRole).toDouble();
    clickRow(table, table.model()->index(0, 0));
    table.setFocus();
    QTest::keyClick(&table, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_NEAR(total(), first, 1) << "the kernels of that phase alone";
    EXPECT_EQ(table.model()->headerData(0, Qt::Horizontal).toString(), QStringLiteral("Kernel"));
}

TEST_F(WindowTest, KernelsOfTwoRunsStandSideBySide)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& view = page<KernelsPage>("kernels").table();
    const int file = window_.workspace().files().front().id;
    // Sums of the columns whose titles begin so; none: there is no such column.
    const auto sum = [&view](const QString& title) -> std::optional<double> {
        const TableData& table = view.table();
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
            if (!table.columns[c].title.startsWith(title))
                continue;
            double all = 0;
            for (const TableRow& row : table.rows)
                all += std::isnan(row.cells[c].sort) ? 0 : row.cells[c].sort;
            return all;
        }
        return {};
    };
    const auto totalOf = [&](std::int64_t run) {
        window_.workspace().select({{file, RunId{run}}});
        waitUntilSettled();
        EXPECT_FALSE(sum(QStringLiteral("B, "))) << "one run has nothing beside it";
        return sum(QStringLiteral("Total")).value_or(0);
    };
    const double a = totalOf(1);
    const double b = totalOf(2);
    ASSERT_NE(a, b);
    for (const char* word : {"name", "family", "module"}) {
        window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
        for (QPushButton* button : window_.page(QStringLiteral("kernels"))->findChildren<QPushButton*>())
            if (button->text() == QLatin1String(word))
                QTest::mouseClick(button, Qt::LeftButton);
        waitUntilSettled();
        EXPECT_NEAR(sum(QStringLiteral("Total")).value_or(0), a, 1) << word;
        EXPECT_NEAR(sum(QStringLiteral("B,")).value_or(0), b, 1) << word << ": what only B has is a row, too";
        EXPECT_NEAR(sum(QStringLiteral("B − A")).value_or(0), b - a, 1) << word;
    }
}

TEST_F(WindowTest, OpsOfACpuHaveTheSpreadOfTheirInstances)
{
    test::writeStudyFile(folder_ / "study.tscope");
    window_.open({QString::fromStdString((folder_ / "study.tscope").string())});
    waitUntilSettled();
    const RunId flash{2};
    window_.workspace().select({{window_.workspace().files().back().id, flash}});
    clickRail(QStringLiteral("Kernels"));
    const TableData& table = page<KernelsPage>("kernels").table().table();
    const auto column = [&table](const QString& title) {
        const auto found = std::ranges::find_if(
            table.columns, [&title](const TableColumn& each) { return each.title.startsWith(title); });
        return std::size_t(found - table.columns.begin());
    };
    EXPECT_EQ(column(QStringLiteral("Tensor")), table.columns.size()) << "a CPU has no tensor cores";
    const query::FileSession session(folder_ / "study.tscope");
    const query::OpsTable ops = query::ops(session.reader(), {.run = flash});
    ASSERT_EQ(table.rows.size(), ops.rows.size());
    bool isSpread = false;
    for (const TableRow& row : table.rows) {
        const auto op = std::ranges::find_if(ops.rows, [&row](const query::KernelRow& each) {
            return row.cells[0].text == QString::fromStdString(each.key);
        });
        ASSERT_NE(op, ops.rows.end());
        EXPECT_EQ(row.cells[std::size_t(KernelColumn::Instances)].sort, double(op->instances));
        EXPECT_EQ(row.cells[std::size_t(KernelColumn::Total)].sort, double(op->total.count()));
        const double least = row.cells[column(QStringLiteral("Min,"))].sort;
        const double most = row.cells[column(QStringLiteral("Max,"))].sort;
        const double mean = row.cells[column(QStringLiteral("Mean,"))].sort;
        EXPECT_LE(least, mean);
        EXPECT_LE(mean, most);
        isSpread = isSpread || least < most;
    }
    EXPECT_TRUE(isSpread);
    const auto* histogram = window_.page(QStringLiteral("kernels"))->findChild<HistogramPlot*>();
    EXPECT_TRUE(QTest::qWaitFor([histogram] { return histogram->isVisible(); }, kTimeoutMs));
}

TEST_F(WindowTest, KernelsSayWhichOfSeveralRunsTheyAreOf)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    const auto title = [&table] { return table.model()->headerData(0, Qt::Horizontal).toString(); };
    EXPECT_EQ(title(), QStringLiteral("Kernel"));
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{2}}, {file, RunId{1}}});
    waitUntilSettled();
    EXPECT_EQ(title(), QStringLiteral("Kernel of A flash"));
}

TEST_F(WindowTest, ARunWithoutTheSelectedKernelShowsItsFirstRowAndSaysSo)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    const QWidget* kernels = window_.page(QStringLiteral("kernels"));
    const auto* notice = kernels->findChild<QLabel*>(QStringLiteral("durationsNotice"));
    const auto* histogram = kernels->findChild<HistogramPlot*>();
    const int file = window_.workspace().files()[0].id;
    const auto select = [&](int run) {
        window_.workspace().select({{file, RunId{run}}});
        waitUntilSettled();
    };
    const auto fullNames = [&] {
        std::set<QString> names;
        for (const TableRow& row : table.table().rows)
            names.insert(row.cells.front().exact);
        return names;
    };
    const std::set<QString> ofNaive = fullNames();
    select(2);
    int onlyHere = -1;
    for (int row = 0; row < table.model()->rowCount(); ++row)
        if (!ofNaive.contains(
                table.table()
                    .rows[std::size_t(table.model()->index(row, 0).data(TableModel::IdRole).toLongLong())]
                    .cells.front()
                    .exact))
            onlyHere = row;
    ASSERT_GE(onlyHere, 0) << "only the run flash has the fused kernel";
    clickRow(table, table.model()->index(onlyHere, 0));
    const QString kernel = window_.workspace().kernel();
    const QString shown = table.currentIndex().data().toString();
    EXPECT_FALSE(notice->isVisible());

    select(1);
    EXPECT_EQ(table.currentIndex().row(), 0);
    EXPECT_TRUE(notice->isVisible());
    EXPECT_TRUE(notice->text().contains(QStringLiteral("This run has no kernel “%1”").arg(shown)))
        << notice->text().toStdString();
    EXPECT_TRUE(QTest::qWaitFor([histogram] { return histogram->isVisible(); }, kTimeoutMs));
    EXPECT_EQ(window_.workspace().kernel(), kernel) << "other pages keep it";
    clickRow(table, table.model()->index(1, 0));
    EXPECT_FALSE(notice->isVisible());

    window_.workspace().setKernel(kernel);
    select(2);
    EXPECT_EQ(table.currentIndex().data().toString(), shown);
    EXPECT_FALSE(notice->isVisible());
}

TEST_F(WindowTest, ABubbleOfTheRooflineIsARowOfTheTable)
{
    clickRail(QStringLiteral("Kernels"));
    KernelsPage& kernels = page<KernelsPage>("kernels");
    RooflinePlot& roofline = kernels.roofline();
    ASSERT_GT(roofline.bubbles().size(), 1U) << "the linears have shapes";
    const RooflineBubble& smallest = roofline.bubbles().back();
    std::optional<QPoint> at;
    const auto isDrawn = [&] {
        for (int y = 0; y < roofline.height() && !at; ++y)
            for (int x = 0; x < roofline.width() && !at; ++x)
                if (roofline.bubbleAt(QPointF(x, y)) == smallest.id)
                    at = QPoint(x, y);
        return at.has_value();
    };
    ASSERT_TRUE(QTest::qWaitFor(isDrawn, kTimeoutMs)) << "the plot draws itself when the window is idle";
    QTest::mouseClick(&roofline, Qt::LeftButton, {}, *at + QPoint(2, 2));
    waitUntilSettled();
    EXPECT_EQ(kernels.table().currentId(), smallest.id);
}

TEST_F(WindowTest, ColumnsThatAreHiddenStayHiddenAndAreNotExported)
{
    clickRail(QStringLiteral("Kernels"));
    TableView& table = page<KernelsPage>("kernels").table();
    const std::size_t columns = table.shown().columns.size();
    QMenu menu;
    table.fillColumnMenu(menu);
    for (QAction* action : menu.actions())
        if (action->text() == QLatin1String("Share, %"))
            action->trigger();
    EXPECT_TRUE(table.isColumnHidden(int(KernelColumn::Share)));
    EXPECT_EQ(table.shown().columns.size(), columns - 1);
    EXPECT_EQ(table.shown().rows.front().cells.size(), columns - 1);
    for (QPushButton* button : window_.page(QStringLiteral("kernels"))->findChildren<QPushButton*>())
        if (button->text() == QLatin1String("family"))
            QTest::mouseClick(button, Qt::LeftButton);
    waitUntilSettled();
    EXPECT_TRUE(table.isColumnHidden(int(KernelColumn::Share)));
}

} // namespace
} // namespace tilescope::ui
