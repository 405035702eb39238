#pragma once

#include <QImage>
#include <QString>
#include <QStringList>

namespace tilescope::query {
struct FileSnapshot;
}

namespace tilescope::ui {

/// The recent files, saved in the settings; the newest first. For each of them the settings also keep what it held
/// when it was open last, and a small picture of the page that showed it. GUI thread, except loadPreview().
class RecentFiles {
public:
    static QStringList read();
    /// Puts it first.
    static void add(const QString& path);
    /// Puts it at a position, if it is not in the list; with what it holds. Its picture comes with the next opening.
    static void insert(qsizetype position, const QString& path, const QString& holds);
    /// Forgets the file, what it holds and its picture.
    static void remove(const QString& path);
    /// `121 runs, 16 studies, last: flash: lengths`; empty if it is not known.
    static QString holds(const QString& path);
    /// Does nothing for a file that is not in the list.
    static void setHolds(const QString& path, const QString& words);

    /// The path of a file's picture, which need not exist.
    static QString previewFile(const QString& path);
    /// Writes a small picture, some milliseconds; none if the folder cannot be written. What shows the list next finds it.
    static void savePreview(const QString& path, const QImage& picture);
    /// Null if there is none. Any thread.
    static QImage loadPreview(const QString& previewFile);
};

/// The contents of a file: runs, studies, and the name of the last run, which is that of its program or sweep.
QString holdsText(const query::FileSnapshot& snapshot);

} // namespace tilescope::ui
