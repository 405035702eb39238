#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::cli {

/// What running tilescope-gui gave, which draws without a display.
struct WindowProgramResult {
    bool well = false;
    std::string problem;  ///< the last sentence of its output, if it failed
    bool isUsage = false; ///< its arguments were unusable
};

/// Runs tilescope-gui to its end, which is killed after five minutes. Its output is dropped.
/// \return  null if it is not installed
std::optional<WindowProgramResult> runWindowProgram(const std::vector<std::string>& arguments);

/// A file that it wrote; empty if it wrote none.
std::string drawnFile(const std::filesystem::path& file);

/// The first line of the caption file of figure `id` in `folder`; the second one is about the machine.
std::string captionOf(const std::filesystem::path& folder, const std::string& id);

} // namespace tilescope::cli
