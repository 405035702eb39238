#include "core/machine/program_output.h"

#include "core/base/file_descriptor.h"
#include "core/base/search_path.h"
#include "core/base/spawn_settings.h"
#include "core/base/spawn_words.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

namespace tilescope::machine {

namespace {

/// Reads to the end and keeps the beginning, so that the program never blocks.
std::string beginningOf(const FileDescriptor& pipe)
{
    constexpr std::size_t kMost = 4096;
    std::string text;
    std::array<char, kMost> piece{};
    for (ssize_t got = 0; (got = read(pipe.get(), piece.data(), piece.size())) != 0;) {
        if (got < 0 && errno != EINTR)
            break;
        if (got > 0)
            text.append(piece.data(), std::min(static_cast<std::size_t>(got), kMost - text.size()));
    }
    text.erase(text.find_last_not_of(" \n") + 1);
    return text;
}

} // namespace

ProgramOutput outputOf(std::vector<std::string> words, const std::map<std::string, std::string>& environment,
                       bool withErrors)
{
    const std::filesystem::path program = findProgram(words.front());
    std::array<int, 2> ends{};
    if (program.empty() || pipe2(ends.data(), O_CLOEXEC) != 0)
        return {};
    const FileDescriptor read(ends[0]);
    FileDescriptor write(ends[1]);
    std::vector<std::string> variables = environmentWith(environment);
    SpawnSettings settings;
    posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&settings.actions, write.get(), STDOUT_FILENO);
    if (withErrors)
        posix_spawn_file_actions_adddup2(&settings.actions, write.get(), STDERR_FILENO);
    else
        posix_spawn_file_actions_addopen(&settings.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    if (posix_spawn(&child, program.c_str(), &settings.actions, &settings.attributes,
                    pointersTo(words).data(), pointersTo(variables).data()) != 0)
        return {};
    write.reset();
    ProgramOutput output{.text = beginningOf(read)};
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    output.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return output;
}

} // namespace tilescope::machine
