#include "ui/pages/screenshots.h"

#include "core/base/error.h"
#include "ui/jobs/job_tracker.h"
#include "ui/pages/main_window.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QDir>
#include <QPixmap>

namespace tilescope::ui {

void waitUntilSettled()
{
    // A job's delivery may start another job: quiet is when nothing ran and nothing was posted twice in a
    // row.
    for (int quiet = 0; quiet < 2;) {
        const bool busy = backgroundPool().activeThreadCount() > 0;
        backgroundPool().waitForDone();
        QApplication::sendPostedEvents();
        QApplication::processEvents();
        quiet = busy ? 0 : quiet + 1;
    }
}

void writeScreenshots(MainWindow& window, const QString& folder)
{
    if (!QDir().mkpath(folder))
        throw Error{.what = "cannot make the folder", .where = folder.toStdString()};
    const ThemeChoice before = Theme::instance().choice();
    for (const auto& [choice, suffix] :
         {std::pair(ThemeChoice::Light, "light"), std::pair(ThemeChoice::Dark, "dark")}) {
        Theme::instance().apply(choice);
        for (const QString& name : window.pageNames()) {
            window.showPage(name);
            waitUntilSettled();
            const QString file = QStringLiteral("%1/%2_%3.png").arg(folder, name, QLatin1String(suffix));
            if (!window.grab().save(file))
                throw Error{.what = "cannot write the picture",
                            .where = file.toStdString(),
                            .kind = ErrorKind::Failure};
        }
    }
    Theme::instance().apply(before);
}

} // namespace tilescope::ui
