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

/// The qualified name of a function, from the compiler's signature: without return type, parameters and
/// unnamed namespaces. For a lambda, that of the enclosing function.
std::string functionName(std::string_view signature);

/// The places that opened the ranges of `nodes` and their ancestors, without duplicates, in path order.
/// Ranges without a known place are omitted.
std::vector<CodePlace> codePlaces(const std::vector<const PathNode*>& nodes);

} // namespace tilescope::trace
