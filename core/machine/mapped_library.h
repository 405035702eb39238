#pragma once

#include <filesystem>
#include <string_view>

#include <sys/types.h>

namespace tilescope::machine {

/// The file of a library that a process or one of its descendants has loaded, if this process sees the same file under
/// that path; empty if none has.
/// \param name  how the file's name begins: libcupti.so
std::filesystem::path mappedLibrary(pid_t process, std::string_view name);

} // namespace tilescope::machine
