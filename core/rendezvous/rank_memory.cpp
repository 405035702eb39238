#include "core/rendezvous/rank_memory.h"

#include "core/base/error.h"
#include "core/rendezvous/frame.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tilescope::rendezvous {

namespace {

/// How /proc names memory without a file.
constexpr const char* kPrefix = "/memfd:";

[[noreturn]] void refuse(const std::string& path, const std::string& what)
{
    throw Error{.what = "the ranks' shared memory " + what,
                .where = path,
                .remedy = "use fewer ranks, or raise the limit of this process's memory",
                .kind = ErrorKind::Environment};
}

FileDescriptor newMemory(const std::string& name)
{
    // A system may require memory that cannot be executed. Linux before 6.3 does not know this flag.
    constexpr unsigned kNoExecute = 0x8;
    FileDescriptor memory(memfd_create(name.c_str(), MFD_CLOEXEC | kNoExecute));
    if (!memory && errno == EINVAL)
        memory = FileDescriptor(memfd_create(name.c_str(), MFD_CLOEXEC));
    if (!memory)
        refuse("memfd_create", std::string("cannot be created (") + std::strerror(errno) + ")");
    return memory;
}

bool isMemoryOfName(const FileDescriptor& file, const std::string& name)
{
    std::error_code unreadable;
    const std::string target =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file.get()), unreadable);
    return !unreadable && target.substr(0, target.find(' ')) == kPrefix + name;
}

} // namespace

RankMemory::RankMemory() : name_("tilescope-" + randomText()), memory_(newMemory(name_)) {}

std::string RankMemory::path() const
{
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(memory_.get());
}

FileDescriptor openRankMemory(const std::string& path, const std::string& name)
{
    // Without O_NONBLOCK, a FIFO that has taken the place of the memory would block.
    FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file)
        refuse(path, std::string("cannot be opened (") + std::strerror(errno) + ")");
    struct stat facts {};
    if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || !isMemoryOfName(file, name))
        refuse(path, "has been replaced by another file");
    if (facts.st_uid != geteuid())
        refuse(path, "belongs to another user");
    return file;
}

} // namespace tilescope::rendezvous
