#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace tilescope::cli {

/// What `tilescope show` does, with its arguments as words and its output as a stream, so that tests can call
/// it.
///
/// \param arguments  after the verb
/// \return           the exit code, 0; everything that is wrong leaves as an Error
/// \throws Error     Usage: unknown section or option, no such file or run; names the nearest spelling
int show(std::span<const std::string> arguments, std::ostream& out);

} // namespace tilescope::cli
