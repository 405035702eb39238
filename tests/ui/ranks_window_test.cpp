// Pages on a run of two ranks: stacks of Python, steps of each rank, choice of a rank or GPU.

#include "core/query/advice/advice_table.h"
#include "core/query/overview/run_overview.h"
#include "tests/ui/window_fixture.h"
#include "ui/kernels/kernels_page.h"
#include "ui/kit/controls.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_history.h"
#include "ui/memory/memory_page.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_page.h"

#include <QComboBox>
#include <QRegularExpression>

namespace tilescope::ui {
namespace {

using query::Lane;

class RanksWindow : public WindowTest {
protected:
    void SetUp() override
    {
        const std::filesystem::path file = folder_ / "ranks.tscope";
        test::writeRanksFile(file);
        window_.open({QString::fromStdString(file.string())});
        window_.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_, kTimeoutMs));
        window_.activateWindow();
        waitUntilSettled();
        ASSERT_EQ(window_.workspace().selection().size(), 1U);
    }

    TimelineView& view() { return page<TimelinePage>("timeline").view(); }
    const query::Timeline& timeline() { return *view().scene().sections.front().timeline; }

    std::optional<LanePlace> placeOf(const std::string& title)
    {
        const std::vector<LaneView>& lanes = view().scene().sections.front().lanes;
        for (std::size_t v = 0; v < lanes.size(); ++v)
            if (timeline().lanes[lanes[v].lane].title == title)
                return LanePlace{0, v};
        return {};
    }

    // The values of the rows of details from that key on, as long as rows have no key.
    QStringList valuesOf(const QString& key)
    {
        QStringList values;
        for (const KeyValueTable* table : window_.findChildren<KeyValueTable*>())
            for (const KeyValueRow& row : table->rows()) {
                if (!table->isVisible())
                    continue;
                if (row.key == key || (row.key.isEmpty() && !values.isEmpty()))
                    values << row.values;
                else if (!values.isEmpty())
                    return values;
            }
        return values;
    }

    static void choose(QComboBox& box, int index)
    {
        box.setCurrentIndex(index);
        emit box.activated(index);
        waitUntilSettled();
    }
};

TEST_F(RanksWindow, StacksAreFoldedUntilTheyAreWanted)
{
    clickRail(QStringLiteral("Timeline"));
    const auto stacks = placeOf("rank 0 Python");
    ASSERT_TRUE(stacks);
    EXPECT_EQ(timeline().lanes[view().scene().sections[0].lanes[stacks->view - 1].lane].title,
              "rank 0 ranges");
    EXPECT_TRUE(view().scene().sections[0].lanes[stacks->view].folded);
    EXPECT_FALSE(placeOf("rank 1 Python")) << "a rank without stacks has no lane";
    view().setFolded(*stacks, false);
    EXPECT_GT(timeline().lanes[view().scene().sections[0].lanes[stacks->view].lane].rows.size(), 4U);
}

TEST_F(RanksWindow, AKernelLeadsToTheCallThatLaunchedIt)
{
    clickRail(QStringLiteral("Timeline"));
    const auto stream = placeOf("rank 0 stream 7");
    ASSERT_TRUE(stream);
    const std::size_t lane = view().scene().sections[0].lanes[stream->view].lane;
    view().select(SectionItem{0, {lane, 0, 0}});
    waitUntilSettled();
    const QStringList stack = valuesOf(QStringLiteral("Launched by"));
    ASSERT_GE(stack.size(), 2);
    EXPECT_EQ(stack.back(), QStringLiteral("train.py(41): step")) << "the outermost call comes last";
    view().setFocus();
    QTest::keyClick(&view(), Qt::Key_P);
    waitUntilSettled();
    ASSERT_TRUE(view().scene().selected);
    const query::TimelineItem& item = view().scene().selected->item;
    EXPECT_EQ(timeline().lanes[item.lane].title, "rank 0 Python");
    EXPECT_EQ(timeline().names[timeline().lanes[item.lane].rows[item.row].name(item.index)].text,
              stack.front().toStdString());
    EXPECT_FALSE(view().scene().sections[0].lanes[placeOf("rank 0 Python")->view].folded) << "it can be read";
}

