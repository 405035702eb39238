#pragma once

#include "core/query/calls/call_tree.h"

#include <filesystem>
#include <vector>

namespace tilescope::exchange {

struct ExportOptions {
    /// Whether to write host names, command lines and home folders.
    bool withIdentity = false;
    /// What stacks of flame graphs add up.
    query::CallWeight weight = query::CallWeight::Time;
    /// Files that no output may replace, beside the recording itself.
    std::vector<std::filesystem::path> inputs = {};
};

} // namespace tilescope::exchange
