#include "core/hosts/ssh_link.h"

#include "core/base/environment_variable.h"
#include "core/base/file_descriptor.h"
#include "core/base/search_path.h"
#include "core/base/sha256.h"
#include "core/base/terminal_text.h"
#include "core/machine/process_tree.h"
#include "core/session/protocol/wake_event.h"
#include "core/session/protocol/without_sigpipe.h"
#include "core/session/supervisor/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <utility>

namespace tilescope::hosts {

namespace fs = std::filesystem;

namespace {

constexpr int kLostCode = 255; // of ssh, where it and not the command failed
constexpr std::size_t kMostWords = std::size_t{64} << 10;

bool isControl(char character)
{
    const auto byte = static_cast<unsigned char>(character);
    return byte < 0x20 || byte == 0x7f;
}

/// A folder that only the user can enter, for sockets: their paths are limited to about 100 bytes.
fs::path socketFolder()
{
    const std::string runtime = environmentVariable("XDG_RUNTIME_DIR");
    constexpr std::size_t kMostPath = 50;
    const fs::path folder = !runtime.empty() && runtime.size() <= kMostPath
                                ? fs::path(runtime) / "tilescope"
                                : fs::path("/tmp/tilescope-" + std::to_string(geteuid()));
    mkdir(folder.c_str(), S_IRWXU);
    struct stat facts {};
    const bool isSafe = lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
                        facts.st_uid == geteuid() && (facts.st_mode & (S_IRWXG | S_IRWXO)) == 0;
    if (!isSafe)
        throw Error{.what = "is not a folder that only you can enter, so no connection is kept in it",
                    .where = folder.string(),
                    .remedy = "remove it, or set XDG_RUNTIME_DIR to a folder of yours",
                    .kind = ErrorKind::Environment};
    return folder;
}

std::atomic<bool> prefersDialogs = false;

/// Whether ssh has a program that asks in a dialog: that of SSH_ASKPASS, or the one that its distribution chose.
bool canAskInDialog()
{
    if (environmentVariable("DISPLAY").empty() && environmentVariable("WAYLAND_DISPLAY").empty() &&
        environmentVariable("SSH_ASKPASS_REQUIRE") != "force")
        return false;
    constexpr std::array kUsual{"/usr/bin/ssh-askpass", "/usr/libexec/openssh/ssh-askpass",
                                "/usr/lib/ssh/ssh-askpass"};
    return !environmentVariable("SSH_ASKPASS").empty() ||
           std::ranges::any_of(kUsual, [](const char* program) { return access(program, X_OK) == 0; });
}

/// Whether ssh has a way to ask the user.
bool canAsk()
{
    return FileDescriptor{open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)} || canAskInDialog();
}

/// What ssh's environment has beside ours.
std::map<std::string, std::string> wayOfAsking()
{
    const bool isSet = !environmentVariable("SSH_ASKPASS_REQUIRE").empty();
    if (!prefersDialogs || isSet || !canAskInDialog())
        return {};
    return {{"SSH_ASKPASS_REQUIRE", "prefer"}};
}

/// Ends ssh and what it started: its askpass program, and the ssh of a jump host. On a terminal ssh gives the echo back.
void endWithItsChildren(session::ChildProcess& ssh)
{
    ssh.signal(SIGSTOP); // else it starts the next question when one has ended
    machine::ProcessTree processes(ssh.pid());
    processes.look();
    ssh.signal(SIGTERM);
    for (const pid_t pid : processes.pids())
        if (pid != ssh.pid())
            kill(pid, SIGTERM);
    ssh.signal(SIGCONT);
    constexpr std::chrono::seconds kMost{1};
    constexpr int kLookAgainMs = 5;
    const auto end = std::chrono::steady_clock::now() + kMost;
    while (!ssh.ended() && std::chrono::steady_clock::now() < end)
        poll(nullptr, 0, kLookAgainMs);
}

/// Reads what is there, up to the limit; what is beyond is dropped. False at the end.
bool take(const FileDescriptor& from, std::string& into)
{
    std::array<char, 16384> bytes;
    for (;;) {
        const ssize_t count = read(from.get(), bytes.data(), bytes.size());
        if (count > 0)
            into.append(bytes.data(),
                        std::min(std::size_t(count), kMostWords - std::min(kMostWords, into.size())));
        else if (count == 0)
            return false;
        else if (errno != EINTR)
            return errno == EAGAIN;
    }
}

/// Feeds a process and collects what it prints, until it has ended; none: `isLate` was true before.
std::optional<CommandOutcome> converse(session::ChildProcess& process,
                                       const std::function<std::string_view()>& input, std::stop_token stop,
                                       const std::function<bool()>& isLate)
{
    const session::WithoutSigpipe quiet;
    const session::WakeEvent wake;
    const std::stop_callback onStop(stop, [&wake] { wake.signal(); });
    CommandOutcome outcome;
    std::string_view pending;
    bool isFed = false;
    bool hasOut = true;
    bool hasError = true;
    for (;;) {
        if (stop.stop_requested())
            throw Stopped{};
        if (isLate && isLate())
            return {};
        if (!isFed && pending.empty()) {
            pending = input ? input() : std::string_view();
            if (pending.empty()) {
                isFed = true;
                process.input.reset();
            }
        }
        // The background process of a new connection keeps standard error open, so the process's end counts.
        const auto ended = process.ended();
        if (ended) {
            take(process.output, outcome.out);
            take(process.error, outcome.err);
            outcome.code = ended->signal != 0 ? kLostCode : ended->code;
            return outcome;
        }
        std::array<pollfd, 4> watched{{{hasOut ? process.output.get() : -1, POLLIN, 0},
                                       {hasError ? process.error.get() : -1, POLLIN, 0},
                                       {isFed ? -1 : process.input.get(), POLLOUT, 0},
                                       {wake.descriptor(), POLLIN, 0}}};
        constexpr int kLookAgainMs = 20; // both streams may be closed before the process has ended
        constexpr int kLookAtClockMs = 1000;
        const int longestMs = isLate ? kLookAtClockMs : -1;
        poll(watched.data(), watched.size(), hasOut && hasError && !isFed ? longestMs : kLookAgainMs);
        hasOut = hasOut && take(process.output, outcome.out);
        hasError = hasError && take(process.error, outcome.err);
        if (isFed || watched[2].revents == 0)
            continue;
        const ssize_t written = write(process.input.get(), pending.data(), pending.size());
        if (written > 0) {
            pending.remove_prefix(std::size_t(written));
        } else if (errno != EAGAIN && errno != EINTR) {
            isFed = true; // it does not read any more: its exit code says why
            process.input.reset();
        }
    }
}

CommandOutcome converse(session::ChildProcess& process, const std::function<std::string_view()>& input,
                        std::stop_token stop)
{
    return *converse(process, input, std::move(stop), {});
}

/// What ssh says when it has connected or not. A stop ends it.
CommandOutcome connected(session::ChildProcess& ssh, const std::stop_token& stop)
{
    try {
        return converse(ssh, {}, stop);
    } catch (const Stopped&) {
        endWithItsChildren(ssh);
        throw;
    }
}

/// Whether a connection broke while it was made, in contrast to a host that refuses it.
bool brokeMeanwhile(std::string_view words)
{
    const auto has = [&](std::string_view part) { return words.find(part) != std::string_view::npos; };
    return words.empty() || has("Connection closed") || has("Connection reset") || has("Broken pipe");
}

} // namespace