TEST_F(RanksWindow, ANarrowToolBarHasAListInsteadOfSegments)
{
    clickRail(QStringLiteral("Kernels"));
    SegmentedControl* found = nullptr;
    for (SegmentedControl* each : page<KernelsPage>("kernels").findChildren<SegmentedControl*>())
        if (each->accessibleName() == QStringLiteral("Group by"))
            found = each;
    ASSERT_NE(found, nullptr);
    SegmentedControl& grouping = *found;
    const auto& list = *grouping.findChild<QComboBox*>();
    window_.resize(1920, 900);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !grouping.isCompact(); }, kTimeoutMs));
    window_.resize(sizes().of(1150), 720);
    ASSERT_TRUE(QTest::qWaitFor([&] { return grouping.isCompact(); }, kTimeoutMs));
    waitUntilSettled();
    EXPECT_TRUE(list.isVisible());
    EXPECT_GE(list.width(), list.minimumSizeHint().width());
    choose(*grouping.findChild<QComboBox*>(), 1);
    EXPECT_EQ(grouping.current(), 1) << "the list does what the segments do";
    window_.resize(1920, 900);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !grouping.isCompact(); }, kTimeoutMs));
    EXPECT_EQ(grouping.current(), 1);
}

TEST_F(RanksWindow, TheHeaderIsAboutAStepOfTheFirstRank)
{
    clickRail(QStringLiteral("Timeline"));
    const TimelineSection& section = view().scene().sections.front();
    EXPECT_EQ(section.alignedAt, QStringLiteral("rank 0 step 0"));
    const Lane& other = timeline().lanes[section.lanes[placeOf("rank 1 busy")->view].lane];
    ASSERT_TRUE(section.stepOf(other));
    EXPECT_EQ(section.stepOf(other)->start - section.step->start, 250'000);
    const auto& alignment = named<QComboBox>(QStringLiteral("Align runs at"));
    EXPECT_EQ(alignment.itemText(0), QStringLiteral("rank 0 step 0"));
    EXPECT_EQ(alignment.findText(QStringLiteral("rank 1 step 0")), -1);
}

TEST_F(RanksWindow, TheTableBelowCountsTheRankOfItsTitleOrAll)
{
    clickRail(QStringLiteral("Timeline"));
    const auto count = [this] {
        for (const TableView* table : window_.findChildren<TableView*>())
            if (table->isVisible() && table->accessibleName() == QStringLiteral("Kernels of the span") &&
                !table->table().rows.empty())
                return table->table().rows.back().cells[2].sort; // the sum
        return 0.0;
    };
    const auto words = [this] { return window_.findChild<QLabel*>(QStringLiteral("span"))->text(); };
    waitUntilSettled();
    const double ofStep = count();
    EXPECT_GT(ofStep, 0);
    EXPECT_FALSE(words().contains(QStringLiteral("GPUs"))) << words().toStdString();
    view().setSpan(wholeWindow(view().scene().sections));
    waitUntilSettled();
    EXPECT_EQ(count(), 4 * ofStep) << "two steps of two ranks that do the same";
    EXPECT_TRUE(words().contains(QStringLiteral("% of 2 GPUs"))) << words().toStdString();
}

// The headers of a page's panels.
QString headersOf(const QWidget& page)
{
    QStringList words;
    for (const QLabel* label : page.findChildren<QLabel*>())
        words << label->text();
    return words.join(QLatin1Char('\n'));
}

TEST_F(RanksWindow, KernelsOfARankAreHalfOfThem)
{
    clickRail(QStringLiteral("Kernels"));
    const auto instances = [this] {
        double sum = 0;
        for (const TableRow& row : page<KernelsPage>("kernels").table().table().rows)
            sum += row.cells[std::size_t(KernelColumn::Instances)].sort;
        return sum;
    };
    auto& topology = named<QComboBox>(QStringLiteral("Rank"));
    EXPECT_TRUE(topology.isVisible());
    EXPECT_EQ(topology.itemText(0), QStringLiteral("mean of 2 ranks"));
    EXPECT_TRUE(headersOf(page<KernelsPage>("kernels")).contains(QStringLiteral("all 2 ranks")));
    const double all = instances();
    choose(topology, 2);
    EXPECT_EQ(topology.currentText(), QStringLiteral("rank 1"));
    EXPECT_TRUE(headersOf(page<KernelsPage>("kernels")).contains(QStringLiteral("rank 1")));
    EXPECT_EQ(2 * instances(), all);
    auto& steps = named<QComboBox>(QStringLiteral("Step"));
    EXPECT_EQ(steps.count(), 3) << "all steps, and each step once";
    choose(steps, 1);
    EXPECT_EQ(4 * instances(), all);
}

TEST_F(RanksWindow, OneChoiceOfARankHoldsOnEveryPageAndIsNamedInItsHeaders)
{
    const auto namesIn = [this](const char* pageName) {
        const QString text = headersOf(*window_.page(QString::fromLatin1(pageName)));
        QStringList found;
        for (const char* words : {"mean of 2 ranks", "all 2 ranks", "rank 0", "rank 1"})
            if (text.contains(
                    QRegularExpression(QStringLiteral("(, |^|\\n)%1($|\\n|,)").arg(QLatin1String(words)))))
                found << QLatin1String(words);
        return found;
    };
    auto& rank = named<QComboBox>(QStringLiteral("Rank"));
    clickRail(QStringLiteral("Overview"));
    const auto& advice = named<TableView>(QStringLiteral("Advice"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return advice.isVisible(); }, kTimeoutMs));
    EXPECT_TRUE(rank.isVisible());
    EXPECT_EQ(namesIn("overview"), QStringList({QStringLiteral("mean of 2 ranks")}));
    choose(rank, 1);
    ASSERT_TRUE(QTest::qWaitFor([&] { return advice.isVisible(); }, kTimeoutMs));
    waitUntilSettled();
    EXPECT_EQ(namesIn("overview"), QStringList({QStringLiteral("rank 0")}));
    clickRail(QStringLiteral("Flame"));
    EXPECT_TRUE(rank.isVisible());
    EXPECT_EQ(rank.currentText(), QStringLiteral("rank 0"));
    EXPECT_TRUE(headersOf(*window_.page(QStringLiteral("flame"))).contains(QStringLiteral(", rank 0")));
    clickRail(QStringLiteral("Query"));
    EXPECT_FALSE(rank.isVisible()) << "a statement is of all rows";
    window_.workspace().history().undo();
    EXPECT_TRUE(window_.workspace().process().empty());
}

