#pragma once

#include "core/report/document.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::report {

struct ReportOptions {
    std::string study = {}; ///< this one alone; empty: every study of which the files have runs
    bool anonymous = false; ///< without host, user and folders
};

/// What the runs of these files say, study by study: question, setting, tables, figures to be drawn, findings
/// and cautions. Reads only.
/// \throws Error  a file that cannot be read; no such study; no file has a run of a study
Document makeReport(const std::vector<std::filesystem::path>& files, const ReportOptions& options);

} // namespace tilescope::report
