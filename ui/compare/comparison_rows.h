#pragma once

#include "core/query/compare/compare_tables.h"
#include "ui/kit/run_columns.h"
#include "ui/kit/table_model.h"

#include <QString>
#include <QStringList>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// Every timed sample of one phase of both sides, in ms, and their statistics.
struct PhaseSamples {
    QString name;
    std::vector<double> a;
    std::vector<double> b;
    analysis::Statistics statisticsA; ///< its median is that of `difference`; no interval for several runs
    analysis::Statistics statisticsB;
    analysis::TimeDifference difference;
};

/// Two runs compared, as plain values.
struct ComparisonData {
    std::shared_ptr<const query::Comparison> comparison;
    std::vector<PhaseSamples> phases; ///< the step first
    /// What the categories hold at the peak of either run, the largest first; none if a run has no events of
    /// allocations.
    std::vector<query::ComparedMemory> categories;
};

/// Compares, and collects the samples of the verdict. Reads samples and events, so call it on a worker thread.
/// \param spans  limit the runs to them (query::compareSpans)
/// \param process  whose traced steps are compared; empty: the mean of all
ComparisonData compareRuns(const store::RunReader& a, RunId runA, const store::RunReader& b, RunId runB,
                           const std::array<std::optional<query::TimeSpan>, 2>& spans = {},
                           const query::ProcessQuery& process = {});

/// The result in short: "B is faster, 1.11×".
struct ComparisonVerdict {
    QString words;
    Tone tone = Tone::Plain;
    QString sentence;   ///< with the interval
    QString conditions; ///< differences between the runs other than their times
    QStringList flags;  ///< flags of the compared runs that concern their times
};
ComparisonVerdict verdictOf(const query::Comparison& comparison);

/// The parts of the change of the step, with what they add up to; the id is the index among the parts.
TableData causeRows(const query::Comparison& comparison);

/// How the parts are paired, in short: "99.8 % aligned by modules".
QString alignmentWords(const query::Comparison& comparison);

/// Families by difference, with bars to the left (less) and right (more) of the middle.
TableData familyDifferenceRows(const query::Comparison& comparison);
/// The rows of the ranges below the step, by wall time; the id is the index among the comparison's ranges.
TableData rangeDifferenceRows(const query::Comparison& comparison);

/// Which kernels of a comparison a table lists.
enum class KernelChange { All, Gone, New, Count, Slower, Faster, Same };
constexpr int kKernelChanges = 6; ///< number of changes that a user may choose: all except Same

/// Kernels (ops where neither run had a GPU) by difference.
TableData kernelDifferenceRows(const query::Comparison& comparison, KernelChange which);
/// The number of rows of a kind.
int countOf(const query::Comparison& comparison, KernelChange which);

/// A run against the baseline, run A.
struct RunAgainst : NamedRun {
    bool isCompared = false;                           ///< `step` is known
    std::optional<analysis::TimeDifference> step = {}; ///< none if either run has no timed step
};

/// The runs against A: median step, its ratio with interval and verdict, and the peak. The id is the index.
/// \param b  index of the run that the rest of the page compares with A, which is marked
TableData againstRows(const query::RunSummary& a, const std::vector<RunAgainst>& runs, std::size_t b);

/// Peak, reserved and what is held before backward, then what the peaks are made of.
TableData memoryDifferenceRows(const ComparisonData& compared);

} // namespace tilescope::ui
