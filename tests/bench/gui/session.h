#pragma once

#include "probe.h"

#include <QString>

#include <filesystem>

namespace tilescope::bench {

/// tests/bench/gui/run describes the measurements. GUI thread;
/// \throws Error

/// Opens a recording on the timeline page, navigates and searches it, and visits every page.
/// \param pictures  folder for five frames and what they show, for a check against SQL; empty for none
QJsonObject measureTimeline(WatchedApplication& application, const QString& file, int frames,
                            const std::filesystem::path& pictures);
/// Opens a recording with Python stacks on the timeline page, unfolds them and navigates.
QJsonObject measureStacks(WatchedApplication& application, const QString& file, int frames);
/// Opens a recording on the flame page, and selects and zooms boxes by keys.
QJsonObject measureFlame(WatchedApplication& application, const QString& file, int frames);
/// Opens a recording of several ranks on the ranks page and scrolls its collectives.
QJsonObject measureRanks(WatchedApplication& application, const QString& file);
/// Opens a recording of allocations on the memory page and navigates it.
QJsonObject measureMemory(WatchedApplication& application, const QString& file, int frames);
/// Scrolls, filters, sorts and clicks in the run list of a file of many runs.
QJsonObject measureRunList(WatchedApplication& application, const QString& file, int rounds);
/// Follows a run that another process writes at `rate` events a second, and navigates it meanwhile.
QJsonObject measureLive(WatchedApplication& application, const QString& file, int rate, int seconds);

} // namespace tilescope::bench
