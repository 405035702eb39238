#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/record/control.h"
#include "core/record/control_line.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <utility>

namespace tilescope::record {

namespace fs = std::filesystem;
using namespace control;

namespace {

/// The two numbers of RECORDER-PROCESS.socket.
std::optional<std::pair<std::int64_t, std::int64_t>> numbersIn(const std::string& name)
{
    std::pair<std::int64_t, std::int64_t> numbers;
    const char* end = name.data() + name.size();
    const auto first = std::from_chars(name.data(), end, numbers.first);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-')
        return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, numbers.second);
    if (second.ec != std::errc() || std::string_view(second.ptr, end) != kSuffix)
        return std::nullopt;
    return numbers;
}

/// Calls `use` with the path and the process of each socket.
template <class Use> void forEachSocket(Use&& use)
{
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(controlFolder(), ignored))
        if (const auto numbers = numbersIn(entry.path().filename().string()))
            use(entry.path(), numbers->first, numbers->second);
}

bool hasListener(const fs::path& path)
{
    const auto address = addressOf(path);
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return address &&
           (connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) == 0 ||
            errno == EAGAIN);
}

/// The answer of the process behind a socket; none if it has ended.
std::optional<std::string> ask(const fs::path& path, std::string_view verb)
{
    const auto address = addressOf(path);
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!address ||
        connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0)
        return std::nullopt;
    if (!isOwnPeer(socket.get()))
        return "it belongs to another user";
    sendLine(socket.get(), std::string(kVersion) + std::string(verb));
    std::string answer = lineFrom(socket.get(), kLongAnswer);
    return answer.empty() ? "it does not answer" : answer;
}

} // namespace

Obeyed tellProcesses(std::int64_t pid, std::string_view verb)
{
    const std::string where = std::to_string(pid);
    if (controlFolder().empty())
        throw Error{.what = "is not set, so recorded processes cannot be reached",
                    .where = "XDG_RUNTIME_DIR",
                    .remedy = "set it to the folder that it had when tilescope record was started"};
    Obeyed obeyed;
    std::string refusal;
    forEachSocket([&](const fs::path& path, std::int64_t recorder, std::int64_t process) {
        const bool isRecorder = process == recorder;
        if ((pid != recorder && pid != process) || (isRecorder && verb != "stop"))
            return;
        const std::optional<std::string> answer = ask(path, verb);
        if (answer && *answer == kObeyed)
            (isRecorder ? obeyed.recorders : obeyed.processes).push_back(process);
        else if (answer)
            refusal = "process " + std::to_string(process) + ": " + *answer;
    });
    if (!refusal.empty())
        throw Error{.what = refusal, .where = where, .kind = ErrorKind::Failure};
    if (obeyed.processes.empty() && obeyed.recorders.empty())
        throw Error{.what = "no process with this number is recorded",
                    .where = where,
                    .remedy = "give the number of tilescope record or of a process that it started"};
    return obeyed;
}

void removeSockets() noexcept
{
    try {
        forEachSocket([](const fs::path& path, std::int64_t /*recorder*/, std::int64_t process) {
            // Processes of containers have other numbers.
            if (kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH && !hasListener(path))
                unlink(path.c_str());
        });
        rmdir(controlFolder().c_str()); // fails while it holds sockets of others
    } catch (...) {
        return; // they do no harm
    }
}

} // namespace tilescope::record
