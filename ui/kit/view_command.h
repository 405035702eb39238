#pragma once

#include "core/query/runs/process_filter.h"
#include "ui/kit/workspace.h"

#include <string>

namespace tilescope::ui {

/// The command that prints a table of a run: `tilescope show a.tscope kernels --run 2`, with the time filter of the
/// run, in the words of a shell.
class ViewCommand {
public:
    ViewCommand(const SelectedRun& run, const std::string& section);

    ViewCommand& add(const std::string& option, const std::string& value = {});
    ViewCommand& add(const query::ProcessQuery& topology);
    QString text() const { return QString::fromStdString(text_); }

private:
    std::string text_;
};

/// a.tscope:2, as one word of a shell.
QString addressOf(const SelectedRun& run);

/// Whether one of the runs is limited by the time filter.
bool isLimited(const std::vector<SelectedRun>& runs);

/// A table of each run, with its part of the time filter: one command a line.
QString commandOfEach(const std::vector<SelectedRun>& runs, const std::string& section);

/// tilescope compare A:1 B:2; for one run, or none, the table of it or nothing.
QString compareCommand(const std::vector<SelectedRun>& runs);

} // namespace tilescope::ui
