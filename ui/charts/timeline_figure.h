#pragma once

#include <QString>
#include <QStringList>

namespace tilescope::ui {

/// Timelines of runs, one above the other, as a figure: what the Timeline page shows when they are opened
/// there.
struct TimelineRecipe {
    QString title;
    QStringList runs;          ///< uids, from the top
    QString alignAt;           ///< path of a range within the first traced step; empty: the step itself
    bool equalLengths = false; ///< what they are aligned at is drawn equally long in all
    double memoryHeight = 1;   ///< of the lane of memory, in what it has by nature
    int width = 960;           ///< logical pixels; 96 of them are an inch on paper

    static bool isOne(const QByteArray& json);
    /// \throws Error  it is none, or a key does not fit; names the key
    static TimelineRecipe fromJson(const QByteArray& json, const QString& origin);
};

/// Draws it as `base`.pdf, .svg and .png, with `base`.caption.txt beside them. GUI thread.
/// \param machine  what the runs were recorded on, for the caption
/// \throws Error   a run is in none of the recordings or was not traced, a file cannot be read or written
void writeTimelineFigure(const TimelineRecipe& recipe, const QStringList& recordings, const QString& machine,
                         const QString& base);

} // namespace tilescope::ui
