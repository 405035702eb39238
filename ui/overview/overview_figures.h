#pragma once

#include "core/base/quantity.h"
#include "core/query/file_session.h"
#include "core/query/kernels/kernel_stats.h"
#include "core/query/overview/run_overview.h"
#include "ui/kit/table_model.h"

#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// A run as the overview shows it. The summary stays valid as long as its snapshot.
struct OverviewRun {
    QString letter; ///< A, B; empty if one run is shown
    QString title;
    std::shared_ptr<const query::FileSnapshot> snapshot;
    const query::RunSummary* summary = nullptr; ///< points into snapshot
    std::shared_ptr<const query::RunOverview> data;
    /// Of the GPUs of a recording without steps, over all of it or its part in the time filter, as the Timeline shows it.
    std::optional<query::BusyShare> wholeBusy = {};
};

/// One or two runs and their comparison: plain values for cards, bars, tables and flags.
struct OverviewData {
    std::vector<OverviewRun> runs; ///< at most two
    std::optional<analysis::TimeDifference> stepDifference =
        {}; ///< B against A, ms; none for one run or a span

    bool isLimited() const; ///< a run is limited to a time span
    /// What figures of traced steps are of: "mean of 2 ranks", "A rank 0, B mean of 2 ranks". Empty if the runs have one
    /// process each.
    QString processWords() const;
};

/// A card: a number for each run, and words about them.
struct KeyFigure {
    struct Line {
        QString letter;
        QString number;
        QString unit;
        QString detail; ///< dim, to the right

        /// Three digits in the unit that suits the value.
        void set(double value, quantity::Unit quantity);
    };
    QString title;
    QString of = {}; ///< "mean of 2 ranks"; empty: the figure is of the run
    std::vector<Line> lines = {};
    QString verdict;
    Tone tone = Tone::Dim;
    QString page = {}; ///< that says more
};

/// Step time, GPU busy, idle time, peak memory, MFU (throughput where the FLOPs are not known), cost of
/// tracing. Of runs that generate text those of generationFigures() and peak memory. Where no run was traced on a GPU, the two longest phases take the place of what is about the GPU. Of recordings
/// of other programs the mean traced step, GPU busy, idle time (without a GPU time in ops), peak memory. Of a time
/// span only what events say: time in steps, GPU busy, idle time (without a GPU time in ops), peak memory.
std::vector<KeyFigure> keyFigures(const OverviewData& data);

/// Part of a bar that shows where a step goes.
struct StepPart {
    QString label;
    query::Hue hue = query::Hue::Other;
    double time = 0; ///< ns
};
struct StepBar {
    QString letter;
    QString title;
    std::vector<StepPart> parts;

    double total() const;
};

/// Where the mean traced step of each run goes, or its parts of steps in the time span: GPU time by family, then idle time by reason; on a CPU the
/// ops' self time by family. Runs without traced steps have no bar.
std::vector<StepBar> stepBars(const OverviewData& data);

/// A condition that the reader of the figures should know.
struct Flag {
    enum class Kind { Fine, Note, Warning, Error } kind = Kind::Note;
    QString title;
    QString text;
    QString advice; ///< what to try; empty for none
    QString page;   ///< that says more; empty for none

    QString sentence() const { return advice.isEmpty() ? text : text + QStringLiteral("; ") + advice; }
};

/// Warnings first; a flag that holds for both runs appears once.
std::vector<Flag> flagsOf(const OverviewData& data);

} // namespace tilescope::ui
