#include "ui/overview/oom_rows.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

query::OomReport report()
{
    query::OomReport report;
    report.run.result.status = RunStatus::Oom;
    report.info = {.requested = Bytes{3 * kGiB},
                   .allocated = Bytes{6 * kGiB},
                   .reserved = Bytes{7 * kGiB},
                   .phase = "forward"};
    report.path = "layers.3/attention";
    report.op = "aten::_softmax";
    report.asked = Bytes{3 * kGiB};
    report.allocated = Bytes{6 * kGiB};
    report.reserved = Bytes{7 * kGiB};
    report.categories = {{MemoryCategory::Activations, Bytes{5 * kGiB}},
                         {MemoryCategory::Parameters, Bytes{kGiB}}};
    report.limit = Bytes{8 * kGiB};
    report.needed = Bytes{12 * kGiB};
    report.suggestions = {{{{"backend", "flash"}}, Bytes{4 * kGiB}, Bytes{5 * kGiB}},
                          {{{"batch", "2"}, {"precision", "bf16"}}, Bytes{2 * kGiB}, Bytes{2 * kGiB}}};
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
    bare.info = report().info;
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
