#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace tilescope::testing {

/// A folder for files that need a name: in memory where the machine has /dev/shm.
inline std::filesystem::path memoryFolder()
{
    std::error_code none;
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory, none) ? memory : std::filesystem::temp_directory_path();
}

/// A file in memory with the bytes of a fuzz input, for importers that read files.
class FuzzFile {
public:
    FuzzFile(const std::uint8_t* data, std::size_t size) : number_(memfd_create("input", MFD_CLOEXEC))
    {
        if (number_ < 0 || write(number_, data, size) != static_cast<ssize_t>(size))
            throw std::runtime_error("no file in memory");
    }
    ~FuzzFile() { close(number_); }
    FuzzFile(const FuzzFile&) = delete;
    FuzzFile& operator=(const FuzzFile&) = delete;

    std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(number_); }

private:
    int number_;
};

} // namespace tilescope::testing
