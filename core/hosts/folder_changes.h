#pragma once

#include "core/base/file_descriptor.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>

namespace tilescope::hosts {

/// Waits for changes of the files in a folder. Network filesystems report none that other machines made, so that
/// a wait ends after a second at the latest. One thread.
class FolderChanges {
public:
    explicit FolderChanges(const std::filesystem::path& folder)
        : descriptor_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK))
    {
        inotify_add_watch(descriptor_.get(), folder.c_str(), IN_MODIFY | IN_MOVED_TO);
    }

    /// \param other  also ends the wait where it can be read or was closed; -1: nothing else does
    /// \return       `other` ended it
    bool wait(int other = -1)
    {
        constexpr int kLookAnywayMs = 1000;
        std::array<pollfd, 2> watched{{{other, POLLIN, 0}, {descriptor_.get(), POLLIN, 0}}};
        poll(watched.data(), watched.size(), kLookAnywayMs);
        std::array<char, 4096> ignored;
        while (read(descriptor_.get(), ignored.data(), ignored.size()) > 0) {
        }
        return watched[0].revents != 0;
    }

private:
    FileDescriptor descriptor_;
};

} // namespace tilescope::hosts
