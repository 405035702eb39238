#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::cli {

class Arguments;
class RecordedProgram;

/// The folder of sitecustomize.py, the bootstrap of Python programs, in the installation.
std::filesystem::path bootstrapFolder();
/// Its copy in the folder of a recording.
std::filesystem::path bootstrapCopy(const std::filesystem::path& folder);

/// The parts of PyTorch that `tilescope record` records, and how.
struct TorchOptions {
    bool noModules = false;
    bool noMemory = false;
    bool ops = false;
    bool stacks = false;
    std::string hostSamples = "500"; ///< a second, or off

    void addTo(Arguments& arguments);
    /// Lets Python programs load the bootstrap, from a copy in the recording's folder: Python keeps its bytecode there.
    /// \param library  the recorder's library; its folder contains the plug-in that was built with it
    /// \param folder   of the working files
    void prepare(RecordedProgram& program, const std::filesystem::path& library,
                 const std::filesystem::path& folder) const;
};

/// Builds the plug-in for the PyTorch that `python` imports, into FileCache::ofPlugins(); becomes that program.
/// \throws Error  it cannot be started
[[noreturn]] void buildPlugin(const std::string& python);

} // namespace tilescope::cli
