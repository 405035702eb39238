#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace tilescope {

/// A new file or folder beside an output, in which the output is written before it is moved to its place. The
/// destructor removes it; so does SIGINT, SIGTERM or SIGHUP when it ends the process.
///
/// The name is a dot, the output's name, `.tilescope-` and six characters. A lock distinguishes files of
/// living processes from leftovers of killed ones, which the constructor removes. Any thread.
class TemporaryPath {
public:
    enum class Kind { File, Folder };

    /// \throws Error  the file or folder cannot be created there
    TemporaryPath(const std::filesystem::path& output, Kind kind);
    /// Takes ownership of a file or folder that the caller created.
    explicit TemporaryPath(std::filesystem::path made);
    ~TemporaryPath();
    TemporaryPath(const TemporaryPath&) = delete;
    TemporaryPath& operator=(const TemporaryPath&) = delete;

    const std::filesystem::path& path() const { return path_; }
    /// An open descriptor for writing, if this object created a file.
    int descriptor() const { return descriptor_; }
    /// Stops managing the path: it is not removed.
    void keep() noexcept;

    /// Removes leftovers of killed processes that were writing `output`.
    static void removeLeftovers(const std::filesystem::path& output) noexcept;

private:
    bool tryToMake(Kind kind);
    void watch();

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::size_t slot_;
    bool kept_ = false;
};

/// Creates a folder below the one for temporary files, which only the user can read: tilescope-`use`-XXXXXX.
/// \throws Error (Environment)  it cannot be created
std::filesystem::path newTemporaryFolder(std::string_view use);

} // namespace tilescope
