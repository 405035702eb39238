#pragma once

#include <string>
#include <vector>

namespace tilescope::record {

/// The words of a command joined by blanks. The value of an option (`--api-token x`, `--api-token=x`) and of a
/// word `VAR=value` becomes `***` if its name contains token, key, secret or password, in either case.
std::string maskedCommandLine(const std::vector<std::string>& words);

} // namespace tilescope::record
