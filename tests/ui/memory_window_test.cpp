#include "core/exchange/import/snapshot_import.h"
#include "tests/support/fake_memory.h"
#include "tests/ui/window_fixture.h"
#include "ui/kit/controls.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/memory/memory_areas.h"
#include "ui/memory/memory_blocks.h"
#include "ui/memory/memory_legend.h"
#include "ui/memory/memory_page.h"
#include "ui/memory/memory_rows.h"
#include "ui/memory/memory_segments.h"

#include <QComboBox>
#include <QLineEdit>
#include <QSlider>

namespace tilescope::ui {
namespace {

class MemoryWindow : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        clickRail(QStringLiteral("Memory"));
        page_ = &page<MemoryPage>("memory");
        ASSERT_EQ(page_->areas().runs().size(), 1U);
        history_ = page_->areas().runs().front().history;
    }

    // What the rows of the table of shares add up to, exactly.
    std::int64_t sumOfShares()
    {
        std::int64_t sum = 0;
        for (const TableRow& row : page_->shares().table().rows)
            sum += row.id < 0 ? 0 : std::int64_t(row.cells[std::size_t(MemoryShareColumn::Bytes)].sort);
        return sum;
    }

    void clickAt(MemoryChart& chart, QPoint at)
    {
        QTest::mouseClick(&chart, Qt::LeftButton, {}, at);
        waitUntilSettled();
    }

    void choose(const QString& segments, int index)
    {
        const auto buttons = named<SegmentedControl>(segments).findChildren<QPushButton*>();
        QTest::mouseClick(buttons.at(index), Qt::LeftButton);
        waitUntilSettled();
    }

    MemoryPage* page_ = nullptr;
    std::shared_ptr<const query::MemoryHistory> history_;
};

TEST_F(MemoryWindow, AnInstantIsClickedAndItsTableAddsUpToTheAllocatorsCount)
{
    EXPECT_EQ(page_->instant(), history_->peakTime) << "the peak, until another is chosen";
    EXPECT_EQ(sumOfShares(), history_->allocated.value(history_->allocated.peak()));
    const QRect plot = page_->areas().plot();
    for (const double part : {0.3, 0.45, 0.62, 0.9}) {
        const int x = plot.left() + int(part * plot.width());
        const double clicked = page_->areas().timeAt(x);
        clickAt(page_->areas(), {x, plot.center().y()});
        const double first = double(history_->allocated.time(0) - page_->areas().runs().front().zero());
        EXPECT_NEAR(double(page_->instant() - page_->areas().runs().front().zero()), std::max(first, clicked),
                    1);
        for (int by = 0; by < 4; ++by) {
            choose(QStringLiteral("Group allocated bytes by"), by);
            EXPECT_EQ(sumOfShares(), history_->allocated.at(page_->instant())) << "grouping " << by;
            EXPECT_GT(page_->shares().model()->rowCount(), 1);
        }
    }
    choose(QStringLiteral("Instant"), 0);
    EXPECT_EQ(page_->instant(), history_->peakTime);
    choose(QStringLiteral("Instant"), 2);
    EXPECT_EQ(page_->instant(), page_->areas().runs().front().stepAt(history_->peakTime)->end);
    EXPECT_EQ(sumOfShares(), history_->allocated.at(page_->instant()));
}

TEST_F(MemoryWindow, ThePredictedPeakStandsBesideTheMeasuredOne)
{
    const auto words = [this] {
        for (const QLabel* label : page_->findChildren<QLabel*>())
            if (label->text().startsWith(QStringLiteral("allocated ")))
                return label->text();
        return QString();
    };
    const std::optional<std::int64_t> predicted = page_->areas().runs().front().predicted;
    ASSERT_TRUE(predicted);
    EXPECT_GT(*predicted, 0);
    EXPECT_TRUE(words().contains(QStringLiteral(", predicted ") + byteText(double(*predicted))))
        << words().toStdString();
    const std::optional<std::int64_t> timed = page_->areas().runs().front().timedPeak;
    ASSERT_TRUE(timed);
    const QString inTimedSteps = byteText(double(*timed)) + QStringLiteral(" in the timed steps");
    EXPECT_EQ(words().contains(inTimedSteps),
              byteText(double(*timed)) != byteText(double(history_->allocated.at(history_->peakTime))))
        << words().toStdString();
    choose(QStringLiteral("Instant"), 2);
    EXPECT_FALSE(words().contains(QStringLiteral("predicted"))) << "only the peak is predicted";
}

