#pragma once

#include <cstddef>
#include <filesystem>

namespace tilescope {

/// A new file or folder beside an output, in which the output is made before it takes its place: removed with
/// this object, and when SIGINT, SIGTERM or SIGHUP ends the process.
///
/// Its name is the output's with a dot in front and `.tilescope-` and six characters behind. It is locked, so
/// that what a killed process left is told from what a living one writes; making one removes the former. Any
/// thread.
class TemporaryPath {
public:
    enum class Kind { File, Folder };

    /// \throws Error  it cannot be made there
    TemporaryPath(const std::filesystem::path& output, Kind kind);
    /// Takes over the removal of a file or folder that the caller made.
    explicit TemporaryPath(std::filesystem::path made);
    ~TemporaryPath();
    TemporaryPath(const TemporaryPath&) = delete;
    TemporaryPath& operator=(const TemporaryPath&) = delete;

    const std::filesystem::path& path() const { return path_; }
    /// Open for writing; of a file that this object made.
    int descriptor() const { return descriptor_; }
    /// It has become something else, or shall stay: it is not removed any more.
    void keep() noexcept;

    /// Removes what killed processes left of attempts to make `output`.
    static void removeLeftovers(const std::filesystem::path& output) noexcept;

private:
    bool tryToMake(Kind kind);
    void watch();

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::size_t slot_;
    bool kept_ = false;
};

} // namespace tilescope
