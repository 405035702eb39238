#pragma once

#include "app/cli/recording.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::cli {

struct PlayedRun {
    Recording recording;
    std::string uid;
};

/// Runs to be played on one clock.
struct PlayRequest {
    std::vector<PlayedRun> runs = {};               ///< from the top
    std::string align = {};                         ///< path of a range; empty: the step
    double slowdown = 0;                            ///< 0: as usual
    std::filesystem::path output = {};              ///< .svg or .gif
    std::vector<std::filesystem::path> inputs = {}; ///< that the output may not replace
};

/// The part of a request that the options of `export --play` give.
/// \param against  FILE[:RUN] to play below; may be empty
/// \throws Error   there is no such run, or the slow-down is not a number above 0
PlayRequest playOf(const std::string& against, const std::string& align, const std::string& slowdown);

/// Lets tilescope-gui write the animation, without a display.
/// \return        what it holds, in words
/// \throws Error  Environment: tilescope-gui is not installed
std::string writePlay(const PlayRequest& request);

} // namespace tilescope::cli
