#pragma once

#include <QString>

namespace tilescope::ui {

class MainWindow;

/// Runs the event loop until every background job has delivered.
void waitUntilSettled();

/// Writes a PNG of every page of `window` in light and in dark into `folder`: PAGE_light.png, PAGE_dark.png.
/// \throws Error  a picture cannot be written
void writeScreenshots(MainWindow& window, const QString& folder);

} // namespace tilescope::ui
