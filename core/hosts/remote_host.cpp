#include "core/hosts/remote_host.h"

#include "core/base/terminal_text.h"
#include "core/hosts/json_fields.h"
#include "core/session/protocol/wake_event.h"
#include "core/session/protocol/without_sigpipe.h"
#include "core/session/supervisor/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace tilescope::hosts {

using Json = nlohmann::json;

namespace {

constexpr std::size_t kMostText = 500;

/// The refusal of a host as an error here. Its words are bounded; who prints errors escapes them.
Error refusalIn(const Json& message, const std::string& host)
{
    const Json& error = message["error"];
    const std::string kind = textIn(error, "kind", kMostText);
    const std::string where = textIn(error, "where", kMostText);
    return {.what = textIn(error, "what", kMostText),
            .where = where.empty() ? host : host + ":" + where,
            .remedy = textIn(error, "remedy", kMostText),
            .kind = kind == "usage"         ? ErrorKind::Usage
                    : kind == "environment" ? ErrorKind::Environment
                                            : ErrorKind::Failure};
}

/// In parentheses, what a shell said last; empty: nothing.
std::string saidBy(std::string_view words)
{
    const std::string last = lastWords(words);
    return last.empty() ? last : " (" + last + ")";
}

} // namespace

class Answer::Impl {
public:
    Impl(const SshLink& link, const Bundle& bundle, std::string_view request)
        : host(link.host().name), link_(link),
          process(link.start(hostCommand(link, bundle, "serve --stdio"))),
          pending(framed(FrameType::Message, request))
    {
        // Fewer turns between ssh and this program; the usual size where that is not permitted.
        fcntl(process->output.get(), F_SETPIPE_SZ, int(kReadAtOnce));
    }

    void exchange(const std::stop_token& stop, const session::WakeEvent& wake);
    [[noreturn]] void throwLost();

