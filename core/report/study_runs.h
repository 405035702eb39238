#pragma once

#include "core/config/study.h"
#include "core/report/run_facts.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::report {

/// The runs of one part of a study, in the order of its points.
struct PartRuns {
    std::string name;
    std::string about;
    std::size_t points = 0; ///< of the edition that was run
    std::vector<std::shared_ptr<const RunFacts>> runs = {};
};

/// A study as far as it was run.
struct StudyRuns {
    config::Study study;
    bool quick = false; ///< the small edition alone
    std::vector<PartRuns> parts = {};

    std::size_t runs() const;
};

/// Opens the files of a report.
/// \throws Error  one that cannot be read, or is none of ours
std::vector<Recording> openRecordings(const std::vector<std::filesystem::path>& files);

/// The studies of which the recordings have runs: those that have a point's very spec, or else the name that
/// the study gives its points (they were run with other keys, by --set). Of several attempts at a point the
/// last that ended ok counts, or else the last. Where the file has points of the full edition, those of the
/// quick one are left out.
/// \param only    this study alone; empty: all.
/// \throws Error  no such study; a recording cannot be read
std::vector<StudyRuns> studyRuns(const std::vector<Recording>& recordings, const std::string& only);

} // namespace tilescope::report
