#include "core/engine/common/host_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace tilescope::engine {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// Reads a file with one number. None if there is no such file or it contains "max".
std::optional<std::int64_t> numberIn(const std::filesystem::path& file)
{
    std::ifstream in(file);
    std::int64_t number = 0;
    if (!(in >> number))
        return {};
    return number;
}

std::int64_t availableBySystem(const std::filesystem::path& meminfo)
{
    std::ifstream in(meminfo);
    for (std::string key; in >> key;) {
        std::int64_t kibibytes = 0;
        if (key == "MemAvailable:" && in >> kibibytes)
            return kibibytes * 1024;
        in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return kUnlimited;
}

// The value of `key` in a file of lines "key number".
std::int64_t entryIn(const std::filesystem::path& file, const std::string& key)
{
    std::ifstream in(file);
    std::string word;
    std::int64_t number = 0;
    while (in >> word >> number)
        if (word == key)
            return number;
    return 0;
}

// The usage of a control group includes cached file pages, which the kernel drops before it kills.
std::int64_t leftInGroup(const std::filesystem::path& limit, const std::filesystem::path& used,
                         const std::filesystem::path& statistics, const std::string& cached)
{
    const auto most = numberIn(limit);
    const auto now = numberIn(used);
    if (!most || !now)
        return kUnlimited;
    return std::max<std::int64_t>(0, *most - *now + entryIn(statistics, cached));
}

} // namespace

Bytes availableHostMemory(const std::filesystem::path& root)
{
    const auto v2 = root / "sys/fs/cgroup";
    const auto v1 = v2 / "memory";
    return {
        std::min({availableBySystem(root / "proc/meminfo"),
                  leftInGroup(v2 / "memory.max", v2 / "memory.current", v2 / "memory.stat", "inactive_file"),
                  leftInGroup(v1 / "memory.limit_in_bytes", v1 / "memory.usage_in_bytes", v1 / "memory.stat",
                              "total_inactive_file")})};
}

Bytes defaultHostLimit()
{
    return {availableHostMemory().count / 5 * 4};
}

} // namespace tilescope::engine
