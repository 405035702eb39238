#pragma once

#include <map>
#include <string>
#include <vector>

namespace tilescope::machine {

/// The output of a program and how it ended.
struct ProgramOutput {
    std::string text; ///< the first 4096 bytes, without trailing space
    int code = -1;    ///< exit status; -1: it could not be started, or a signal ended it
};

/// Runs a program with empty standard input and waits for it.
///
/// \param words        the program (a plain name is searched in the absolute elements of PATH) and its arguments
/// \param environment  variables that replace or extend those of this process
/// \param withErrors   whether its standard error belongs to the output; otherwise it is discarded
ProgramOutput outputOf(std::vector<std::string> words, const std::map<std::string, std::string>& environment,
                       bool withErrors);

} // namespace tilescope::machine
