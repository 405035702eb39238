#pragma once

#include "core/session/supervisor/supervisor.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cli {

class Arguments;

/// The output format of --batch and run.
enum class Format { Text, Json };

/// `tilescope-DATE-TIME.tscope` in the current folder: the default output file.
std::filesystem::path newFileName();

/// The value of --counter-interval; 0: no counters are read.
/// \throws Error  Usage: it is not a number of milliseconds
std::chrono::milliseconds counterIntervalFrom(std::string_view text);

/// The common options of run and --batch, and the execution of their points.
struct SweepArguments {
    std::string file;
    std::string format = "text";
    std::string counterInterval; ///< milliseconds; empty: not given
    std::string capacity;        ///< memory of the GPU to predict for
    std::string on;              ///< a host that runs the points; empty: this machine
    bool dryRun = false;
    bool resume = false; ///< only the points that the file does not contain yet
    bool force = false;  ///< resume although something else ran the existing points

    void addTo(Arguments& arguments);
    /// \throws Error  Usage: incompatible options
    void requireUsable() const;
    /// Predicts the points, or runs them and shows progress until they are done or a signal stops them.
    /// \param options  file and atOnce are set here; without a file newFileName() is used and printed
    /// \return         the exit code
    int carryOut(std::vector<session::SweepPoint> points, session::SweepOptions options) const;
};

/// The user's command line, quoted for a shell.
std::string commandLineOf(int argc, char** argv);

} // namespace tilescope::cli
