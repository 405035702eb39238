#pragma once

#include "core/config/study.h"
#include "core/model/spec.h"

#include <string>
#include <vector>

namespace tilescope::cli {

/// `study:NAME` of every study and handout, and `study:all`, which shells suggest in place of a spec.
std::vector<std::string> suggestedStudies();

/// The points of a spec file (HOST:PATH too), of standard input (`-`), of a study (`study:NAME`), or of all studies without duplicates.
/// \param settings  `key=value` of --set
/// \throws Error  Usage
std::vector<ExperimentSpec> specsOf(const std::string& spec, config::Edition edition,
                                    const std::vector<std::string>& settings);

} // namespace tilescope::cli
