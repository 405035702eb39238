#include "core/session/supervisor/engine_process.h"

#include "core/base/error.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace tilescope::session {

namespace {

using namespace std::chrono_literals;

/// When an engine ends, its pipes close immediately, unless a process that it started keeps them open.
constexpr auto kTick = 100ms;
constexpr std::size_t kReadSize = std::size_t{1} << 16;
constexpr std::size_t kDrainReads = 64;
constexpr std::size_t kErrorLines = 12;
constexpr std::size_t kErrorLineLength = 300;
constexpr std::size_t kGarbageTold = 3;

} // namespace

EngineProcess::EngineProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string>& environment, ChildProcess::Kind kind)
    : child_(program, arguments, environment, kind)
{
}

void EngineProcess::send(std::string_view line)
{
    pending_.append(line).push_back('\n');
    writePending();
}

void EngineProcess::closeInput()
{
    closing_ = true;
    writePending();
}

void EngineProcess::writePending()
{
    while (child_.input && !pending_.empty()) {
        const ssize_t written = write(child_.input.get(), pending_.data(), pending_.size());
        if (written > 0)
            pending_.erase(0, static_cast<std::size_t>(written));
        else if (written < 0 && errno == EINTR)
            continue;
        else if (written < 0 && errno == EAGAIN)
            return;
        else
            pending_.clear(), child_.input.reset(); // it has ended; its exit status gives the reason
    }
    if (closing_)
        child_.input.reset();
}

bool EngineProcess::readSome(FileDescriptor& from, LineSplitter& lines,
                             const std::function<void(std::string_view)>& take)
{
    std::vector<char> buffer(kReadSize); // the stack may be small
    ssize_t length = 0;
    do
        length = read(from.get(), buffer.data(), buffer.size());
    while (length < 0 && errno == EINTR);
    if (length > 0) {
        lines.feed({buffer.data(), static_cast<std::size_t>(length)}, take);
        return true;
    }
    if (length < 0 && errno == EAGAIN)
        return false;
    lines.finish(take);
    from.reset();
    return false;
}

void EngineProcess::takeOutput(std::string_view line, const std::function<void(Event&&)>& take)
{
    std::optional<Event> event;
    try {
        event = parseEvent(line);
    } catch (const Error&) {
        // A library wrote to standard output. Reported a few times only.
        if (++garbage_ <= kGarbageTold)
            event = LogEvent{"warning", "the engine printed a line that is not an event: " +
                                            std::string(line.substr(0, 80))};
    }
    if (event)
        take(std::move(*event));
}

void EngineProcess::takeError(std::string_view line)
{
    errorTail_.emplace_back(line.substr(0, kErrorLineLength));
    if (errorTail_.size() > kErrorLines)
        errorTail_.pop_front();
}

void EngineProcess::pump(SteadyTime until, int wake, const std::function<void(Event&&)>& take)
{
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - SteadyTime::clock::now());
    const auto wait = std::clamp<std::chrono::milliseconds>(left, 0ms, kTick);
    const bool writing = child_.input && !pending_.empty();
    std::array<pollfd, 4> watched{{{child_.output.get(), POLLIN, 0},
                                   {child_.error.get(), POLLIN, 0},
                                   {writing ? child_.input.get() : -1, POLLOUT, 0},
                                   {wake, POLLIN, 0}}};
    if (poll(watched.data(), watched.size(), static_cast<int>(wait.count())) < 0)
        return; // interrupted: the caller repeats the call
    if (watched[1].revents != 0)
        readSome(child_.error, errorLines_, [this](std::string_view line) { takeError(line); });
    if (watched[0].revents != 0)
        readSome(child_.output, outputLines_, [&](std::string_view line) { takeOutput(line, take); });
    if (watched[2].revents != 0)
        writePending();
    if (const std::optional<ExitStatus> status = child_.ended(); status && !exit_) {
        drain(take);
        exit_ = status;
    }
}

/// Reads the remaining output of an ended engine. Bounded, because a process that it started may still write.
void EngineProcess::drain(const std::function<void(Event&&)>& take)
{
    for (std::size_t i = 0; i < kDrainReads && child_.output; ++i)
        if (!readSome(child_.output, outputLines_, [&](std::string_view line) { takeOutput(line, take); }))
            break;
    for (std::size_t i = 0; i < kDrainReads && child_.error; ++i)
        if (!readSome(child_.error, errorLines_, [this](std::string_view line) { takeError(line); }))
            break;
}

std::string EngineProcess::lastWords() const
{
    std::string words;
    for (const std::string& line : errorTail_)
        if (line.find_first_not_of(" \t\r") != std::string::npos)
            words += (words.empty() ? "" : " | ") + line;
    return words;
}

} // namespace tilescope::session
