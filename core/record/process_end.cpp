#include "core/record/process_end.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace tilescope::record {

namespace {

constexpr const char* kEndSuffix = ".end";
constexpr std::size_t kLongest = 1000; // file systems limit the text of a link

/// \param path  without the suffix
int makeLink(std::string_view path, std::string_view text) noexcept
{
    std::array<char, PATH_MAX> link{};
    std::array<char, kLongest + 1> target{};
    const std::string_view suffix = kEndSuffix;
    if (path.size() + suffix.size() >= link.size())
        return ENAMETOOLONG;
    *std::ranges::copy(suffix, std::ranges::copy(path, link.begin()).out).out = 0;
    std::ranges::copy(text.substr(0, kLongest), target.begin());
    return symlink(target.data(), link.data()) == 0 || errno == EEXIST ? 0 : errno;
}

std::filesystem::path linkOf(std::filesystem::path workingFile)
{
    return workingFile.replace_extension(kEndSuffix);
}

} // namespace

int noteEnd(const std::filesystem::path& workingFile, std::string_view text) noexcept
{
    const std::string_view path = workingFile.native();
    const std::size_t dot = path.rfind('.');
    return makeLink(dot == std::string_view::npos || path.find('/', dot) != std::string_view::npos
                        ? path
                        : path.substr(0, dot),
                    text);
}

int noteEnd(const char* folder, std::int64_t process, std::string_view text) noexcept
{
    std::array<char, PATH_MAX> path{};
    // The name of a working file is that of its process and the time.
    const int length =
        std::snprintf(path.data(), path.size(), "%s/%lld-0", folder, static_cast<long long>(process));
    if (length <= 0 || static_cast<std::size_t>(length) >= path.size())
        return ENAMETOOLONG;
    return makeLink(path.data(), text);
}

std::string endText(int status)
{
    if (WIFEXITED(status))
        return std::string(kExitStatus) + std::to_string(WEXITSTATUS(status));
    const int signal = WTERMSIG(status);
    const char* name = strsignal(signal);
    return std::string(kEndingSignal) + std::to_string(signal) + (name ? " (" + std::string(name) + ")" : "");
}

std::string endOf(const std::filesystem::path& workingFile)
{
    std::error_code error;
    return std::filesystem::read_symlink(linkOf(workingFile), error).string();
}

} // namespace tilescope::record
