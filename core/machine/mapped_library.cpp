#include "core/machine/mapped_library.h"

#include "core/base/number_text.h"

#include <sys/stat.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tilescope::machine {

namespace fs = std::filesystem;

namespace {

/// Whether the path leads this process to the same file: the other one may have another root.
bool isSameFile(const fs::path& file, std::string_view inode)
{
    struct stat facts {};
    return stat(file.c_str(), &facts) == 0 && parseNumber<std::uint64_t>(inode) == facts.st_ino;
}

fs::path mappedBy(const fs::path& process, std::string_view name)
{
    std::ifstream maps(process / "maps");
    for (std::string line; std::getline(maps, line);) {
        const std::size_t slash = line.find('/');
        if (slash == std::string::npos || line.find(name, slash) == std::string::npos)
            continue;
        std::istringstream words(line.substr(0, slash));
        std::string addresses, access, offset, device, inode;
        words >> addresses >> access >> offset >> device >> inode;
        const fs::path file = line.substr(slash);
        if (file.filename().string().starts_with(name) && isSameFile(file, inode))
            return file;
    }
    return {};
}

} // namespace

fs::path mappedLibrary(pid_t process, std::string_view name)
{
    constexpr std::size_t kMost = 256;
    std::vector<pid_t> family{process};
    for (std::size_t i = 0; i < family.size(); ++i) {
        const fs::path folder = "/proc/" + std::to_string(family[i]);
        if (fs::path file = mappedBy(folder, name); !file.empty())
            return file;
        std::error_code ended;
        for (const fs::directory_entry& thread : fs::directory_iterator(folder / "task", ended)) {
            std::ifstream children(thread.path() / "children");
            for (pid_t child = 0; family.size() < kMost && children >> child;)
                family.push_back(child);
        }
    }
    return {};
}

} // namespace tilescope::machine
