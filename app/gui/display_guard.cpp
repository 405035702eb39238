#include "app/gui/display_guard.h"

#include "core/base/error.h"

#include <QList>
#include <QLoggingCategory>
#include <QString>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace tilescope {

namespace {

QtMessageHandler before = nullptr;
bool isGuarding = false;
QStringList* keptBack = nullptr;
std::mutex keeping; ///< of the above: a platform may have threads that speak

std::string variable(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// Why no platform of Qt starts, as far as the environment tells.
Error noDisplay()
{
    const std::string platform = variable("QT_QPA_PLATFORM");
    const std::string x11 = variable("DISPLAY");
    const std::string wayland = variable("WAYLAND_DISPLAY");
    Error error{.what = "this session has no display",
                .mend = "log in with one (ssh -X), or see files without it: tilescope show FILE",
                .kind = ErrorKind::Environment};
    if (!platform.empty()) {
        error.what = "the window cannot use this platform here";
        error.where = "QT_QPA_PLATFORM=" + platform;
        error.mend = "unset it, or see files without the window: tilescope show FILE";
    } else if (!x11.empty() || !wayland.empty()) {
        error.what = "the display cannot be used";
        error.where = x11.empty() ? "WAYLAND_DISPLAY=" + wayland : "DISPLAY=" + x11;
        error.mend = "check that it is yours and is there, or see files without it: tilescope show FILE";
    }
    return error;
}

void keepBack(QtMsgType type, const QMessageLogContext& context, const QString& text)
{
    if (type == QtFatalMsg) {
        const Error error = noDisplay();
        std::fprintf(stderr, "tilescope-gui: %s\n", error.sentence().c_str());
        std::fflush(stderr);
        // Qt is half made: nothing of it can be torn down.
        _exit(error.exitCode());
    }
    const std::scoped_lock lock(keeping);
    if (keptBack != nullptr)
        keptBack->append(qFormatLogMessage(type, context, text));
}

} // namespace

DisplayGuard::DisplayGuard()
{
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
    const std::scoped_lock lock(keeping);
    for (const QString& text : *keptBack)
        std::fprintf(stderr, "%s\n", qPrintable(text));
    delete std::exchange(keptBack, nullptr);
}

} // namespace tilescope
