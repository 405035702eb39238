#pragma once

#include <string>

namespace tilescope::cli {

class Arguments;
class RecordedProgram;

/// How `tilescope record` samples the instructions of kernels.
struct InsideOptions {
    bool isOn = false;
    std::string kernels = "*"; ///< a glob of the names of those that are kept
    bool noCubins = false;
    bool sources = false;

    void addTo(Arguments& arguments);
    /// Tells the program's recorder.
    /// \param yields  --yield-to-torch is given
    /// \throws Error  the options exclude each other
    void prepare(RecordedProgram& program, bool yields) const;
};

} // namespace tilescope::cli