std::string lastWords(std::string_view words)
{
    constexpr std::size_t kMostShown = 300;
    while (!words.empty() && (isControl(words.back()) || words.back() == ' '))
        words.remove_suffix(1);
    const std::size_t line = words.rfind('\n');
    if (line != std::string_view::npos)
        words.remove_prefix(line + 1);
    return escapeForTerminal(words.substr(0, kMostShown));
}

std::string quotedForHost(std::string_view text)
{
    if (std::ranges::any_of(text, isControl))
        throw Error{.what = "has control characters, so it is not sent to a host",
                    .where = escapeForTerminal(text.substr(0, 200)),
                    .remedy = "use another name there"};
    std::string word = "'";
    for (const char character : text)
        word += character == '\'' ? std::string("'\\''") : std::string(1, character);
    return word + "'";
}

namespace {

/// A command line that runs a line of sh, for the login shell of any user. fish and csh read quotes, backslashes and
/// exclamation marks differently, so that they see none of these within the line.
std::string forAnyShell(const std::string& line)
{
    constexpr std::string_view kOdd = "'\\!";
    std::string word;
    for (const char character : line) {
        const auto byte = static_cast<unsigned char>(character);
        if (isControl(character) || kOdd.find(character) != std::string_view::npos) {
            word += "\\0";
            for (const int shift : {6, 3, 0})
                word += static_cast<char>('0' + (byte >> shift & 7));
        } else {
            word += character;
        }
    }
    return "exec /bin/sh -c 'eval \"$(printf %b \"$1\")\"' sh '" + word + "'";
}

} // namespace

