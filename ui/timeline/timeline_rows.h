#pragma once

#include "core/analysis/compare/run_comparison.h"
#include "core/query/kernels/kernel_stats.h"
#include "core/query/timeline/timeline_search.h"
#include "ui/kit/table_model.h"

#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// The activity of one run within an interval of its timeline.
struct SpanOfRun {
    QString letter; ///< A, B; empty if one run is shown
    QString of;     ///< whose activity it is: "rank 0", "all 2 ranks"; empty in a run of one process
    std::shared_ptr<const query::Timeline> timeline;
    query::Stretch stretch;
    /// Their parts inside the stretch: of the device; without one, the host's ops by their own time.
    std::vector<query::KernelStat> kernels;
    bool ofOps = false;
    /// On the step time against that of the first run.
    analysis::Verdict verdict = analysis::Verdict::Inconclusive;
    std::optional<query::BusyShare> busy = {};
    std::optional<std::pair<std::int64_t, std::int64_t>> memory = {}; ///< bytes at both ends
};

/// Sums up the activity of the devices, or of the host if there is no device. Reads the timeline's rows; empty
/// if cancelled.
/// \param process  counts only this process's activity; none: all processes
/// \param lane     counts only this lane's boxes, of a stream or a thread; none: all lanes
SpanOfRun spanOf(std::shared_ptr<const query::Timeline> timeline, query::Stretch stretch,
                 const QString& letter, const std::function<bool()>& cancelled, ProcessIndex process = {},
                 std::optional<std::size_t> lane = {});

/// "A 1.46 ms, busy 19.7 %, 55 kernels in 288 µs, +12.0 MiB"; of several devices the mean: "busy 19.7 % of 2 GPUs".
QString spanWords(const SpanOfRun& span);

/// Kernels of a span, of two runs side by side with their difference; the last row is the sum. A row's exact
/// text is the kernel's full name.
TableData spanRows(const std::vector<SpanOfRun>& runs);

/// The results of a search in one run.
struct FoundInRun {
    QString letter;
    std::shared_ptr<const query::Timeline> timeline;
    query::SearchResult result;
};

/// A box that was found, and in which run.
struct FoundBox {
    std::size_t run = 0;
    query::FoundItem found;
};

/// All boxes of all runs, the longest first; at most `most`.
std::vector<FoundBox> foundBoxes(const std::vector<FoundInRun>& runs, std::size_t most);

/// A note as the table of notes shows it.
struct NoteRow {
    QString letter;
    std::int64_t at = 0; ///< from the run's first event
    std::int64_t length = 0;
    QString about;
    QString text;
};

/// The notes as rows, their ids being indices into `notes`.
TableData noteRows(const std::vector<NoteRow>& notes);

/// The boxes as rows, their ids being indices into `boxes`.
TableData foundRows(const std::vector<FoundInRun>& runs, const std::vector<FoundBox>& boxes);

} // namespace tilescope::ui
