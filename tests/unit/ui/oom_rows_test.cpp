#include "ui/overview/oom_rows.h"

#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "ui/kit/number_text.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

query::OomReport report()
{
    query::OomReport report;
    report.run.result.status = RunStatus::Oom;
    report.phase = "forward";
    report.path = "layers.3/attention";
    report.op = "aten::_softmax";
    report.asked = Bytes{3 * kGiB};
    report.allocated = Bytes{6 * kGiB};
    report.reserved = Bytes{7 * kGiB};
    report.categories = {{MemoryCategory::Activations, Bytes{5 * kGiB}},
                         {MemoryCategory::Parameters, Bytes{kGiB}}};
    report.limit = Bytes{8 * kGiB};
    report.needed = Bytes{12 * kGiB};
    report.suggestions = {{{{{"backend", "flash"}}, Bytes{4 * kGiB}, Bytes{5 * kGiB}}},
                          {{{{"batch", "2"}, {"precision", "bf16"}}, Bytes{2 * kGiB}, Bytes{2 * kGiB}}}};
    return report;
}

TEST(LimitBar, ItsPartsAddUpToWhatIsReserved)
{
    const LimitBar bar = limitBar(report());
    ASSERT_EQ(bar.parts.size(), 3U);
    EXPECT_EQ(bar.parts[0].label, QStringLiteral("activations"));
    EXPECT_EQ(bar.parts[2].label, QStringLiteral("reserved, free"));
    EXPECT_EQ(bar.held(), 7.0 * kGiB);
    EXPECT_EQ(bar.asked, 3.0 * kGiB);
    EXPECT_EQ(bar.limit, 8.0 * kGiB);
}

TEST(LimitBar, WithoutRecordedBlocksHasWhatTheFailingStepReported)
{
    query::OomReport bare;
    bare.allocated = report().allocated;
    bare.reserved = report().reserved;
    const LimitBar bar = limitBar(bare);
    ASSERT_EQ(bar.parts.size(), 2U);
    EXPECT_EQ(bar.parts[0].label, QStringLiteral("allocated"));
    EXPECT_EQ(bar.held(), 7.0 * kGiB);
    EXPECT_FALSE(bar.limit);
    EXPECT_TRUE(limitBar({}).parts.empty());
}

TEST(OomFigures, SayWhatIsLacking)
{
    query::RunSummary run;
    const std::vector<KeyFigure> figures = oomFigures(report(), run);
    ASSERT_EQ(figures.size(), 6U);
    EXPECT_EQ(figures[0].lines[0].number, QStringLiteral("OOM"));
    EXPECT_EQ(figures[0].verdict, QStringLiteral("layers.3/attention, aten::_softmax"));
    EXPECT_EQ(figures[2].lines[0].number, QStringLiteral("1.00")) << "8 GiB less 7 GiB";
    EXPECT_TRUE(figures[2].verdict.startsWith(QStringLiteral("short by 2.00")))
        << figures[2].verdict.toStdString();
    EXPECT_TRUE(figures[4].verdict.startsWith(QStringLiteral("4.00"))) << figures[4].verdict.toStdString();
    EXPECT_EQ(figures[5].verdict, QStringLiteral("no timed step was reached"));
}

TEST(LimitVariants, AreDashedUntilTheyAreMeasured)
{
    query::RunSummary run;
    run.result.status = RunStatus::Ok;
    run.result.peakReserved = Bytes{6 * kGiB};
    std::vector<LimitVariant> variants = limitVariants(report(), {nullptr, &run});
    ASSERT_EQ(variants.size(), 2U);
    EXPECT_EQ(variants[0].state, LimitVariant::State::Predicted);
    EXPECT_EQ(variants[0].bytes, 5.0 * kGiB);
    EXPECT_EQ(variants[0].words, QStringLiteral("backend flash: 5.00\u2009GiB, predicted"));
    EXPECT_EQ(variants[1].state, LimitVariant::State::Measured);
    EXPECT_EQ(variants[1].bytes, 6.0 * kGiB) << "what was measured, not what was predicted";
    run.result.status = RunStatus::Oom;
    variants = limitVariants(report(), {nullptr, &run});
    EXPECT_EQ(variants[1].state, LimitVariant::State::Failed);
    EXPECT_EQ(variants[1].bytes, 2.0 * kGiB);
    run.result.status = RunStatus::Running;
    EXPECT_EQ(limitVariants(report(), {nullptr, &run})[1].state, LimitVariant::State::Predicted);
}

