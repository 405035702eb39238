#pragma once

#include "core/base/units.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// Reads a ZIP archive: entries that are stored or deflated, also of more than 4 GiB. One thread.
class ZipFile {
public:
    struct Entry {
        std::string name; ///< as in the archive: untrusted
        std::uint64_t size = 0;
        std::uint64_t packed = 0;
        std::uint64_t header = 0; ///< offset of its local header
        bool isDeflated = false;
    };

    static bool matches(std::string_view head) { return head.starts_with("PK\x03\x04"); }

    /// Reads the list of entries.
    /// \throws Error (Usage)  the file is no archive, is damaged or has more than 100,000 entries
    explicit ZipFile(const std::filesystem::path& file);
    ~ZipFile();
    ZipFile(const ZipFile&) = delete;
    ZipFile& operator=(const ZipFile&) = delete;

    /// Entries that can be read: no folders, no encrypted ones.
    const std::vector<Entry>& entries() const { return entries_; }
    /// Names of files that are encrypted or compressed in another way.
    const std::vector<std::string>& unreadable() const { return unreadable_; }
    /// The first bytes of an entry, at most `most`.
    std::string head(const Entry& entry, std::size_t most) const;
    /// Writes an entry to a new file.
    /// \throws Error  the entry is damaged, expands to more than kMostInflated or kMostInflation, or the file cannot be
    ///                written
    void extract(const Entry& entry, const std::filesystem::path& to) const;

private:
    using Sink = std::function<bool(std::string_view)>;

    std::string bytesAt(std::uint64_t offset, std::uint64_t count) const;
    void readDirectory();
    void read(const Entry& entry, const Sink& sink) const;
    [[noreturn]] void refuse(const std::string& what) const;

    std::filesystem::path file_;
    int number_ = -1;
    std::uint64_t size_ = 0;
    std::vector<Entry> entries_;
    std::vector<std::string> unreadable_;
};

} // namespace tilescope::exchange
