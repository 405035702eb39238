#pragma once

#include "core/base/temporary_path.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace tilescope {

/// Files that appear in a folder together: they are written into a draft within it and moved into their
/// places when all of them are there. Without commit() the folder stays as it was, or away. One thread.
class OutputFolder {
public:
    /// Makes the folder where it does not exist.
    /// \param inputs  files that the same command reads
    /// \throws Error  something that is no folder has this name; it cannot be written
    OutputFolder(const std::filesystem::path& folder, std::vector<std::filesystem::path> inputs);

    /// Where to write the files.
    const std::filesystem::path& draft() const { return draft_->path(); }
    /// Puts each file of the draft in the place of what has its name.
    /// \throws Error  before the first is moved: see plainOutputPath()
    void commit();

private:
    std::filesystem::path target_;
    std::vector<std::filesystem::path> inputs_;
    std::optional<TemporaryPath> made_; ///< the topmost folder that was made for this
    std::optional<TemporaryPath> draft_;
};

} // namespace tilescope
