#pragma once

#include "core/base/units.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::hosts {

/// A file of an archive.
struct ArchivedFile {
    std::filesystem::path local; ///< its content; empty: `text`
    std::string text = {};
    std::string name; ///< relative; at most 100 bytes
    bool isExecutable = false;
    Bytes size{};
};

/// The bytes of a tar archive (POSIX ustar) of files and the folders above them, owned by the user who unpacks it
/// (0600 or 0700), in pieces of at most 1 MiB. One thread.
class TarStream {
public:
    explicit TarStream(std::vector<ArchivedFile> files);
    /// The next bytes, valid until the next call; empty at the end.
    /// \throws Error  a file cannot be read, or its size changed
    std::string_view next();
    /// All bytes of the files, without what the archive adds.
    Bytes size() const { return size_; }

private:
    void beginFile();

    std::vector<ArchivedFile> files_;
    std::size_t at_ = 0; ///< the current file, or the next one if none is open
    bool isBegun_ = false;
    bool isOpen_ = false;
    bool isEnded_ = false;
    std::ifstream stream_;
    std::int64_t left_ = 0; ///< of the current file
    std::string piece_;
    Bytes size_{};
};

} // namespace tilescope::hosts