TEST_F(MemoryWindow, WheelKeysAndDragsMoveBothPlotsAsOnTheTimeline)
{
    MemoryAxis& axis = page_->axis();
    const TimeWindow whole = axis.window();
    const QPoint centre = page_->areas().plot().center();
    wheel(page_->areas(), centre, 3, Qt::ControlModifier);
    const TimeWindow closer = axis.window();
    EXPECT_NEAR(closer.length() / whole.length(), 0.512, 1e-3) << "0.8 a turn";
    wheel(page_->blocks(), centre, -1, Qt::ShiftModifier);
    EXPECT_NEAR(axis.window().from, closer.from + 0.1 * closer.length(), 1);
    page_->blocks().setFocus();
    QTest::keyClick(&page_->blocks(), Qt::Key_Left, Qt::AltModifier);
    EXPECT_EQ(axis.window(), whole);
    page_->areas().setFocus();
    QTest::keyClick(&page_->areas(), Qt::Key_W);
    EXPECT_NEAR(axis.window().length(), 0.7 * whole.length(), 1);
    QTest::keyClick(&page_->areas(), Qt::Key_F);
    EXPECT_EQ(axis.window(), axis.bounds());
    page_->axis().setWindow(whole);

    drag(page_->areas(), centre, centre + QPoint(80, 0));
    ASSERT_TRUE(axis.span());
    EXPECT_NEAR(axis.span()->length(), page_->areas().timeAt(180) - page_->areas().timeAt(100), 2);
    EXPECT_TRUE(statusText(1).contains(QStringLiteral("blocks requested"))) << statusText(1).toStdString();
    QTest::keyClick(&page_->areas(), Qt::Key_Z);
    EXPECT_NEAR(axis.window().from, axis.span()->from, 1);
    QTest::keyClick(&page_->areas(), Qt::Key_Escape);
    EXPECT_FALSE(axis.span());
}

TEST_F(MemoryWindow, TheCursorReadsBytesAndTheLegendFollowsIt)
{
    // The fixture's first peak: 131 MiB of parameters, 92 of activations, 36 of gradients.
    const MemoryRun& run = page_->areas().runs().front();
    const auto x = int(page_->areas().xAt(double(history_->peakTime - run.zero()))) + 2;
    moveTo(page_->areas(), {x, page_->areas().plot().center().y()});
    EXPECT_TRUE(statusText(0).contains(QStringLiteral("allocated 259"))) << statusText(0).toStdString();
    EXPECT_TRUE(statusText(0).contains(QStringLiteral("reserved 260"))) << statusText(0).toStdString();
    const auto legend = [this](const char* name) {
        for (const MemoryLegend::Entry& entry : window_.findChild<MemoryLegend*>()->entries())
            if (entry.name == QLatin1String(name))
                return entry.value;
        return QString();
    };
    EXPECT_TRUE(legend("parameters").startsWith(QStringLiteral("131"))) << legend("parameters").toStdString();
    EXPECT_TRUE(legend("activations").startsWith(QStringLiteral("92")))
        << legend("activations").toStdString();
    EXPECT_TRUE(legend("allocated").startsWith(QStringLiteral("259")));
    moveTo(page_->areas(), {page_->areas().plot().left() + 1, page_->areas().plot().center().y()});
    EXPECT_FALSE(legend("allocated").startsWith(QStringLiteral("259"))) << "there it was less";
}