void askInDialogs()
{
    prefersDialogs = true;
}

SshLink::SshLink(Host host) : host_(std::move(host)), ssh_(findProgram("ssh"))
{
    if (host_.isLocal)
        return;
    requireAddress(host_.address);
    if (ssh_.empty())
        throw Error{.what = "there is no ssh",
                    .where = host_.name,
                    .remedy = "install OpenSSH's client (openssh-client)",
                    .kind = ErrorKind::Environment};
    constexpr std::size_t kDigits = 16;
    // Another home has other keys: its connections are its own.
    const std::string identity = host_.address + '\n' + environmentVariable("HOME");
    socket_ = socketFolder() / ("ssh-" + sha256(identity).substr(0, kDigits));
}

std::vector<std::string> SshLink::shared() const
{
    // -o options on the command line precede those of the user's configuration.
    return {"-o", "ControlPath=" + socket_.string(),
            "-o", "LogLevel=ERROR",
            "-o", "ForwardAgent=no",
            "-o", "ForwardX11=no",
            "-o", "ClearAllForwardings=yes",
            "-o", "PermitLocalCommand=no",
            "-o", "RemoteCommand=none",
            "-o", "RequestTTY=no",
            "-o", "ServerAliveInterval=5",
            "-o", "ServerAliveCountMax=3"};
}

bool SshLink::isOpen() const
{
    if (host_.isLocal)
        return true;
    std::error_code error;
    if (!fs::exists(socket_, error))
        return false;
    std::vector<std::string> words = shared();
    words.insert(words.end(), {"-O", "check", "--", host_.address});
    session::ChildProcess check(ssh_, words, {});
    return converse(check, {}, {}).code == 0;
}

