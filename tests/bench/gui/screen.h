#pragma once

#include "probe.h"

#include "ui/timeline/timeline_page.h"
#include "ui/window/main_window.h"
#include "ui/window/screenshots.h"

namespace tilescope::bench {

/// The window on a screen of 1920 x 1080.
class Screen {
public:
    explicit Screen(const char* page)
    {
        window.move(0, 0);
        window.resize(1920, 1080);
        window.showPage(QString::fromLatin1(page));
        window.show();
        ui::waitUntilSettled();
        runUntil("the window is shown", [this] { return window.isVisible() && window.width() == 1920; });
    }
    ~Screen();

    ui::TimelineView& timeline()
    {
        return dynamic_cast<ui::TimelinePage&>(*window.page(QStringLiteral("timeline"))).view();
    }

    ui::MainWindow window;
};

/// Shows every page for the first time and writes when it is complete and the longest event of each.
void measurePages(WatchedApplication& application, Screen& screen, QJsonObject& figures);
/// Does what people do most often, an action at a time, and writes the longest event of each.
void measureActions(WatchedApplication& application, Screen& screen, QJsonObject& figures);

} // namespace tilescope::bench
