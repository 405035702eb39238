#pragma once

#include <filesystem>
#include <string_view>

/// How a process reaches the FileServer of its recording. Needs a file descriptor: the calling thread needs some of its own.
namespace tilescope::record {

/// Whether an errno of a file in the folder of the recording is a reason to ask for it.
bool isOutOfReach(int error) noexcept;

/// Asks for a working file, which is created.
/// \param address  FileServer::address()
/// \return  open for reading and writing; -1: none
int requestFile(std::string_view address, const std::filesystem::path& file) noexcept;

/// Says why a process is not recorded.
void tellEnd(std::string_view address, const std::filesystem::path& file, std::string_view text) noexcept;

} // namespace tilescope::record
