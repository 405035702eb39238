#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace tilescope::cli {

/// Runs `tilescope show`. Arguments and output stream are parameters for the tests.
///
/// \param arguments  without the verb
/// \return           the exit code, 0
/// \throws Error     Usage: unknown section or option, no such file or run; suggests the most similar name
int show(std::span<const std::string> arguments, std::ostream& out);

} // namespace tilescope::cli
