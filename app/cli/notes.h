#pragma once

#include <iosfwd>

namespace tilescope::cli {

/// Whether -q was given: only results, warnings and errors are printed.
void setQuiet(bool wanted);
bool isQuiet();

/// Where a command says what it has done: standard output, or nowhere with -q.
std::ostream& notes();

} // namespace tilescope::cli
