#pragma once

#include "core/base/temporary_path.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace tilescope {

/// Files that appear in a folder together. They are written into a draft inside the folder and moved to their
/// places when all are complete. Without commit() the folder does not change, or is not created. One thread.
class OutputFolder {
public:
    /// Creates the folder if it does not exist.
    /// \param inputs  files that the same command reads
    /// \throws Error  the path exists and is not a folder, or is not writable
    OutputFolder(const std::filesystem::path& folder, std::vector<std::filesystem::path> inputs);

    /// The folder to write the files into.
    const std::filesystem::path& draft() const { return draft_->path(); }
    /// Runs `work`, which writes the files. Its errors name their places instead of the draft.
    void write(const std::function<void()>& work) const;
    /// Moves each file of the draft to its place, replacing files of the same name.
    /// \throws Error  before the first file is moved: see plainOutputPath()
    void commit();

private:
    std::filesystem::path target_;
    std::vector<std::filesystem::path> inputs_;
    std::optional<TemporaryPath> made_; ///< the topmost folder created for this output
    std::optional<TemporaryPath> draft_;
};

} // namespace tilescope
