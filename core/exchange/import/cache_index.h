#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::exchange {

/// A lock that threads and processes hold on a side file. The file is created if needed, and removed by the last
/// holder.
class SideLock {
public:
    enum class Kind { Shared, Exclusive };

    /// Waits for the lock.
    /// \throws Error  the side file cannot be created
    SideLock(const std::filesystem::path& side, Kind kind);
    ~SideLock();
    SideLock(const SideLock&) = delete;
    SideLock& operator=(const SideLock&) = delete;

    /// The exclusive lock, or null if anyone holds it.
    /// \throws Error  the side file cannot be created
    static std::unique_ptr<SideLock> tryToTake(const std::filesystem::path& side);

private:
    SideLock() = default;
    bool take(const std::filesystem::path& side, int operation);

    std::filesystem::path side_;
    int descriptor_ = -1;
};

/// Attributes that change with a file: device, inode, size, and the times of its last change in nanoseconds.
using FileStamp = std::array<std::int64_t, 5>;

/// \throws Error (Usage)  the file cannot be examined
FileStamp stampOf(const std::filesystem::path& file);

/// The file index.json of the import cache. Its owner holds the lock of the index while it lives. A damaged or
/// missing index is empty: the cache works without it, but reads sources again.
class CacheIndex {
public:
    /// Reads it.
    explicit CacheIndex(std::filesystem::path file);
    /// Replaces the file.
    /// \throws Error  it cannot be written
    void save() const;

    struct Entry {
        std::string name;
        std::int64_t usedUnixNs = 0;
    };
    std::map<std::string, Entry> entries; ///< by key

    std::optional<std::string> digestOf(const FileStamp& stamp) const;
    void addDigest(const FileStamp& stamp, const std::string& digest);

private:
    struct Digest {
        FileStamp stamp;
        std::string digest;
    };

    std::filesystem::path file_;
    std::vector<Digest> digests_; ///< the oldest first
};

} // namespace tilescope::exchange
