#include "tests/support/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace tilescope::testing {

namespace {

using namespace std::chrono_literals;

constexpr auto kTimeout = 90s; // also sufficient on a busy machine

std::string contentOf(const std::filesystem::path& file)
{
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

std::filesystem::path newFile()
{
    std::string name = (std::filesystem::temp_directory_path() / "tilescope-output-XXXXXX").string();
    close(mkstemp(name.data()));
    return name;
}

} // namespace

Program::Program(const std::vector<std::string>& command, const std::filesystem::path& folder,
                 const std::map<std::string, std::string>& environment)
    : out_(newFile()), err_(newFile())
{
    std::vector<char*> words;
    for (const std::string& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0)
        return;
    // As from a terminal: a shell starts background jobs with these signals ignored, and then a test would wait forever.
    for (const int each : {SIGINT, SIGQUIT})
        signal(each, SIG_DFL);
    for (const auto& [name, value] : environment)
        setenv(name.c_str(), value.c_str(), 1);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(open(out_.c_str(), O_WRONLY | O_TRUNC), STDOUT_FILENO);
    dup2(open(err_.c_str(), O_WRONLY | O_TRUNC), STDERR_FILENO);
    if (chdir(folder.c_str()) == 0)
        execv(words[0], words.data());
    _exit(126);
}

Program::~Program()
{
    if (!hasEnded()) {
        kill(pid_, SIGKILL);
        wait();
    }
    std::error_code ignored;
    std::filesystem::remove(out_, ignored);
    std::filesystem::remove(err_, ignored);
}

bool Program::hasEnded()
{
    if (!reaped_)
        reaped_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    return reaped_;
}

std::string Program::outputSoFar() const
{
    return contentOf(out_);
}

bool Program::waitFor(const std::string& text)
{
    for (const auto until = std::chrono::steady_clock::now() + kTimeout;
         std::chrono::steady_clock::now() < until;) {
        if (outputSoFar().find(text) != std::string::npos)
            return true;
        if (hasEnded())
            return outputSoFar().find(text) != std::string::npos;
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

bool Program::takes(int signal)
{
    const std::filesystem::path status = std::filesystem::path("/proc") / std::to_string(pid_) / "status";
    for (const auto until = std::chrono::steady_clock::now() + kTimeout;
         std::chrono::steady_clock::now() < until && !hasEnded();) {
        std::ifstream lines(status);
        std::string name;
        for (std::string word; lines >> word;) {
            if (std::exchange(name, word) != "ShdPnd:")
                continue;
            if ((std::stoull(word, nullptr, 16) >> (signal - 1) & 1) == 0)
                return true;
        }
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

ProgramResult Program::wait()
{
    while (!reaped_) {
        if (waitpid(pid_, &status_, 0) == pid_)
            reaped_ = true;
        else if (errno != EINTR)
            break;
    }
    return {WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_), contentOf(out_), contentOf(err_)};
}

ProgramResult runProgram(const std::vector<std::string>& command, const std::filesystem::path& folder,
                         const std::map<std::string, std::string>& environment)
{
    return Program(command, folder, environment).wait();
}

} // namespace tilescope::testing
