#pragma once

#include "core/base/ids.h"

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope::cli {

/// A run of a file: `a.tscope:3`.
struct RunAddress {
    std::filesystem::path file;
    std::optional<RunId> run = {}; ///< none: the file's only point
};

/// Reads FILE or FILE:RUN. What exists as a file is one, whatever colons its name has.
/// \throws Error  there is no such file, or what follows the colon is not a run number
RunAddress runAddressOf(std::string_view text);

struct CompareRequest {
    std::string a;
    std::string b;
    std::string format = "table";   ///< table or json
    std::string runToRun = {};      ///< `0.3%` or 0.003; empty: what the repeats show
    std::string limit = "30";       ///< rows of each table of kernels, families, ranges; 0 for all
    std::string memoryBy = "range"; ///< category, op, module, range or size
    std::string at = "auto";        ///< peak, end, or auto: the end of snapshots, the peak of runs
};

/// Prints run B against run A.
/// \throws Error  Usage: a file, run or number that is none
void compare(const CompareRequest& request, std::ostream& out);

} // namespace tilescope::cli
