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

/// Parses the command line of `tilescope record`. Hardware counters, an option of Tilescope's own runs, are refused with what
/// a recorded program has instead.
/// \return  as Arguments::parse()
bool parseRecordArguments(Arguments& arguments, int argc, char** argv);

} // namespace tilescope::cli
