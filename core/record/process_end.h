#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

/// How a process or its recording ended, as a symbolic link NAME.end beside the working file NAME.working. Making it needs
/// no file descriptor, so that it is possible where the working file cannot be opened.
namespace tilescope::record {

/// The beginnings of what `tilescope record` notes about processes whose end it saw.
inline constexpr std::string_view kExitStatus = "exit status ";
inline constexpr std::string_view kEndingSignal = "signal ";
/// What a recorder notes that stopped and could not write why into its file.
inline constexpr std::string_view kRecorderStopped = "the recorder stopped because memory ran out";
/// Of a working file that was copied from another machine: its process had not ended there.
inline constexpr std::string_view kRunsElsewhere = "the process runs on another machine";

/// Notes it; the first text stays. Allocates nothing. Does nothing where the file system has no symbolic links.
/// \return  0, or errno
int noteEnd(const std::filesystem::path& workingFile, std::string_view text) noexcept;
/// The same for a process that has no working file, which is beside its name.
int noteEnd(const char* folder, std::int64_t process, std::string_view text) noexcept;
/// Describes what waitpid() tells: "exit status 3", "signal 9 (Killed)".
std::string endText(int status);
/// What was noted; empty: nothing.
std::string endOf(const std::filesystem::path& workingFile);

} // namespace tilescope::record
