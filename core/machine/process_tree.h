#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <sys/types.h>

namespace tilescope::machine {

/// A process. If it is not this one, with its descendants. One thread.
class ProcessTree {
public:
    /// \param root  0: this process, alone
    explicit ProcessTree(pid_t root);

    /// Adds the descendants of the members, through their main threads; 256 members at most.
    void look();
    /// Processor time of all members in nanoseconds, including members that have ended.
    std::uint64_t processorTime();
    std::uint64_t residentBytes() const;
    /// The members, also those that have ended.
    std::vector<pid_t> pids() const;
    /// The folders of the members in /proc; that of a process that has ended is missing.
    std::vector<std::filesystem::path> folders() const;

private:
    struct Member {
        pid_t pid = 0;
        std::uint64_t time = 0; ///< ns, when it was last read
    };

    void add(pid_t pid);

    const bool isOwn_;
    std::vector<Member> members_; ///< the root first
};

} // namespace tilescope::machine
