#pragma once

#include "core/query/advice/advice_table.h"
#include "core/query/waiting/source_folders.h"
#include "core/query/waiting/waiting_table.h"
#include "ui/kit/table_model.h"
#include "ui/waiting/mean_step_bar.h"

#include <optional>
#include <vector>

namespace tilescope::ui {

/// What the page Waiting shows of a run, read at once.
struct WaitingReading {
    query::WaitingTable causes = {};
    query::WaitingTable lines = {};     ///< of the program
    query::WaitingTable innermost = {}; ///< of any code
    query::SourceFolders folders = {};
};

/// The costliest lines; the id of a row is its place in `lines`. What is not a line of code is named by its cause.
/// \param other  the lines of the second run; null: there is one run
TableData lineRows(const query::WaitingTable& lines, const query::WaitingTable* other);

/// The parts of a mean step from the top: the GPU's work, then the causes of its idle time, the longest first.
std::vector<MeanStepBar::Part> stepParts(const query::WaitingTable& causes);

/// One sentence: how long the GPU waits, and for what.
QString waitingSentence(const query::WaitingTable& causes, const query::WaitingTable& lines);
/// Beside it: "40 steps, 3 000 samples".
QString waitingFigures(const query::WaitingTable& causes);

/// The lines around one of the code, each with its idle time.
/// \param row  of `lines`
/// \param around  lines before and after it
TableData sourceRows(const query::SourceText& source, const query::WaitingTable& lines,
                     const query::WaitingRow& row, int around);

/// Whether a remedy shortens the time in which the GPU waits for the host.
bool isAboutWaiting(analysis::AdviceRule rule);

} // namespace tilescope::ui
