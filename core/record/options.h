#pragma once

#include <string>
#include <string_view>

namespace tilescope::record {

/// The environment variable that passes the settings of a recording to its processes: `torch=steps,modules;trace=kernels`.
/// The folder of the recording has a variable of its own.
inline constexpr const char* kOptionsVariable = "TILESCOPE_RECORD_OPTIONS";
inline constexpr const char* kFolderVariable = "TILESCOPE_RECORD_FOLDER";

/// The value of the variable with one more setting. Semicolons, percent signs and control characters of the value become
/// %XX. resources/record/_tilescope_recorder.py reads it as well.
std::string withOption(std::string options, std::string_view name, std::string_view value);

/// A setting; empty if it is missing.
std::string optionIn(std::string_view options, std::string_view name);

/// A setting of the recording that this process is part of.
std::string option(std::string_view name);

} // namespace tilescope::record
