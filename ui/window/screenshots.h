#pragma once

#include <QString>

namespace tilescope::ui {

class MainWindow;

/// Runs the event loop until every background job has delivered.
void waitUntilSettled();

/// Writes a PNG of every page of `window` in light and in dark into `folder`: PAGE_light.png, PAGE_dark.png; further ones of
/// Play, of pages limited by the time filter and of the dialogs: dialog_record_light.png.
/// \throws Error  a picture cannot be written
void writeScreenshots(MainWindow& window, const QString& folder);

/// Writes a PNG of the page that is shown, in the window's theme: PAGE.png, as small as it can be.
/// \throws Error  the picture cannot be written
void writeScreenshotOfPage(MainWindow& window, const QString& folder);

/// Runs the experiment that is in the editor, writes experiment_running_light.png and experiment_running_dark.png while it
/// runs, and ends it. Its recording goes into the folder.
/// \throws Error  a picture cannot be written, or the experiment does not begin to run
void writeScreenshotsOfRun(MainWindow& window, const QString& folder);

} // namespace tilescope::ui
