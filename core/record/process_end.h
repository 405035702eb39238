#pragma once

#include <filesystem>
#include <string>
#include <string_view>

/// How a process or its recording ended, as a symbolic link NAME.end beside the working file NAME.working. Making it needs
/// no file descriptor, so that it is possible where the working file cannot be opened.
namespace tilescope::record {

/// The beginnings of what `tilescope record` notes about processes whose end it saw.
inline constexpr std::string_view kExitStatus = "exit status ";
inline constexpr std::string_view kEndingSignal = "signal ";

/// Notes it; the first text stays. Does nothing where the file system has no symbolic links.
void noteEnd(const std::filesystem::path& workingFile, const std::string& text) noexcept;
/// Describes what waitpid() tells: "exit status 3", "signal 9 (Killed)".
std::string endText(int status);
/// What was noted; empty: nothing.
std::string endOf(const std::filesystem::path& workingFile);

} // namespace tilescope::record
