#pragma once

#include "core/config/study.h"

#include <functional>
#include <string>
#include <vector>

namespace tilescope::config {

/// A text with values in place of keys in braces: `batch {batch}` becomes `batch 8`, of several values `batch 2, 4 and 8`
/// or, of more than five numbers, `batch 1 to 64`. A key without a value is "not recorded".
/// \param valuesOf  the values of a key as a spec stores them; repeated and empty ones do not count
std::string filledText(const std::string& text,
                       const std::function<std::vector<std::string>(const std::string& key)>& valuesOf);

/// StudyPart::about with the values of the full edition.
std::string aboutOf(const StudyPart& part);

} // namespace tilescope::config
