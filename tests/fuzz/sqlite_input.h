#pragma once

#include "tests/fuzz/fuzz_file.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

/// A file that takes the bytes of one fuzz input after the other, for SQLite, which needs its name.
class SqliteInput {
public:
    SqliteInput()
    {
        std::string name = tilescope::testing::memoryFolder() / "tilescope-fuzz-XXXXXX";
        descriptor_ = mkstemp(name.data());
        if (descriptor_ < 0)
            std::abort();
        path_ = name;
    }
    ~SqliteInput()
    {
        close(descriptor_);
        unlink(path_.c_str());
    }
    SqliteInput(const SqliteInput&) = delete;
    SqliteInput& operator=(const SqliteInput&) = delete;

    const std::filesystem::path& holding(const std::uint8_t* data, std::size_t size)
    {
        if (ftruncate(descriptor_, 0) != 0 ||
            pwrite(descriptor_, data, size, 0) != static_cast<ssize_t>(size))
            std::abort();
        return path_;
    }

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
};
