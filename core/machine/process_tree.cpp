#include "core/machine/process_tree.h"

#include "core/machine/small_file.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace tilescope::machine {

namespace {

std::filesystem::path folderOf(pid_t pid)
{
    return "/proc/" + std::to_string(pid);
}

} // namespace

ProcessTree::ProcessTree(pid_t root) : isOwn_(root == 0)
{
    add(isOwn_ ? getpid() : root);
}

void ProcessTree::add(pid_t pid)
{
    if (std::ranges::find(members_, pid, &Member::pid) == members_.end())
        members_.push_back({.pid = pid});
}

void ProcessTree::look()
{
    constexpr std::size_t kMost = 256;
    if (isOwn_)
        return;
    for (std::size_t i = 0; i < members_.size() && members_.size() < kMost; ++i) {
        const pid_t pid = members_[i].pid;
        std::istringstream text(readSmallFile(folderOf(pid) / "task" / std::to_string(pid) / "children"));
        for (pid_t child = 0; text >> child;)
            add(child);
    }
}

std::uint64_t ProcessTree::processorTime()
{
    std::uint64_t sum = 0;
    for (Member& member : members_) {
        timespec time{};
        clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
        if ((isOwn_ || clock_getcpuclockid(member.pid, &clock) == 0) && clock_gettime(clock, &time) == 0)
            member.time = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
                          static_cast<std::uint64_t>(time.tv_nsec);
        sum += member.time;
    }
    return sum;
}

std::uint64_t ProcessTree::residentBytes() const
{
    std::uint64_t pages = 0;
    for (const Member& member : members_) {
        // The second number is the number of resident pages. A process that has ended has no file.
        std::istringstream text(readSmallFile(folderOf(member.pid) / "statm"));
        std::uint64_t size = 0;
        std::uint64_t resident = 0;
        if (text >> size >> resident)
            pages += resident;
    }
    return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<pid_t> ProcessTree::pids() const
{
    std::vector<pid_t> pids;
    for (const Member& member : members_)
        pids.push_back(member.pid);
    return pids;
}

std::vector<std::filesystem::path> ProcessTree::folders() const
{
    std::vector<std::filesystem::path> folders;
    for (const Member& member : members_)
        folders.push_back(folderOf(member.pid));
    return folders;
}

} // namespace tilescope::machine
