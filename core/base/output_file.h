#pragma once

#include "core/base/temporary_path.h"

#include <filesystem>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace tilescope {

/// "TSCP": the application id by which `file` and Tilescope distinguish a recording from other SQLite
/// databases.
inline constexpr int kRecordingId = 0x54534350;

/// Follows the symbolic links of the path's last component. The target need not exist.
/// \throws Error  the links form a cycle
std::filesystem::path withLinksFollowed(const std::filesystem::path& path);

/// The file that an output to `path` is written to: `path` with its links followed.
///
/// \param inputs          files that the same command reads
/// \throws Error (Usage)  the path is a folder, device, pipe or socket, is one of `inputs` under any name, or
///                        is not writable
std::filesystem::path outputPath(const std::filesystem::path& path,
                                 std::span<const std::filesystem::path> inputs = {});

/// Like outputPath(), for an output that is not a recording.
/// \throws Error (Usage)  also if the path is a recording, or the log or lock of one
std::filesystem::path plainOutputPath(const std::filesystem::path& path,
                                      std::span<const std::filesystem::path> inputs = {});

/// Writes a file completely or not at all. The content goes to a temporary file in the same folder, which
/// replaces the target once everything is on the disk. Without commit() nothing changes. One thread.
class OutputFile {
public:
    /// \throws Error  see plainOutputPath(); the folder is not writable
    explicit OutputFile(const std::filesystem::path& path,
                        std::span<const std::filesystem::path> inputs = {});
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    std::ostream& stream();
    /// Runs `work` on the stream. If writing failed, throws the reason of that failure, whatever `work`
    /// throws.
    template <class Work> decltype(auto) write(Work&& work)
    {
        try {
            return work(stream());
        } catch (...) {
            requireWritten();
            throw;
        }
    }
    /// \throws Error (Failure)  something could not be written; gives the reason
    void commit();

private:
    class Buffer;
    void requireWritten();

    const std::string named_; ///< as the user wrote it, for error messages
    const std::filesystem::path target_;
    TemporaryPath part_;
    std::unique_ptr<Buffer> buffer_;
    std::ostream stream_;
};

/// Writes a text through OutputFile.
void writeOutput(const std::filesystem::path& path, std::string_view text);

/// Moves a finished file to `target`, durably. Both must be on one filesystem.
/// \throws Error (Failure)
void moveIntoPlace(const std::filesystem::path& finished, const std::filesystem::path& target);

} // namespace tilescope
