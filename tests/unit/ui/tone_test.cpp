// The tone of differences: the verdict decides, in tables, bars and heads alike.

#include "ui/compare/comparison_rows.h"
#include "ui/kit/tone.h"
#include "ui/overview/step_bar_plot.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

using analysis::GroupVerdict;
using analysis::Verdict;

TEST(ToneOf, FollowsTheVerdictAndItsDirection)
{
    EXPECT_EQ(toneOf(-1, true), Tone::Better);
    EXPECT_EQ(toneOf(1, true), Tone::Worse);
    EXPECT_EQ(toneOf(0, true), Tone::Dim);
    EXPECT_EQ(toneOf(-1, false), Tone::Dim);
    for (const Verdict verdict : {Verdict::Inconclusive, Verdict::NoDifference})
        for (const double difference : {-1.0, 0.0, 1.0})
            EXPECT_EQ(toneOf(difference, verdict), Tone::Dim);
    EXPECT_EQ(toneOf(-1, Verdict::Faster), Tone::Better);
    EXPECT_EQ(toneOf(1, Verdict::Slower), Tone::Worse);
    EXPECT_EQ(toneOf(1, Verdict::Faster), Tone::Dim) << "a part that takes longer in a faster step";
    EXPECT_EQ(toneOf(-1, Verdict::Slower), Tone::Dim);
}

TEST(StepBars, TheLegendHasOnlyWhatCanBeSeen)
{
    StepBarPlot plot;
    plot.show({{QStringLiteral("A"),
                QStringLiteral("run"),
                {{QStringLiteral("matmul"), query::Hue::Matmul, 5e6},
                 {QStringLiteral("synchronizing"), query::Hue::GapSynchronizing, 300},
                 {QStringLiteral("unexplained"), query::Hue::GapUnexplained, 5e6}}}},
              {}, {});
    EXPECT_EQ(plot.legend(), QStringList({QStringLiteral("matmul"), QStringLiteral("unexplained")}));
}

TEST(StepBars, ShowTheSavingInTheToneOfTheVerdict)
{
    const auto bar = [](const char* letter, double time) {
        return StepBar{QString::fromLatin1(letter),
                       QStringLiteral("run"),
                       {{QStringLiteral("matmul"), query::Hue::Matmul, time}}};
    };
    StepBarPlot plot;
    plot.show({bar("A", 4e6), bar("B", 2e6)}, Verdict::Inconclusive);
    EXPECT_EQ(plot.savingTone(), Tone::Dim);
    plot.show({bar("A", 4e6), bar("B", 2e6)}, Verdict::Faster);
    EXPECT_EQ(plot.savingTone(), Tone::Better);
    plot.show({bar("A", 4e6)}, Verdict::Faster);
    EXPECT_EQ(plot.savingTone(), Tone::Dim) << "one bar has no difference";
}

// One kernel of a comparison; the interval is that of B - A.
query::Comparison comparisonOf(GroupVerdict verdict, std::optional<double> a, std::optional<double> b,
                               std::optional<analysis::ConfidenceInterval> interval)
{
    query::Comparison comparison;
    query::ComparedGroup group;
    group.difference.key = "kernel";
    group.difference.a = a;
    group.difference.b = b;
    group.difference.difference95 = interval;
    group.difference.verdict = verdict;
    comparison.kernels.push_back(group);
    return comparison;
}

TEST(NewAndGoneKernels, AreColouredOnlyIfTheIntervalExcludesZero)
{
    constexpr int kBar = 7;
    constexpr int kChange = 8;
    const auto rowOf = [](const query::Comparison& comparison) {
        return kernelDifferenceRows(comparison, KernelChange::All).rows.at(0);
    };
    using Interval = analysis::ConfidenceInterval;
    const auto gone = [&](std::optional<Interval> interval) {
        return rowOf(comparisonOf(GroupVerdict::Gone, 1e6, {}, interval));
    };
    EXPECT_EQ(gone(Interval{.low = -2e6, .high = 1e5}).cells[kChange].tone, Tone::Dim);
    EXPECT_EQ(gone(Interval{.low = -2e6, .high = 1e5}).cells[kBar].signedBar, 0);
    EXPECT_EQ(gone({}).cells[kChange].tone, Tone::Dim) << "too few steps for an interval";
    EXPECT_EQ(gone(Interval{.low = -2e6, .high = -1e5}).cells[kChange].tone, Tone::Better);
    EXPECT_LT(gone(Interval{.low = -2e6, .high = -1e5}).cells[kBar].signedBar, 0);
    const auto added = [&](std::optional<Interval> interval) {
        return rowOf(comparisonOf(GroupVerdict::New, {}, 1e6, interval));
    };
    EXPECT_EQ(added(Interval{.low = -1e5, .high = 2e6}).cells[kChange].tone, Tone::Dim);
    EXPECT_EQ(added(Interval{.low = 1e5, .high = 2e6}).cells[kChange].tone, Tone::Worse);
}

} // namespace
} // namespace tilescope::ui
