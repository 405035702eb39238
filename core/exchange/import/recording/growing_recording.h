#pragma once

#include "core/exchange/import/importer.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace tilescope::exchange {

/// A recording while the program runs: `tilescope record` keeps the working files of the processes in a folder
/// beside the output, and removes the folder once it has joined them.
struct GrowingRecording {
    std::filesystem::path folder;
    std::filesystem::path output; ///< the .tscope file that will gain the run

    /// The recording behind a path: its folder, or its output, which need not exist yet. The newest of several
    /// with the same output. Reads the output's folder; none if there is none, or it cannot be read.
    static std::optional<GrowingRecording> of(const std::filesystem::path& named);

    /// Bytes of all working files: they only grow. None once the folder is gone.
    std::optional<std::uintmax_t> bytes() const;

    /// Joins what the working files hold so far into a new file, which replaces `file` at once.
    /// \return none if they hold no event yet
    /// \throws Error  as importFiles(); the folder may vanish meanwhile
    std::optional<ImportResult> importInto(const std::filesystem::path& file,
                                           const ImportWatch& watch = {}) const;
};

} // namespace tilescope::exchange
