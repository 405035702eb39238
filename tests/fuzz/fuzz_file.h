#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace tilescope::testing {

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
