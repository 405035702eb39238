#include "core/exchange/tables/number.h"
#include "core/report/run_facts.h"
#include "ui/kit/histogram.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_model.h"
#include "ui/kit/time_axis.h"
#include "ui/timeline/box_runs.h"
#include "ui/window/run_tree_model.h"

#include <QAbstractItemModelTester>
#include <QSet>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace tilescope::ui {
namespace {

constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;

RunTreeFile fileOf(int id, const std::vector<query::RunSummary>& runs)
{
    auto snapshot = std::make_shared<query::FileSnapshot>();
    snapshot->runs = runs;
    return {id, QStringLiteral("file"), {}, {}, std::make_shared<const RunGroups>(snapshot)};
}

std::vector<query::RunSummary> someRuns(int count, const std::string& name = "sweep")
{
    std::vector<query::RunSummary> runs;
    for (int i = 1; i <= count; ++i) {
        query::RunSummary& run = runs.emplace_back();
        run.run = RunId{i};
        run.name = name;
        run.workload = "attention";
        run.params = {{"backend", i % 2 ? "naive" : "flash"}, {"seq_len", "512"}};
        run.result.status = i == 3 ? RunStatus::Oom : RunStatus::Ok;
        run.step = analysis::Statistics{.n = 3, .mean = 100.0 - i, .median = 100.0 - i};
    }
    return runs;
}

std::int64_t numberAt(const RunTreeModel& model, int row, const QModelIndex& parent)
{
    return model.index(row, 0, parent).data(RunTreeModel::RunNumberRole).toLongLong();
}

TEST(RunTreeModel, KeepsItsPromisesWhileFilesComeAndGo)
{
    RunTreeModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    model.setFiles({fileOf(1, someRuns(3)), fileOf(2, {})});
    model.setFiles({fileOf(1, someRuns(3)), fileOf(2, someRuns(5))});
    EXPECT_EQ(model.rowCount(model.index(1, 0)), 5);
    EXPECT_EQ(model.indexOf({2, RunId{4}}).row(), 3);
    std::vector<query::RunSummary> runs = someRuns(3, "study: one");
    for (query::RunSummary run : someRuns(2, "study: two")) {
        run.run = RunId{run.run.value + 3};
        runs.push_back(run);
    }
    for (query::RunSummary run : someRuns(1, "alone")) {
        run.run = RunId{6};
        runs.push_back(run);
    }
    model.setFiles({fileOf(1, someRuns(3)), fileOf(3, runs)});
    model.setFilter(QStringLiteral("backend=flash"));
    model.sort(RunTreeModel::Step, Qt::DescendingOrder);
    model.setFiles({{4, QStringLiteral("loading"), {}, {}, nullptr}, fileOf(3, runs)});
    model.setFilter({});
    model.setFiles({});
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(RunTreeModel, GroupsRunsByStudyAndSweep)
{
    std::vector<query::RunSummary> runs = someRuns(4, "study: one");
    for (query::RunSummary run : someRuns(2, "study: two")) {
        run.run = RunId{run.run.value + 4};
        runs.push_back(run);
    }
    query::RunSummary alone = someRuns(1, "alone").front();
    alone.run = RunId{7};
    runs.push_back(alone);
    RunTreeModel model;
    model.setFiles({fileOf(1, runs)});
    const QModelIndex file = model.index(0, 0);
    ASSERT_EQ(model.rowCount(file), 2) << "the study, and the run that shares its name with no other";
    const QModelIndex study = model.index(0, 0, file);
    EXPECT_EQ(study.data().toString(), QStringLiteral("study"));
    EXPECT_EQ(study.siblingAtColumn(RunTreeModel::Flags).data().toString(), QStringLiteral("5 of 6"));
    EXPECT_EQ(RunStatus(study.data(RunTreeModel::StatusRole).toInt()), RunStatus::Oom);
    EXPECT_EQ(numberAt(model, 1, file), 7);
    ASSERT_EQ(model.rowCount(study), 2);
    const QModelIndex one = model.index(0, 0, study);
    EXPECT_EQ(one.data().toString(), QStringLiteral("one"));
    EXPECT_EQ(model.rowCount(one), 4);
    EXPECT_EQ(model.index(0, 0, one).data().toString(), QStringLiteral("naive"))
        << "only the backend varies in the sweep";
    EXPECT_EQ(model.indexOf({1, RunId{6}}).parent(), model.index(1, 0, study));
    EXPECT_EQ(model.runsBelow(study).size(), 6U);
    EXPECT_EQ(model.runsBelow(file).size(), 7U);
    model.setFilter(QStringLiteral("#6"));
    ASSERT_EQ(model.rowCount(model.index(0, 0)), 1);
    EXPECT_EQ(model.runsBelow(model.index(0, 0)), (std::vector{RunKey{1, RunId{6}}}));
    EXPECT_EQ(model.shownRuns(), 1U);
}

TEST(RunTreeModel, AFileOfOneSweepHasNoGroups)
{
    RunTreeModel model;
    model.setFiles({fileOf(1, someRuns(4))});
    EXPECT_EQ(numberAt(model, 0, model.index(0, 0)), 1);
}

TEST(RunTreeModel, ACancelledRunIsNoErrorOfItsFile)
{
    std::vector<query::RunSummary> runs = someRuns(2);
    runs[1].result.status = RunStatus::Cancelled;
    RunTreeModel model;
    model.setFiles({fileOf(1, runs)});
    const auto worst = [&model] {
        return RunStatus(model.index(0, 0).data(RunTreeModel::StatusRole).toInt());
    };
    EXPECT_EQ(worst(), RunStatus::Cancelled);
    runs[0].result.status = RunStatus::Running;
    model.setFiles({fileOf(1, runs)});
    EXPECT_EQ(worst(), RunStatus::Running);
    runs[1].result.status = RunStatus::Error;
    model.setFiles({fileOf(1, runs)});
    EXPECT_EQ(worst(), RunStatus::Error);
}

TEST(RunTreeModel, ARecordingShowsItsTracedStepWithAMark)
{
    std::vector<query::RunSummary> runs = someRuns(1);
    runs[0].workload = "trace";
    runs[0].step.reset();
    runs[0].tracedStep = 12.7;
    RunTreeModel model;
    model.setFiles({fileOf(1, runs)});
    EXPECT_EQ(model.index(0, RunTreeModel::Step, model.index(0, 0)).data().toString(),
              QStringLiteral("12.7\u2020"));
    EXPECT_TRUE(model.headerData(RunTreeModel::Step, Qt::Horizontal, Qt::ToolTipRole)
                    .toString()
                    .contains(QStringLiteral("\u2020 mean traced step")));
}

TEST(RunTreeModel, SortsWithinGroups)
{
    RunTreeModel model;
    model.setFiles({fileOf(1, someRuns(12))});
    const QModelIndex file = model.index(0, 0);
    for (int row = 0; row < 12; ++row)
        EXPECT_EQ(numberAt(model, row, file), row + 1);
    model.sort(RunTreeModel::Step, Qt::AscendingOrder);
    EXPECT_EQ(numberAt(model, 0, model.index(0, 0)), 12);
    model.sort(RunTreeModel::Run, Qt::DescendingOrder);
    EXPECT_EQ(numberAt(model, 0, model.index(0, 0)), 12);
    model.sort(RunTreeModel::Backend, Qt::AscendingOrder);
    EXPECT_EQ(numberAt(model, 0, model.index(0, 0)), 2) << "flash";
}

TableData numbers(std::initializer_list<double> values)
{
    TableData data;
    data.columns.resize(1);
    for (const double value : values) {
        TableRow row;
        row.id = std::int64_t(data.rows.size());
        row.cells.resize(1);
        row.cells[0].text = threeDigits(value);
        row.cells[0].sort = value;
        data.rows.push_back(row);
    }
    return data;
}

TEST(TableModel, SortsByValueWithTotalsLast)
{
    TableModel model;
    TableFilter filter;
    filter.setSourceModel(&model);
    const QAbstractItemModelTester tester(&model, kFatal);
    TableData data = numbers({9, 100, 20});
    data.rows[1].strong = true; // a total
    model.setData(data);
    filter.sort(0, Qt::DescendingOrder);
    EXPECT_EQ(filter.index(0, 0).data().toString(), QStringLiteral("20.0"));
    EXPECT_EQ(filter.index(2, 0).data().toString(), QStringLiteral("100"));
    filter.sort(0, Qt::AscendingOrder);
    EXPECT_EQ(filter.index(0, 0).data().toString(), QStringLiteral("9.00"));
    EXPECT_EQ(filter.index(2, 0).data().toString(), QStringLiteral("100"));
}

TEST(TableModel, SortsNumbersWithinTextsAsNumbers)
{
    TableData data;
    data.columns.resize(1);
    for (const char* name : {"N 1024", "N 64", "N 512"}) {
        TableRow row;
        row.cells.resize(1);
        row.cells[0].text = QLatin1String(name);
        data.rows.push_back(row);
    }
    TableModel model;
    model.setData(data);
    TableFilter filter;
    filter.setSourceModel(&model);
    filter.sort(0);
    QStringList order;
    for (int row = 0; row < 3; ++row)
        order << filter.index(row, 0).data().toString();
    EXPECT_EQ(order, QStringList({"N 64", "N 512", "N 1024"}));
}

TEST(TableModel, AFilterMayNameTheColumnOfAWord)
{
    TableData data;
    data.columns.resize(3);
    data.columns[0].title = QStringLiteral("Op of A naive");
    data.columns[1].title = QStringLiteral("Family");
    data.columns[2].title = QStringLiteral("Total, ms");
    for (const auto& [name, family] : {std::pair("softmax_loss", "reduction"), {"_softmax", "softmax"}}) {
        TableRow row;
        row.cells.resize(3);
        row.cells[0].text = QLatin1String(name);
        row.cells[1].text = QLatin1String(family);
        data.rows.push_back(row);
    }
    TableModel model;
    model.setData(data);
    TableFilter filter;
    filter.setSourceModel(&model);
    const auto kept = [&](const char* words) {
        filter.setWords(QLatin1String(words));
        return filter.rowCount();
    };
    EXPECT_EQ(kept("softmax"), 2);
    EXPECT_EQ(kept("family:softmax"), 1);
    EXPECT_EQ(kept("Family:soft op:_soft"), 1);
    EXPECT_EQ(kept("family:softmax loss"), 0);
    EXPECT_EQ(kept("aten::softmax"), 0) << "no column of that title: any text";
}

TEST(Numbers, HaveThreeDigitsAndOneUnit)
{
    EXPECT_EQ(threeDigits(9.996), QStringLiteral("10.0"));
    EXPECT_EQ(threeDigits(0.0171), QStringLiteral("0.0171"));
    EXPECT_EQ(threeDigits(17600), QStringLiteral("17\u2009600"));
    EXPECT_EQ(threeDigits(-1.084), QStringLiteral("\u22121.08"));
    EXPECT_EQ(timeText(13792), QStringLiteral("13.8\u2009µs"));
    EXPECT_EQ(timeText(999.7), QStringLiteral("1.00\u2009µs"));
    EXPECT_EQ(byteText(561.0 * 1024 * 1024), QStringLiteral("561\u2009MiB"));
}

// The window's signs are its own, the digits and units are those of the command line and of reports.
TEST(Numbers, ReadAsOnTheCommandLineAndInReports)
{
    const auto plain = [](QString text) {
        text.remove(QChar(0x2009)).remove(QLatin1Char(',')).remove(QLatin1Char(' '));
        return text.replace(QChar(0x2212), QLatin1Char('-')).toStdString();
    };
    const auto plainOf = [&plain](const std::string& text) { return plain(QString::fromStdString(text)); };
    const unsigned seed = 11;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> exponent(-1, 14);
    for (int i = 0; i < 5000; ++i) {
        const double value = std::pow(10.0, exponent(random)) * (i % 5 == 0 ? -1 : 1);
        const double largest = std::max(std::abs(value), std::pow(10.0, exponent(random)));
        EXPECT_EQ(plain(timeText(value)), plainOf(exchange::withUnit(value, exchange::Unit::Nanoseconds)));
        EXPECT_EQ(plain(byteText(value)), plainOf(exchange::withUnit(value, exchange::Unit::Bytes)));
        EXPECT_EQ(plain(columnDigits(value, columnUnit({largest, value}, byteUnit))),
                  plainOf(exchange::scaleFor(exchange::Unit::Bytes, largest).text(value)));
        EXPECT_EQ(plain(columnDigits(value, columnUnit({value, largest}, timeUnit))),
                  plainOf(exchange::scaleFor(exchange::Unit::Nanoseconds, largest).text(value)));
        const report::Measured measured{.value = value, .unit = exchange::Unit::Bytes};
        EXPECT_EQ(plain(byteText(value)), plainOf(report::textOf(measured)));
    }
    EXPECT_EQ(columnDigits(9 << 20, byteUnit(5e9)), QStringLiteral("0.009"));
}

TEST(TimeAxis, NoTickRepeatsAtAnyZoom)
{
    for (double length = 40; length < 1e12; length *= 3.7) {
        const auto ticks = timeTicks({5e6, 5e6 + length}, 1000, 90);
        QSet<QString> labels;
        for (const Tick& tick : ticks)
            labels.insert(tick.label);
        EXPECT_EQ(labels.size(), qsizetype(ticks.size())) << length;
        EXPECT_LE(ticks.size(), 12U) << length;
    }
}

TEST(TimeWindow, ZoomKeepsWhatIsUnderTheCursor)
{
    const TimeWindow window = TimeWindow{100, 300}.zoomed(0.5, 150);
    EXPECT_DOUBLE_EQ(window.from, 125);
    EXPECT_DOUBLE_EQ(window.to, 225);
}

TEST(Boxes, MergeIntoNoMoreRunsThanColumnsAndLoseNoTime)
{
    query::TrackBuilder builder;
    for (int i = 0; i < 10'000; ++i)
        builder.add(i * 10, i * 10 + 5, 0, query::Hue::Matmul);
    const query::Track track = std::move(builder).build();
    std::vector<query::Column> scratch;
    RowBoxes boxes;
    makeBoxes(track, 0, 1000, 100, scratch, boxes);
    ASSERT_EQ(boxes.runs.size(), 1U); // every column looks alike
    EXPECT_EQ(boxes.runs[0].from, 0);
    EXPECT_EQ(boxes.runs[0].to, 100);
    EXPECT_EQ(boxes.runs[0].level, 4); // half of the time
}

TEST(Boxes, WideOnesAreSpansWithASeamBetween)
{
    query::TrackBuilder builder;
    builder.add(0, 10, 0, query::Hue::Matmul);
    builder.add(10, 20, 0, query::Hue::Matmul);
    const query::Track track = std::move(builder).build();
    std::vector<query::Column> scratch;
    RowBoxes boxes;
    makeBoxes(track, 0, 1, 30, scratch, boxes);
    ASSERT_EQ(boxes.spans.size(), 2U);
    ASSERT_EQ(boxes.runs.size(), 2U);
    EXPECT_EQ(boxes.runs[0].to, 10);
    EXPECT_EQ(boxes.runs[1].from, 11);
}

TEST(Histogram, HoldsEveryValueInRoundBins)
{
    const Histogram histogram = histogramOf({3, 10, 11, 99, 100}, 10);
    EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t(0)), 5);
    EXPECT_EQ(histogram.width, 10);
    EXPECT_EQ(histogram.counts.front(), 1);
}

TEST(Histogram, OfEqualValuesHasBinsOfWholeNumbers)
{
    const Histogram histogram = histogramOf({100'000'000, 100'000'000}, 24);
    EXPECT_GE(histogram.width, 1);
    EXPECT_LT(histogram.from, 100'000'000);
    EXPECT_GT(histogram.from + histogram.width * double(histogram.counts.size()), 100'000'001);
    EXPECT_EQ(std::ranges::count_if(histogram.counts, [](std::int64_t count) { return count > 0; }), 1);
}

TEST(Durations, HaveTheMeanAndTheMedianOfTheirValues)
{
    const Durations odd = durationsOf({30, 10, 20});
    EXPECT_DOUBLE_EQ(odd.mean, 20);
    EXPECT_DOUBLE_EQ(odd.median, 20);
    const Durations even = durationsOf({100, 10, 20, 30});
    EXPECT_DOUBLE_EQ(even.mean, 40);
    EXPECT_DOUBLE_EQ(even.median, 25);
    std::int64_t counted = 0;
    for (const std::int64_t count : even.histogram.counts)
        counted += count;
    EXPECT_EQ(counted, 4);
    EXPECT_TRUE(durationsOf({}).histogram.counts.empty());
}

} // namespace
} // namespace tilescope::ui
