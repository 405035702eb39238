#pragma once

#include "core/base/file_descriptor.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::hosts {

/// A sweep that was started on a host and whose runs have not arrived, as a file of the user: a program that starts
/// again finds it and follows the sweep. The object holds a lock, so that only one program does. One thread.
class StartedWork {
public:
    std::string id;             ///< of the work there
    std::string host;           ///< its name
    std::string name;           ///< of the sweep, for people
    std::filesystem::path file; ///< gets its runs
    std::string points;         ///< of sweepLines()

    /// Writes the file before the work is started.
    /// \param folder  copiesFolder() / "started"
    /// \throws Error  it cannot be written
    void keep(const std::filesystem::path& folder);
    /// Removes the file: the runs have arrived, or the work is not there any more.
    void forget();

    /// What earlier programs left, without the work that a running program follows. Damaged files are passed over.
    static std::vector<StartedWork> of(const std::filesystem::path& folder);

private:
    std::filesystem::path note_;
    FileDescriptor lock_;
};

} // namespace tilescope::hosts
