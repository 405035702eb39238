#pragma once

#include "core/base/error.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <string>

namespace tilescope::analysis {

// For this target's own files of rules, which are read with yaml-cpp; no header that others include names it.

/// A mistake in such a file, with its line and column.
Error errorAt(const std::filesystem::path& file, const YAML::Mark& mark, std::string what, std::string mend);

/// \throws Error  where it cannot be read; YAML::Exception  where it is no YAML
YAML::Node loadRulesFile(const std::filesystem::path& file);

} // namespace tilescope::analysis
