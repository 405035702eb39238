#pragma once

#include "core/session/supervisor/supervisor.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::cli {

class Arguments;

/// How --batch and run show what happens.
enum class Format { Text, Json };

/// `tilescope-DATE-TIME.tscope` in the current folder: where a run goes that names no file.
std::filesystem::path newFileName();

/// The options that run and --batch share, and what becomes of the points then.
struct SweepArguments {
    std::string file;
    std::string format = "text";
    std::string capacity; ///< of the GPU to predict for
    bool dryRun = false;
    std::size_t present = 0; ///< points of the sweep that the file holds already

    void addTo(Arguments& arguments);
    /// \throws Error  Usage: the options do not go together
    void requireUsable() const;
    /// Predicts the points, or runs them and shows progress until they are done or a signal stops them.
    /// \param options  file and atOnce are set here; without a file it is newFileName(), which is told
    /// \return         the exit code
    int carryOut(const std::vector<session::SweepPoint>& points, session::SweepOptions options) const;
};

/// What the user typed, quoted so that a shell would read it again.
std::string commandLineOf(int argc, char** argv);

} // namespace tilescope::cli
