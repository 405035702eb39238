#pragma once

#include "core/base/temporary_path.h"

#include <filesystem>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace tilescope {

/// "TSCP": the application id by which `file` and we know a recording from other SQLite databases.
inline constexpr int kRecordingId = 0x54534350;

/// The path with symbolic links of its last component followed to the end, whether something is there or not.
/// \throws Error  the links go in a circle
std::filesystem::path withLinksFollowed(const std::filesystem::path& path);

/// Where an output goes: the file that `path` names, its links followed.
///
/// \param inputs  files that the same command reads
/// \throws Error (Usage)  a folder, a device, a pipe or a socket is there; it is one of `inputs`, by whatever
///                        name; the user may not write it
std::filesystem::path outputPath(const std::filesystem::path& path,
                                 std::span<const std::filesystem::path> inputs = {});

/// The same for an output that is no recording.
/// \throws Error (Usage)  also where a recording is there, or the log or lock of one
std::filesystem::path plainOutputPath(const std::filesystem::path& path,
                                      std::span<const std::filesystem::path> inputs = {});

/// Writes a file whole or not at all, in place of what stands there: a temporary file in its folder takes its
/// name when all is on the disk. Without commit() nothing changes. One thread.
class OutputFile {
public:
    /// \throws Error  see plainOutputPath(); the folder cannot be written
    explicit OutputFile(const std::filesystem::path& path,
                        std::span<const std::filesystem::path> inputs = {});
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    std::ostream& stream();
    /// Runs `work` on the stream. Where that could not be written, the error tells why, whatever `work`
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
    /// \throws Error (Failure)  something could not be written; says why
    void commit();

private:
    class Buffer;
    void requireWritten();

    const std::string named_; ///< as the user wrote it, for errors
    const std::filesystem::path target_;
    TemporaryPath part_;
    std::unique_ptr<Buffer> buffer_;
    std::ostream stream_;
};

/// Writes a text as OutputFile does.
void writeOutput(const std::filesystem::path& path, std::string_view text);

/// Moves a finished file to `target`, durably; both lie on one filesystem.
/// \throws Error (Failure)
void moveIntoPlace(const std::filesystem::path& finished, const std::filesystem::path& target);

} // namespace tilescope