void SshLink::open(std::stop_token stop)
{
    if (host_.isLocal)
        return;
    // Of several processes one connects, the others use its connection.
    const FileDescriptor turn{
        ::open((socket_.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    const session::WakeEvent wake;
    const std::stop_callback onStop(stop, [&wake] { wake.signal(); });
    while (flock(turn.get(), LOCK_EX | LOCK_NB) != 0 && (errno == EINTR || errno == EWOULDBLOCK)) {
        constexpr int kLookAgainMs = 50;
        pollfd stopped{wake.descriptor(), POLLIN, 0};
        poll(&stopped, 1, kLookAgainMs); // the other process may ask its user
        if (stop.stop_requested())
            throw Stopped{};
    }
    if (isOpen())
        return;
    std::error_code ignored;
    fs::remove(socket_, ignored); // of a connection that was killed
    std::vector<std::string> words = shared();
    words.insert(words.end(),
                 {"-o", "ControlMaster=yes", "-o", "ControlPersist=600", "-o", "ConnectTimeout=15", "-o",
                  std::string("BatchMode=") + (canAsk() ? "no" : "yes"), "-fN", "--", host_.address});
    constexpr int kAttempts = 6; // a network that has just come back may break again
    constexpr int kFirstPauseMs = 100;
    for (int attempt = 1, pauseMs = kFirstPauseMs;; ++attempt, pauseMs *= 2) {
        session::ChildProcess connecting(ssh_, words, wayOfAsking());
        const CommandOutcome outcome = connected(connecting, stop);
        if (outcome.code == 0)
            return;
        if (attempt == kAttempts || !brokeMeanwhile(outcome.err))
            throw connectionError(host_, outcome.err);
        pollfd stopped{wake.descriptor(), POLLIN, 0};
        poll(&stopped, 1, pauseMs); // converse() looks at the stop
    }
}

void SshLink::close()
{
    if (host_.isLocal)
        return;
    std::vector<std::string> words = shared();
    words.insert(words.end(), {"-O", "exit", "--", host_.address});
    session::ChildProcess closing(ssh_, words, {});
    converse(closing, {}, {});
}

std::unique_ptr<session::ChildProcess> SshLink::start(const std::string& line) const
{
    if (host_.isLocal)
        return std::make_unique<session::ChildProcess>("/bin/sh", std::vector<std::string>{"-c", line},
                                                       std::map<std::string, std::string>());
    std::vector<std::string> words = shared();
    // Without the connection the client would make another one; this proxy makes it fail instead.
    words.insert(words.end(), {"-o", "ControlMaster=no", "-o", "BatchMode=yes", "-o", "ProxyCommand=exit 1",
                               "-T", "--", host_.address, forAnyShell(line)});
    return std::make_unique<session::ChildProcess>(ssh_, words, std::map<std::string, std::string>());
}

CommandOutcome SshLink::run(const std::string& line, const std::function<std::string_view()>& input,
                            std::stop_token stop, std::optional<std::chrono::seconds> limit) const
{
    const auto process = start(line);
    const auto began = std::chrono::steady_clock::now();
    std::function<bool()> isLate;
    if (limit)
        isLate = [&] { return std::chrono::steady_clock::now() - began > *limit; };
    std::optional<CommandOutcome> ended = converse(*process, input, std::move(stop), isLate);
    if (!ended)
        throw noAnswer(host_, *limit);
    CommandOutcome outcome = *std::move(ended);
    if (outcome.code == kLostCode)
        throw lost(outcome.err);
    return outcome;
}

std::string SshLink::withSetUp(const std::string& line) const
{
    return withSetUp(line, {});
}

std::string SshLink::withSetUp(const std::string& line, const std::string& ifFails) const
{
    if (host_.setUp.empty())
        return line;
    std::string lines;
    int number = 0;
    for (const std::string& each : host_.setUp) {
        ++number;
        lines += "eval " + quotedForHost(each) + " >&2" +
                 (ifFails.empty() ? "" : " || " + ifFails + " " + std::to_string(number)) + "; ";
    }
    // A login shell, because `module` and conda are functions of its start files.
    return "exec bash -lc " + quotedForHost(lines + line);
}

ConnectionError SshLink::lost(std::string_view words) const
{
    const std::string said = lastWords(words);
    return {{.what = "the connection was lost" + (said.empty() ? "" : " (" + said + ")"),
             .where = host_.name,
             .remedy = "check it with tilescope hosts check " + host_.name,
             .kind = ErrorKind::Environment},
            true};
}

Error noAnswer(const Host& host, std::chrono::seconds limit)
{
    return {.what = "it does not answer within " + std::to_string(limit.count()) +
                    " s: its login scripts or set-up lines do not end",
            .where = host.name,
            .remedy = "check them: ssh " + host.address + " true, and tilescope hosts list",
            .kind = ErrorKind::Environment};
}

Error noShell(const Host& host, const CommandOutcome& outcome)
{
    const std::string said = lastWords(outcome.err.empty() ? outcome.out : outcome.err);
    return {.what = "its shell does not run a simple command: exit code " + std::to_string(outcome.code) +
                    (said.empty() ? " and no words" : " (" + said + ")"),
            .where = host.name,
            .remedy = "check the account's shell, its login scripts and the set-up lines",
            .kind = ErrorKind::Environment};
}

ConnectionError connectionError(const Host& host, std::string_view words)
{
    const auto has = [&](std::string_view part) { return words.find(part) != std::string_view::npos; };
    const auto error = [&](std::string what, std::string remedy, bool mayPass = false) {
        return ConnectionError{{.what = std::move(what),
                                .where = host.name,
                                .remedy = std::move(remedy),
                                .kind = ErrorKind::Environment},
                               mayPass};
    };
    const std::string address = host.address;
    if (has("IDENTIFICATION HAS CHANGED"))
        return error("its host key differs from the one in known_hosts",
                     "ask its administrator whether the key changed, then run ssh-keygen -R with its name");
    if (has("Host key verification failed"))
        return error("its host key is not in known_hosts",
                     "run ssh " + address + " once, compare the key and accept it");
    if (has("Permission denied") || has("Too many authentication failures"))
        return error("it accepted no key (" + lastWords(words) + ")",
                     "load your key with ssh-add, or install it there with ssh-copy-id " + address);
    if (has("Could not resolve"))
        return error("its name is unknown (" + lastWords(words) + ")",
                     "check the network and the address, or add it to ~/.ssh/config", true);
    if (has("refused"))
        return error("it refuses connections (" + lastWords(words) + ")",
                     "check that its ssh server runs, and the port in ~/.ssh/config", true);
    if (has("timed out") || has("No route") || has("unreachable"))
        return error("it cannot be reached (" + lastWords(words) + ")",
                     "check the network, or a ProxyJump in ~/.ssh/config", true);
    const std::string said = lastWords(words);
    return error(said.empty() ? "ssh cannot connect" : "ssh cannot connect (" + said + ")",
                 "run ssh " + address + " true and mend what it says", true);
}

} // namespace tilescope::hosts