TEST_F(RanksWindow, CardsBarsAndAdviceHaveOneStep)
{
    const auto [file, run] = window_.workspace().selection().front();
    const auto session = window_.workspace().find(file)->file->borrow();
    const auto never = [] { return false; };
    for (const query::ProcessQuery& process :
         {query::ProcessQuery{}, query::ProcessQuery{.rank = 0}, query::ProcessQuery{.rank = 1}}) {
        const query::RunOverview overview = query::runOverview(session->reader(), run, never, {}, process);
        const query::AdviceTable advice = query::advice(session->reader(), run, process);
        ASSERT_TRUE(overview.step);
        EXPECT_EQ(overview.step->steps, advice.steps);
        EXPECT_NEAR(overview.step->wall, advice.perStep(advice.wall), 1);
        EXPECT_EQ(overview.processWords, advice.process);
    }
}

TEST_F(RanksWindow, MemoryIsShownOfTheGpuThatIsChosen)
{
    clickRail(QStringLiteral("Memory"));
    const auto& memory = page<MemoryPage>("memory");
    auto& gpus = named<QComboBox>(QStringLiteral("GPU"));
    ASSERT_TRUE(gpus.isVisible());
    EXPECT_EQ(gpus.currentText(), QStringLiteral("rank 1 GPU 1, highest peak"));
    const auto summary = [&] {
        QStringList texts;
        for (const QLabel* label : memory.findChildren<QLabel*>())
            texts << label->text();
        return texts.filter(QStringLiteral(" at the peak")).join(QLatin1Char(' '));
    };
    const QString highest = summary();
    choose(gpus, 0);
    EXPECT_EQ(gpus.currentText(), QStringLiteral("rank 0 GPU 0"));
    EXPECT_NE(summary(), highest);
    EXPECT_FALSE(summary().isEmpty());
    choose(gpus, 1);
    EXPECT_EQ(summary(), highest);
}

TEST_F(RanksWindow, TheMachineIsThatOfTheRanks)
{
    clickRail(QStringLiteral("Overview"));
    EXPECT_EQ(valuesOf(QStringLiteral("GPUs")), QStringList{QStringLiteral("2 × NVIDIA H200")});
    EXPECT_EQ(valuesOf(QStringLiteral("Ranks")), QStringList{QStringLiteral("0, 1 of 2")});
    EXPECT_EQ(valuesOf(QStringLiteral("Host")), QStringList{QStringLiteral("node")});
    EXPECT_EQ(valuesOf(QStringLiteral("Format")), QStringList{QStringLiteral("trace of PyTorch's profiler")});
}

} // namespace
} // namespace tilescope::ui
