#include "app/cli/window_program.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/session/supervisor/child_process.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kTimeout{300}; // also sufficient on a busy machine

/// Output and exit status of a program, which is killed if it takes too long.
struct Ended {
    bool well = false;
    bool isUsage = false;
    std::string said;
};

/// Reads the available bytes; false if the other end is closed.
bool takeFrom(const FileDescriptor& pipe, std::string& into)
{
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got > 0)
        into.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

Ended runToItsEnd(const fs::path& program, const std::vector<std::string>& arguments)
{
    session::ChildProcess child(program, arguments, {});
    child.input.reset();
    Ended ended;
    const auto until = std::chrono::steady_clock::now() + kTimeout;
    std::string ignored;
    bool open = true;
    while (open && std::chrono::steady_clock::now() < until) {
        std::array<pollfd, 2> waited{pollfd{child.error.get(), POLLIN, 0},
                                     pollfd{child.output.get(), POLLIN, 0}};
        ::poll(waited.data(), waited.size(), 100);
        const bool error = takeFrom(child.error, ended.said);
        const bool output = takeFrom(child.output, ignored);
        open = error || output;
    }
    // The program has closed its pipes and ends within moments.
    std::optional<session::ExitStatus> status;
    while (!(status = child.ended()) && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const bool exited = status && status->signal == 0;
    ended.well = exited && status->code == 0;
    ended.isUsage = exited && status->code == Error{}.exitCode();
    if (!status)
        ended.said = "it took more than five minutes";
    else if (ended.said.empty() && !ended.well)
        ended.said = status->text();
    return ended;
}

/// The program's last sentence, without its name; earlier lines are warnings.
std::string lastLine(std::string text)
{
    while (text.ends_with('\n'))
        text.pop_back();
    text = text.substr(text.rfind('\n') + 1);
    constexpr std::string_view kSpeaker = "tilescope-gui: ";
    return text.starts_with(kSpeaker) ? text.substr(kSpeaker.size()) : text;
}

} // namespace

std::optional<WindowProgramResult> runWindowProgram(const std::vector<std::string>& arguments)
{
    const fs::path window = siblingProgram("TILESCOPE_GUI", "tilescope-gui");
    std::error_code none;
    if (!fs::exists(window, none))
        return {};
    const Ended ended = runToItsEnd(window, arguments);
    return WindowProgramResult{ended.well, ended.well ? std::string() : lastLine(ended.said), ended.isUsage};
}

std::string drawnFile(const fs::path& file)
{
    std::ifstream stream(file, std::ios::binary);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

std::string captionOf(const fs::path& folder, const std::string& id)
{
    const std::string caption = drawnFile(folder / (id + ".caption.txt"));
    return caption.substr(0, caption.find('\n'));
}

} // namespace tilescope::cli