TEST(OomReport, PredictsTheStepOfAChangeOnlyFromCeilingsOfTheDevice)
{
    const testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "gpu.tscope";
    test::writeGpuFile(file);
    const auto reportOf = [&file] { return query::oomReport(store::RunReader(file), RunId{9}); };
    const query::OomReport before = reportOf();
    ASSERT_FALSE(before.suggestions.empty());
    for (const query::FittingChange& change : before.suggestions)
        EXPECT_FALSE(change.stepSeconds) << "the speed of the device is unknown";
    {
        const StringTable strings;
        store::RunWriter writer(file, strings);
        std::vector<Ceiling> ceilings;
        for (const auto& [kind, value] :
             {std::pair("matmul_fp32", 50e12), std::pair("copy", 4e12), std::pair("launch", 4e5)})
            ceilings.push_back({.device = "GPU-1",
                                .deviceName = "NVIDIA H200",
                                .kind = kind,
                                .value = value,
                                .unit = "1/s",
                                .n = 9,
                                .measuredUnixNs = 1,
                                .program = "test"});
        writer.writeCeilings(ceilings);
        writer.commit();
    }
    for (const query::FittingChange& change : reportOf().suggestions) {
        ASSERT_TRUE(change.stepSeconds);
        EXPECT_GT(*change.stepSeconds, 0);
    }
}

TEST(FitRows, ShowThePredictedStepWhereThereIsOne)
{
    query::OomReport timed = report();
    timed.suggestions[0].stepSeconds = 0.25;
    const TableData rows = fitRows(timed);
    EXPECT_EQ(rows.columns[4].title, QStringLiteral("Step, ms"));
    EXPECT_EQ(rows.rows[0].cells[4].text, QStringLiteral("250"));
    EXPECT_EQ(rows.rows[1].cells[4].text, notMeasured());
    for (const TableColumn& column : fitRows(report()).columns)
        EXPECT_NE(column.title, QStringLiteral("Step, ms")) << "nothing is known of the step";
}

TEST(FitRows, ShowThePeakAndWhatIsLeft)
{
    const TableData rows = fitRows(report());
    ASSERT_EQ(rows.rows.size(), 2U);
    EXPECT_EQ(rows.rows[0].cells[0].text, QStringLiteral("backend flash"));
    EXPECT_EQ(rows.rows[1].cells[0].text, QStringLiteral("batch 2, precision bf16"));
    EXPECT_EQ(rows.rows[0].cells[1].sort, 5.0 * kGiB);
    EXPECT_EQ(rows.rows[0].cells[3].sort, 3.0 * kGiB);
}

TEST(FitRows, AChangeThatWasRunHasItsPeakBesideTheForecast)
{
    query::RunSummary run;
    run.result.status = RunStatus::Ok;
    run.result.peakAllocated = Bytes{std::int64_t(4.5 * kGiB)};
    run.result.peakReserved = Bytes{std::int64_t(4.5 * kGiB)};
    const TableData rows = fitRows(report(), {&run, nullptr});
    EXPECT_EQ(rows.columns[4].title, QStringLiteral("Measured, GiB"));
    EXPECT_EQ(rows.rows[0].cells[4].text, QStringLiteral("4.50"));
    EXPECT_TRUE(rows.rows[1].cells[4].text.isEmpty());
    run.result.status = RunStatus::Running;
    EXPECT_EQ(fitRows(report(), {&run, nullptr}).rows[0].cells[4].text, QStringLiteral("running"));
}

} // namespace
} // namespace tilescope::ui