    const std::string host;
    const SshLink& link_;
    std::unique_ptr<session::ChildProcess> process;
    std::string pending; ///< of the request
    FrameReader reader{true};
    std::deque<Frame> frames;
    std::string errors;

private:
    static constexpr std::size_t kReadAtOnce = std::size_t{512} << 10;
    std::vector<char> bytes_ = std::vector<char>(kReadAtOnce);
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

void Answer::Impl::throwLost()
{
    // The end of its output may come a moment before its own.
    constexpr int kLookAgainMs = 10;
    constexpr int kLooks = 100;
    auto ended = process->ended();
    for (int look = 0; !ended && look < kLooks; ++look) {
        poll(nullptr, 0, kLookAgainMs);
        ended = process->ended();
    }
    constexpr int kNotExecutable = 126;
    constexpr int kNotFound = 127;
    if (ended && ended->signal == 0 && ended->code == kNotExecutable)
        throw Error{.what = "its disk does not let Tilescope's programs run" + saidBy(errors),
                    .where = host,
                    .remedy = "set XDG_CACHE_HOME to another disk in ~/.profile there and as a set-up line",
                    .kind = ErrorKind::Environment};
    if (ended && ended->signal == 0 && ended->code == kNotFound)
        throw Error{.what = "Tilescope there was removed, or does not start (" + lastWords(errors) + ")",
                    .where = host,
                    .remedy = "try again; check the host with tilescope hosts check " + host,
                    .kind = ErrorKind::Environment};
    // ssh itself fails with 255; another code is that of the command, which has not begun to answer.
    constexpr int kSshFailed = 255;
    constexpr int kSignal = 128; // and its number
    if (ended && ended->signal == 0 && ended->code > kSignal && ended->code != kSshFailed &&
        !reader.isGreeted())
        throw Error{.what = "Tilescope there is ended by signal " + std::to_string(ended->code - kSignal) +
                            saidBy(errors),
                    .where = host,
                    .remedy = "tilescope hosts check " + host + " says whether its copy there is damaged",
                    .kind = ErrorKind::Environment};
    if (ended && ended->signal == 0 && ended->code != kSshFailed && !reader.isGreeted())
        throw Error{
            .what = "Tilescope does not start there: its login scripts or set-up lines end the shell with "
                    "exit code " +
                    std::to_string(ended->code) + saidBy(errors.empty() ? reader.before() : errors),
            .where = host,
            .remedy = "check them, and the host with tilescope hosts check " + host,
            .kind = ErrorKind::Environment};
    throw Lost{link_.lost(errors)};
}

void Answer::Impl::exchange(const std::stop_token& stop, const session::WakeEvent& wake)
{
    std::array<pollfd, 4> watched{{{process->output.get(), POLLIN, 0},
                                   {process->error.get(), POLLIN, 0},
                                   {pending.empty() ? -1 : process->input.get(), POLLOUT, 0},
                                   {wake.descriptor(), POLLIN, 0}}};
    constexpr int kLookAgainMs = 1000;
    poll(watched.data(), watched.size(), reader.isGreeted() ? -1 : kLookAgainMs);
    if (stop.stop_requested())
        return;
    if (!reader.isGreeted() && std::chrono::steady_clock::now() - began_ > kMostSilence)
        throw noAnswer(link_.host(), kMostSilence);
    if (watched[2].revents != 0) {
        const ssize_t count = write(process->input.get(), pending.data(), pending.size());
        if (count > 0)
            pending.erase(0, std::size_t(count));
        else if (errno != EAGAIN && errno != EINTR)
            pending.clear(); // the end of its output says why
    }
    if (watched[1].revents != 0) {
        const ssize_t count = read(process->error.get(), bytes_.data(), kMostBefore);
        if (count > 0 && errors.size() < kMostBefore)
            errors.append(bytes_.data(), std::size_t(count));
        else if (count == 0)
            process->error.reset();
    }
    if (watched[0].revents == 0)
        return;
    const std::span<char> expected = reader.expected();
    // The rest of a piece goes to its place; what follows it has a buffer of its own.
    const std::array<iovec, 2> places{{{expected.data(), expected.size()}, {bytes_.data(), bytes_.size()}}};
    const ssize_t count = readv(process->output.get(), places.data(), places.size());
    if (count == 0)
        throwLost();
    if (count < 0)
        return;
    try {
        const auto take = [this](Frame frame) { frames.push_back(std::move(frame)); };
        const std::size_t placed = std::min(std::size_t(count), expected.size());
        if (placed > 0)
            reader.arrived(placed, take);
        if (std::size_t(count) > placed)
            reader.feed(std::string_view(bytes_.data(), std::size_t(count) - placed), take);
    } catch (Error& error) {
        error.where = host;
        throw;
    }
}

Answer::Answer(const SshLink& link, const Bundle& bundle, std::string_view request)
    : impl_(std::make_unique<Impl>(link, bundle, request))
{
}

Answer::~Answer() = default;

std::optional<Frame> Answer::next(const std::stop_token& stop)
{
    const session::WithoutSigpipe quiet;
    const session::WakeEvent wake;
    const std::stop_callback onStop(stop, [&wake] { wake.signal(); });
    while (impl_->frames.empty()) {
        if (stop.stop_requested())
            return {};
        impl_->exchange(stop, wake);
    }
    Frame frame = std::move(impl_->frames.front());
    impl_->frames.pop_front();
    if (frame.type != FrameType::Message)
        return frame;
    const Json message = Json::parse(frame.body, nullptr, false);
    if (!message.is_object())
        throw Error{.what = "what it sends is damaged", .where = impl_->host, .kind = ErrorKind::Environment};
    if (message.contains("error") && message["error"].is_object())
        throw refusalIn(message, impl_->host);
    return frame;
}

RemoteHost::RemoteHost(Host host, HostWatch watch) : link_(std::move(host)), watch_(std::move(watch)) {}

void RemoteHost::tell(HostState state, const std::string& words) const
{
    if (watch_.state)
        watch_.state(state, words);
}

void RemoteHost::prepare(std::stop_token stop)
{
    tell(HostState::Connecting);
    link_.open(stop);
    if (bundle_.files.empty())
        bundle_ = Bundle::ofThisProgram();
    bool isTold = false;
    const auto copying = [&](Bytes copied, Bytes of) {
        if (!std::exchange(isTold, true))
            tell(HostState::Installing);
        if (watch_.copying)
            watch_.copying(copied, of);
    };
    persistently([&] { install(link_, bundle_, copying, stop); }, stop, kAttempts);
    tell(HostState::Ready);
}

std::unique_ptr<Answer> RemoteHost::begin(std::string_view request) const
{
    return std::make_unique<Answer>(link_, bundle_, request);
}

RemoteHost RemoteHost::withoutProgress() const
{
    RemoteHost other(*this);
    other.watch_ = {};
    return other;
}

std::string RemoteHost::ask(std::string_view request, std::stop_token stop, int attempts)
{
    std::string last;
    persistently(
        [&] {
            const auto answer = begin(request);
            for (bool ended = false; !ended;) {
                const auto frame = answer->next(stop);
                if (!frame)
                    throw Stopped{};
                last = frame->body;
                ended =
                    frame->type == FrameType::Message && Json::parse(last, nullptr, false).contains("end");
            }
        },
        stop, attempts);
    return last;
}

namespace {

/// \throws Stopped
void pauseFor(std::chrono::milliseconds time, const std::stop_token& stop)
{
    const session::WakeEvent wake;
    const std::stop_callback onStop(stop, [&wake] { wake.signal(); });
    pollfd watched{wake.descriptor(), POLLIN, 0};
    poll(&watched, 1, int(time.count()));
    if (stop.stop_requested())
        throw Stopped{};
}

} // namespace

void RemoteHost::persistently(const std::function<void()>& work, std::stop_token stop, int attempts)
{
    constexpr std::chrono::milliseconds kFirstPause{250};
    constexpr std::chrono::milliseconds kLongestPause{15'000};
    std::chrono::milliseconds pause = kFirstPause;
    int failed = 0;
    bool isLost = false;
    auto began = std::chrono::steady_clock::now();
    const auto again = [&](const Error& error) {
        if (attempts > 0 && ++failed >= attempts)
            throw error;
        if (!std::exchange(isLost, true))
            tell(HostState::Lost, error.what);
        if (std::chrono::steady_clock::now() - began > kLongestPause)
            pause = kFirstPause; // it worked for a while
        pauseFor(pause, stop);
        pause = std::min(2 * pause, kLongestPause);
    };
    for (;;) {
        try {
            if (isLost) {
                link_.open(stop);
                isLost = false;
                tell(HostState::Ready);
            }
            began = std::chrono::steady_clock::now();
            return work();
        } catch (const Lost& lost) {
            again(lost.error);
        } catch (const ConnectionError& error) {
            if (!error.mayPass)
                throw Error(error);
            again(error);
        }
    }
}

} // namespace tilescope::hosts
