#pragma once

#include "core/report/document.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::report {

struct ReportOptions {
    std::string study = {};  ///< only this study; empty: every study with runs in the files
    std::string title = {};  ///< empty: the study's, or the machine's
    std::string author = {}; ///< shown in an anonymous report too
    bool anonymous = false;  ///< without host, user and folders
};

/// Evaluates the runs of these files by study: question, setting, tables, figures to draw, findings and
/// cautions. Reads only.
/// \throws Error  a file cannot be read; there is no such study; no file has a run of a study
Document makeReport(const std::vector<std::filesystem::path>& files, const ReportOptions& options);

/// The same for a window that shows whatever studies a file has: without sections if it has none.
/// \throws Error  the file cannot be read
Document studiesOf(const std::filesystem::path& file);

} // namespace tilescope::report
