#include "app/gui/display_guard.h"

#include "core/base/error.h"
#include "core/base/mutex.h"

#include <QList>
#include <QLoggingCategory>
#include <QString>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tilescope {

namespace {

QtMessageHandler before = nullptr;
bool isGuarding = false;
Mutex keeping; // platform threads may log
QStringList* keptBack GUARDED_BY(keeping) = nullptr;

std::string variable(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// Why no Qt platform starts, judging by the environment.
Error noDisplay()
{
    const std::string platform = variable("QT_QPA_PLATFORM");
    const std::string x11 = variable("DISPLAY");
    const std::string wayland = variable("WAYLAND_DISPLAY");
    Error error{.what = "this session has no display",
                .mend = "log in with one (ssh -X), or use tilescope show FILE",
                .kind = ErrorKind::Environment};
    if (!platform.empty()) {
        error.what = "the window cannot use this platform here";
        error.where = "QT_QPA_PLATFORM=" + platform;
        error.mend = "unset it, or use tilescope show FILE";
    } else if (!x11.empty() || !wayland.empty()) {
        error.what = "the display cannot be used";
        error.where = x11.empty() ? "WAYLAND_DISPLAY=" + wayland : "DISPLAY=" + x11;
        error.mend = "check that it exists and that you may use it, or use tilescope show FILE";
    }
    return error;
}

void keepBack(QtMsgType type, const QMessageLogContext& context, const QString& text)
{
    if (type == QtFatalMsg) {
        const Error error = noDisplay();
        std::fprintf(stderr, "tilescope-gui: %s\n", error.sentence().c_str());
        std::fflush(stderr);
        // Qt is partially constructed; destructors must not run.
        _exit(error.exitCode());
    }
    const MutexLock lock(keeping);
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
    const MutexLock lock(keeping);
    for (const QString& text : *keptBack)
        std::fprintf(stderr, "%s\n", qPrintable(text));
    delete std::exchange(keptBack, nullptr);
}

} // namespace tilescope
