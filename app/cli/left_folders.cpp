#include "app/cli/left_folders.h"

#include "app/cli/recorded_processes.h"
#include "core/base/number_text.h"
#include "core/base/shell_word.h"
#include "core/record/command_line.h"
#include "core/record/options.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kMark = ".recording-";
constexpr std::size_t kRandom = 6; ///< characters behind it; see mkdtemp()
constexpr std::time_t kYoung = 60; ///< s; another recording may not hold it yet
constexpr std::size_t kMostNamed = 3;

bool isWorkingFolder(const fs::path& path)
{
    const std::string name = path.filename().string();
    return name.size() > kMark.size() + kRandom &&
           std::string_view(name).substr(name.size() - kRandom - kMark.size(), kMark.size()) == kMark;
}

/// Whether this user made the folder some time ago, and no `tilescope record` holds it.
bool isLeft(const fs::path& folder)
{
    const FileDescriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts {};
    if (!opened || fstat(opened.get(), &facts) != 0 || facts.st_uid != geteuid() ||
        std::time(nullptr) - facts.st_mtime < kYoung)
        return false;
    return flock(opened.get(), LOCK_EX | LOCK_NB) == 0;
}

/// Whether a process of the recording runs, also one that has recorded nothing.
bool isUsed(const fs::path& folder)
{
    RecordedProcesses processes(folder, 0);
    processes.look(std::chrono::milliseconds(0));
    if (!processes.running().empty())
        return true;
    const std::string variable = std::string(record::kFolderVariable) + "=" + folder.string();
    std::error_code error;
    return std::ranges::any_of(fs::directory_iterator("/proc", error), [&](const fs::directory_entry& entry) {
        const auto pid = parseNumber<std::int32_t>(entry.path().filename().string());
        if (!pid || *pid == getpid())
            return false;
        const std::vector<std::string> words = record::wordsOfFile(entry.path() / "environ");
        return std::ranges::find(words, variable) != words.end();
    });
}

/// Whether all entries of a folder pass; false if it cannot be read.
template <class Passes> bool allEntries(const fs::path& folder, const Passes& passes)
{
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        if (!passes(*entry))
            return false;
    return !error;
}

/// Whether it holds nothing but the modules of Python that `tilescope record` begins with: only such a folder is certain
/// to be no other program's.
bool holdsOnlyModules(const fs::path& folder)
{
    std::error_code error;
    return fs::is_regular_file(folder / "python" / "_tilescope_recorder.py", error) &&
           allEntries(folder,
                      [](const fs::directory_entry& entry) { return entry.path().filename() == "python"; }) &&
           allEntries(folder / "python", [](const fs::directory_entry& entry) {
               const std::string name = entry.path().filename().string();
               return name == "sitecustomize.py" || name == "__pycache__" || name.starts_with("_tilescope_");
           });
}

/// Whether a process has written into it.
bool holdsEvents(const fs::path& folder)
{
    std::error_code error;
    return std::ranges::any_of(fs::directory_iterator(folder, error), [](const fs::directory_entry& entry) {
        return entry.path().extension() == ".working" || entry.path().filename() == "snapshots";
    });
}

} // namespace

FileDescriptor holdFolder(const fs::path& folder)
{
    FileDescriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened)
        flock(opened.get(),
              LOCK_EX | LOCK_NB); // a file system without locks: later recordings leave it alone
    return opened;
}

void tidyLeftFolders(const fs::path& output) noexcept
{
    try {
        std::vector<fs::path> left;
        std::error_code error;
        for (const fs::directory_entry& entry :
             fs::directory_iterator(fs::absolute(output).parent_path(), error))
            if (isWorkingFolder(entry.path()) && isLeft(entry.path()) && !isUsed(entry.path()))
                left.push_back(entry.path());
        std::ranges::sort(left);
        for (const fs::path& folder : left)
            if (holdsOnlyModules(folder))
                fs::remove_all(folder, error);
        std::erase_if(left, [](const fs::path& folder) { return !holdsEvents(folder); });
        for (std::size_t i = 0; i < std::min(left.size(), kMostNamed); ++i)
            std::cerr << "tilescope record: an earlier recording that was killed has left "
                      << shellPath(left[i]) << "; `tilescope import` of it reads what it holds" << std::endl;
        if (left.size() > kMostNamed)
            std::cerr << "tilescope record: and " << left.size() - kMostNamed
                      << " more such folders beside it" << std::endl;
    } catch (...) {
        return; // they stay
    }
}

} // namespace tilescope::cli
