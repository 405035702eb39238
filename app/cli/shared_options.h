#pragma once

#include "app/cli/arguments.h"

#include <string>

namespace tilescope::cli {

// Options that several verbs have.

/// --format of verbs that print a table with printTable().
inline void tableFormatOption(Arguments& arguments, std::string& format)
{
    arguments.choice("--format", format, {"table", "json", "csv"}, "output format");
}

/// --device of verbs that measure.
inline void deviceOption(Arguments& arguments, std::string& device)
{
    arguments.option("--device", device, "auto, cpu or cuda:N (auto)");
}

/// --with-identity of verbs that write for others.
inline void identityOption(Arguments& arguments, bool& withIdentity)
{
    arguments.flag("--with-identity", withIdentity, "keep host, command line and home folders");
}

} // namespace tilescope::cli
