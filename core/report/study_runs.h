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

struct StudyRuns {
    config::Study study;
    bool quick = false; ///< quick edition only
    std::vector<PartRuns> parts = {};

    std::size_t runs() const;
};

/// Opens the files of a report.
/// \throws Error  a file cannot be read or is not a recording
std::vector<Recording> openRecordings(const std::vector<std::filesystem::path>& files);

/// The studies with runs in the recordings. A run belongs to a study if it has the spec of one of its points
/// (also as changed by a handout), or the name that the study gives its points (for points run with other
/// keys through --set). Of several attempts at a point, the last with status ok counts, otherwise the last.
/// If the file has points of the full edition, those of the quick edition are omitted. A study is omitted if
/// other studies ran all its points in the recordings, unless no point is missing or `only` names it.
/// \param only    only this study, or those of this handout; empty: all
/// \throws Error  no such study; a recording cannot be read
std::vector<StudyRuns> studyRuns(const std::vector<Recording>& recordings, const std::string& only);

} // namespace tilescope::report
