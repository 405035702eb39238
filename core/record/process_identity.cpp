#include "core/record/process_identity.h"

#include "core/base/this_host.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace tilescope::record {

ProcessIdentity identityOf(std::string_view process)
{
    constexpr int kStarted = 22; // field of /proc/PID/stat
    constexpr int kAfterName = 3;
    const std::filesystem::path folder = std::filesystem::path("/proc") / process;
    ProcessIdentity identity;
    std::ifstream in(folder / "stat");
    std::string line;
    std::getline(in, line);
    if (const std::size_t name = line.rfind(')'); name != std::string::npos) { // may contain blanks
        std::istringstream fields(line.substr(name + 1));
        for (int field = kAfterName; field <= kStarted; ++field)
            fields >> identity.started;
    }
    std::error_code error;
    identity.space = std::filesystem::read_symlink(folder / "ns/pid", error).string();
    return identity;
}

bool stillRuns(std::string_view host, std::int64_t process, const ProcessIdentity& told)
{
    if (process <= 0 || host != hostName())
        return false;
    const std::string number = std::to_string(process);
    std::ifstream in("/proc/" + number + "/stat");
    std::string line;
    std::getline(in, line);
    const std::size_t name = line.rfind(')'); // may contain blanks
    if (name == std::string::npos || name + 2 >= line.size() || line[name + 2] == 'Z' ||
        line[name + 2] == 'X')
        return false;
    // Another process may have its number by now.
    return told.started.empty() || identityOf(number) == told;
}

} // namespace tilescope::record