TEST_F(MemoryWindow, ABlockIsOneInPlotListAndDetails)
{
    TableView& table = page_->table();
    ASSERT_EQ(table.model()->rowCount(), 12) << "as many as the header counts";
    EXPECT_EQ(table.model()->index(0, 1).data().toString(), QStringLiteral("parameters"));
    clickRow(table, table.model()->index(1, 0));
    EXPECT_TRUE(statusText(1).startsWith(QStringLiteral("1 block selected, 20.0")))
        << statusText(1).toStdString();
    ASSERT_TRUE(page_->blocks().selected());
    auto& facts = named<KeyValueTable>(QStringLiteral("Details of the selected block"));
    EXPECT_FALSE(facts.rows().empty());

    // The same by a click on its box.
    const std::uint32_t block = *page_->blocks().selected();
    page_->blocks().setFocus();
    QTest::keyClick(&page_->blocks(), Qt::Key_Escape);
    EXPECT_FALSE(page_->blocks().selected());
    EXPECT_TRUE(facts.rows().empty());
    const query::MemoryLayout& layout = *page_->blocks().layout();
    const auto box = std::ranges::find(layout.boxes, block, &query::MemoryBox::block);
    ASSERT_NE(box, layout.boxes.end());
    const auto [low, high] = page_->blocks().bytes();
    const QRect plot = page_->blocks().plot();
    const double middle = double(box->low + box->high) / 2;
    const double time =
        (double(box->from) + double(box->to)) / 2 - double(page_->areas().runs().front().zero());
    clickAt(page_->blocks(), {int(page_->blocks().xAt(time)),
                              plot.top() + int((high - middle) / (high - low) * plot.height())});
    EXPECT_EQ(page_->blocks().selected(), block);
    EXPECT_FALSE(facts.rows().empty());
    EXPECT_EQ(table.currentId(), std::int64_t(block));

    QTest::keyClicks(&named<QLineEdit>(QStringLiteral("Filter blocks")), QStringLiteral("gradients"));
    for (int row = 0; row < table.model()->rowCount(); ++row)
        EXPECT_EQ(table.model()->index(row, 1).data().toString(), QStringLiteral("gradients"));
}

TEST_F(MemoryWindow, DetailAndPlacementChooseWhatIsDrawn)
{
    auto& detail =
        named<QSlider>(QStringLiteral("Detail: the share of blocks that are drawn, the largest first"));
    const std::size_t all = history_->blocks.size();
    EXPECT_EQ(page_->blocks().layout()->blocks, all);
    detail.setValue(500);
    waitUntilSettled();
    EXPECT_EQ(page_->blocks().layout()->blocks, std::size_t(std::ceil(0.125 * double(all))));
    EXPECT_GT(page_->blocks().layout()->restMost, 0) << "the others are the rest";
    choose(QStringLiteral("Placement of the blocks"), 1);
    EXPECT_EQ(page_->blocks().layout()->placing, query::MemoryPlacing::Stacked);
    EXPECT_EQ(page_->blocks().layout()->height, history_->allocated.value(history_->allocated.peak()));

    const auto whole = page_->blocks().bytes();
    wheel(page_->blocks(), page_->blocks().plot().center(), 4, Qt::AltModifier);
    const auto closer = page_->blocks().bytes();
    EXPECT_NEAR((closer.second - closer.first) / (whole.second - whole.first), 0.4096, 1e-3);
    page_->blocks().setFocus();
    QTest::keyClick(&page_->blocks(), Qt::Key_F);
    EXPECT_EQ(page_->blocks().bytes(), whole);
}

TEST_F(MemoryWindow, SegmentsThatWereNotRecordedAreNotMadeUp)
{
    choose(QStringLiteral("Placement of the blocks"), 2);
    EXPECT_TRUE(page_->segments().isVisible());
    EXPECT_FALSE(page_->blocks().isVisible());
    EXPECT_TRUE(page_->segments().strips().empty());
    choose(QStringLiteral("What the list shows"), 2);
    EXPECT_EQ(page_->table().model()->rowCount(), 0);
    choose(QStringLiteral("Placement of the blocks"), 0);
    EXPECT_TRUE(page_->blocks().isVisible());
}

TEST_F(MemoryWindow, AnotherRunLiesOverTheFirstAndEitherIsChosen)
{
    const int file = window_.workspace().files()[0].id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    waitUntilSettled();
    ASSERT_EQ(page_->areas().runs().size(), 2U);
    EXPECT_EQ(page_->areas().runs()[0].letter, QStringLiteral("A"));
    auto& run = named<QComboBox>(QStringLiteral("Run"));
    EXPECT_TRUE(run.isVisible());
    const auto blocks = page_->areas().runs()[0].history->blocks.size();
    run.setFocus();
    QTest::keyClick(&run, Qt::Key_Down);
    waitUntilSettled();
    EXPECT_EQ(page_->areas().runs()[0].letter, QStringLiteral("B"));
    EXPECT_NE(page_->areas().runs()[0].history->blocks.size(), blocks);
    EXPECT_EQ(sumOfShares(), page_->areas().runs()[0].history->allocated.at(page_->instant()));
}

