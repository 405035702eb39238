#pragma once

#include "app/record/window.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace tilescope::record {

/// What `tilescope record` tells the processes of the program, in variables of their environment. A process reads them
/// once: the program may change its environment, and a forked child goes on with what its parent read.
struct Settings {
    /// \return  without a folder: this process is not recorded
    static Settings ofThisProcess();

    std::filesystem::path folder; ///< of the working files
    std::string clock;            ///< hostClock() of the process that records
    std::int64_t recorder = 0;    ///< its number
    std::string files;            ///< FileServer::address()
    bool storesCommandLine = true;
    double hostSamples = 0;      ///< a second, of Python stacks; 0: they are not read
    bool samplesKernels = false; ///< program counters of the GPU's warps
    std::string sampledKernels;  ///< a glob of their names
    bool samplesInTurns = false; ///< with metrics, see InstructionTurn
    bool keepsKernelCode = true; ///< of the kernels with samples
    bool keepsSources = false;   ///< the files that they were compiled from
    Window window;
};

} // namespace tilescope::record
