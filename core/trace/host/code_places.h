#pragma once

#include "core/model/code_place.h"

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::trace {

struct PathNode;

/// A file of this program as its source tree names it: without the folder that it was compiled in.
std::string_view fileInTree(std::string_view file);

/// A function's qualified name, of what the compiler tells of it: without return type, parameters and unnamed
/// namespaces. Of a lambda that of the function around it.
std::string functionName(std::string_view signature);

/// Where the ranges of `nodes` and of those around them were opened, each once, in the order of their paths.
/// Those of which no place is known are left out.
std::vector<CodePlace> codePlaces(const std::vector<const PathNode*>& nodes);

} // namespace tilescope::trace