TEST_F(MemoryWindow, TheOverviewsLargestAllocationsLeadToTheirBlock)
{
    clickRail(QStringLiteral("Overview"));
    auto& list = named<TableView>(QStringLiteral("Largest allocations"));
    ASSERT_GT(list.model()->rowCount(), 1);
    const QString place = list.model()->index(1, 0).data().toString();
    const QString category = list.model()->index(1, 1).data().toString();
    list.setFocus();
    clickRow(list, list.model()->index(1, 0));
    QTest::keyClick(&list, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("memory"));
    ASSERT_TRUE(page_->blocks().selected()) << place.toStdString();
    EXPECT_EQ(blockGroup(*page_->areas().runs().front().history, *page_->blocks().selected()),
              place + QLatin1Char('\n') + category);
    EXPECT_TRUE(history_->blocks[*page_->blocks().selected()].isAliveAt(history_->peakTime));
}

/// The window with a memory snapshot of PyTorch, whose blocks have stacks.
class SnapshotWindow : public WindowTest {
protected:
    void SetUp() override
    {
        const std::filesystem::path file = folder_ / "snapshot.tscope";
        exchange::importSnapshotFile(
            std::filesystem::path(TILESCOPE_SOURCE_DIR) / "tests/data/memory_small2_train.pickle", file);
        window_.open({QString::fromStdString(file.string())});
        window_.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_, kTimeoutMs));
        waitUntilSettled();
        clickRail(QStringLiteral("Memory"));
    }
};

TEST_F(SnapshotWindow, AStackShowsTheProgramsFramesBeforeThoseOfLibraries)
{
    TableView& table = page<MemoryPage>("memory").table();
    auto& facts = named<KeyValueTable>(QStringLiteral("Details of the selected block"));
    const auto placeOf = [&](const QString& key) {
        return std::ranges::find(facts.rows(), key, &KeyValueRow::key) - facts.rows().begin();
    };
    int row = 0;
    const int rows = table.model()->rowCount();
    for (; row < rows; ++row) { // of blocks before the trace, no stack is known
        clickRow(table, table.model()->index(row, 0));
        if (placeOf(QStringLiteral("Libraries")) < std::ssize(facts.rows()))
            break;
    }
    ASSERT_LT(row, rows) << "a block has a stack";
    const auto own = placeOf(QStringLiteral("Stack"));
    const auto libraries = placeOf(QStringLiteral("Libraries"));
    ASSERT_LT(own, libraries);
    for (auto i = own; i < libraries; ++i) {
        const KeyValueRow& frame = facts.rows()[std::size_t(i)];
        EXPECT_TRUE(frame.values.front().startsWith(QLatin1String("train.py:")))
            << frame.values.front().toStdString();
        EXPECT_FALSE(frame.dim);
    }
    EXPECT_TRUE(facts.rows()[std::size_t(libraries)].values.front().startsWith(QLatin1String("torch/")));
    EXPECT_TRUE(facts.rows()[std::size_t(libraries)].dim);
}

TEST_F(MemoryWindow, WithoutCategoriesOpsHaveTheColours)
{
    constexpr MemoryCategory kNone = MemoryCategory::Unattributed;
    testing::FakeMemory memory("trace");
    memory.op("aten::mm", "").alloc(1, 1000, 10, "", kNone);
    memory.op("aten::add", "").alloc(2, 600, 20, "", kNone).free(1, 40);
    window_.open({QString::fromStdString(memory.file().string())});
    waitUntilSettled();
    ASSERT_NE(page_->areas().groups(), nullptr);
    EXPECT_EQ(page_->areas().groups()->grouping, query::MemoryGrouping::Op);
    QStringList legend;
    for (const MemoryLegend::Entry& entry : page_->findChild<MemoryLegend*>()->entries())
        legend << entry.name;
    EXPECT_EQ(legend.mid(0, 2), (QStringList{QStringLiteral("aten::mm"), QStringLiteral("aten::add")}));
    EXPECT_EQ(sumOfShares(), 1600);
    choose(QStringLiteral("Colour by"), 0);
    EXPECT_EQ(page_->areas().groups()->grouping, query::MemoryGrouping::Category) << "the user's choice";
}

TEST_F(MemoryWindow, MuchMoreReservedMemoryDoesNotFlattenWhatIsAllocated)
{
    const auto scaleOf = [this](std::int64_t bytes) {
        testing::FakeMemory memory; // reserves 100 bytes more than it allocates
        memory.alloc(1, bytes, 10, "step/forward").free(1, 40);
        window_.open({QString::fromStdString(memory.file().string())});
        waitUntilSettled();
        return page_->areas().scale();
    };
    EXPECT_EQ(scaleOf(1000), 1100) << "both fit";
    EXPECT_EQ(scaleOf(90), 90);
}

} // namespace
} // namespace tilescope::ui
