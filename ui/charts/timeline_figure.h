#pragma once

#include <QString>
#include <QStringList>

namespace tilescope::ui {

/// Timelines of runs, one above the other, as a figure: like the Timeline page with these runs.
struct TimelineRecipe {
    QString title;
    QStringList runs;          ///< uids, from the top
    QString alignAt;           ///< path of a range within the first traced step; empty: the step itself
    bool equalLengths = false; ///< draws the aligned parts at equal length in all runs
    double memoryHeight = 1;   ///< height of the memory lane, relative to the default
    int width = 960;           ///< logical pixels; 96 of them are an inch on paper

    static bool isOne(const QByteArray& json);
    /// \throws Error  it is none, or a key does not fit; names the key
    static TimelineRecipe fromJson(const QByteArray& json, const QString& origin);
};

/// Writes `base`.pdf, .svg and .png, and `base`.caption.txt. GUI thread.
/// \param machine  the machine of the runs, for the caption
/// \throws Error   a run is in none of the recordings or was not traced; a file cannot be read or written
void writeTimelineFigure(const TimelineRecipe& recipe, const QStringList& recordings, const QString& machine,
                         const QString& base);

} // namespace tilescope::ui
