#include "core/record/process_end.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <system_error>

namespace tilescope::record {

namespace {

constexpr const char* kEndSuffix = ".end";
constexpr std::size_t kLongest = 1000; // file systems limit the text of a link

std::filesystem::path linkOf(std::filesystem::path workingFile)
{
    return workingFile.replace_extension(kEndSuffix);
}

} // namespace

void noteEnd(const std::filesystem::path& workingFile, const std::string& text) noexcept
{
    try {
        static_cast<void>(!symlink(text.substr(0, kLongest).c_str(), linkOf(workingFile).c_str()));
    } catch (...) {
        return; // no memory
    }
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
