#pragma once

#include "core/base/error.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <string>

namespace tilescope::analysis {

// Reads this target's rule files with yaml-cpp. Not included by other targets' headers.

/// An error in a rule file, with line and column.
Error errorAt(const std::filesystem::path& file, const YAML::Mark& mark, std::string what,
              std::string remedy);

/// \throws Error            the file cannot be read
/// \throws YAML::Exception  the file is not YAML
YAML::Node loadRulesFile(const std::filesystem::path& file);

} // namespace tilescope::analysis
