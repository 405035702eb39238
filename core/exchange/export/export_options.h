#pragma once

#include <filesystem>
#include <vector>

namespace tilescope::exchange {

struct ExportOptions {
    /// Whether to write host names, command lines and home folders.
    bool withIdentity = false;
    /// Files that no output may replace, beside the recording itself.
    std::vector<std::filesystem::path> inputs = {};
};

} // namespace tilescope::exchange
