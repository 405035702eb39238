#include "app/gui/display_guard.h"

#include "core/base/environment_variable.h"
#include "core/base/error.h"
#include "core/base/mutex.h"

#include <QList>
#include <QLoggingCategory>
#include <QString>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace tilescope {

namespace {

QtMessageHandler before = nullptr;
bool isGuarding = false;
Mutex keeping; // platform threads may log
QStringList* keptBack GUARDED_BY(keeping) = nullptr;

/// Why no Qt platform starts, judging by the environment.
Error noDisplay()
{
    const std::string platform = environmentVariable("QT_QPA_PLATFORM");
    const std::string x11 = environmentVariable("DISPLAY");
    const std::string wayland = environmentVariable("WAYLAND_DISPLAY");
    Error error{.what = "this session has no display",
                .remedy = "log in with one (ssh -X), or use tilescope show FILE",
                .kind = ErrorKind::Environment};
    if (!platform.empty()) {
        error.what = "the window cannot use this platform here";
        error.where = "QT_QPA_PLATFORM=" + platform;
        error.remedy = "unset it, or use tilescope show FILE";
    } else if (!x11.empty() || !wayland.empty()) {
        error.what = "the display cannot be used";
        error.where = x11.empty() ? "WAYLAND_DISPLAY=" + wayland : "DISPLAY=" + x11;
        error.remedy = "check that it exists and that you may use it, or use tilescope show FILE";
    }
    return error;
}

[[noreturn]] void giveUp()
{
    const Error error = noDisplay();
    std::fprintf(stderr, "tilescope-gui: %s\n", error.sentence().c_str());
    std::fflush(stderr);
    // Qt is partially constructed; destructors must not run.
    _exit(error.exitCode());
}

void keepBack(QtMsgType type, const QMessageLogContext& context, const QString& text)
{
    if (type == QtFatalMsg)
        giveUp();
    const MutexLock lock(keeping);
    if (keptBack != nullptr)
        keptBack->append(qFormatLogMessage(type, context, text));
}

/// Whether the X server at an address accepts a connection within a few seconds.
bool answers(const addrinfo& address)
{
    constexpr int kTimeoutMs = 5000;
    const int server = socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK, address.ai_protocol);
    if (server < 0)
        return false;
    int error = connect(server, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
    if (pollfd waiting{server, POLLOUT, 0}; error == EINPROGRESS && poll(&waiting, 1, kTimeoutMs) == 1) {
        socklen_t size = sizeof error;
        getsockopt(server, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    close(server);
    return error == 0;
}

/// Ends the program if DISPLAY names an X server by `host:number` that cannot be reached. Qt would wait until
/// the connection times out, for minutes.
void requireReachableServer()
{
    const std::string platform = environmentVariable("QT_QPA_PLATFORM");
    if (!environmentVariable("WAYLAND_DISPLAY").empty() || !(platform.empty() || platform.starts_with("xcb")))
        return;
    const std::string display = environmentVariable("DISPLAY");
    const std::size_t colon = display.rfind(':');
    const std::string host = display.substr(0, colon);
    if (colon == std::string::npos || host.empty() || host == "unix" || host.find('/') != std::string::npos)
        return; // a local socket
    constexpr int kFirstPort = 6000;
    const std::string port = std::to_string(kFirstPort + std::atoi(display.c_str() + colon + 1));
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* addresses = nullptr;
    if (getaddrinfo(host.c_str(), port.c_str(), &wanted, &addresses) != 0)
        return; // Qt reports this error itself
    bool isReachable = false;
    for (const addrinfo* each = addresses; each && !isReachable; each = each->ai_next)
        isReachable = answers(*each);
    freeaddrinfo(addresses);
    if (!isReachable)
        giveUp();
}

} // namespace

DisplayGuard::DisplayGuard()
{
    requireReachableServer();
    keptBack = new QStringList;
    isGuarding = true;
    before = qInstallMessageHandler(keepBack);
}

DisplayGuard::~DisplayGuard()
{
    release();
}

void DisplayGuard::release()
{
    if (!std::exchange(isGuarding, false))
        return;
    qInstallMessageHandler(before);
    const MutexLock lock(keeping);
    for (const QString& text : *keptBack)
        std::fprintf(stderr, "%s\n", qPrintable(text));
    delete std::exchange(keptBack, nullptr);
}

} // namespace tilescope
