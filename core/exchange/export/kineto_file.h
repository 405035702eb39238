#pragma once

#include "core/base/output_file.h"
#include "core/exchange/export/export_topology.h"
#include "core/exchange/export/gzip_stream.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// The file of one process in a Kineto export: text, compressed if the name ends in .gz. Events are separated by
/// commas; each begins a line. Without commit() nothing changes. One thread.
/// \throws Error  from any member: the file cannot be written
class KinetoFile {
public:
    /// \param inputs  files that are read
    KinetoFile(const std::filesystem::path& path, std::span<const std::filesystem::path> inputs);

    /// Writes text unchanged.
    void text(std::string_view text);
    /// Writes an event: JSON of an object.
    void event(std::string_view json);
    /// Ends the compressed data.
    void finish();
    void commit();

private:
    OutputFile output_;
    std::optional<GzipStream> zip_;
    bool isFirst_ = true;
};

/// The files of an export, by process: `path` for a single process. For several, the rank or the number of
/// the process precedes the endings .json and .gz.
std::vector<std::filesystem::path> kinetoPaths(const std::filesystem::path& path,
                                               const ExportTopology& topology);

} // namespace tilescope::exchange
