#include "ui/window/recent_files.h"

#include "core/query/file_session.h"
#include "ui/kit/count_text.h"
#include "ui/kit/program_title.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QSettings>
#include <QVariantMap>

#include <algorithm>
#include <set>
#include <string_view>

namespace tilescope::ui {

namespace {

constexpr int kMostRecent = 12;
constexpr int kSavedWidth = 480; // pixels
constexpr const char* kRecentKey = "recent";
constexpr const char* kHoldsKey = "recentHolds";
constexpr std::string_view kOfSweep = ": "; // between the names of a study and of its sweep

QString absolutePath(const QString& path)
{
    return QFileInfo(path).absoluteFilePath();
}

void forget(const QString& path)
{
    QSettings settings;
    QVariantMap holds = settings.value(QLatin1String(kHoldsKey)).toMap();
    if (holds.remove(path) > 0)
        settings.setValue(QLatin1String(kHoldsKey), holds);
    QFile::remove(RecentFiles::previewFile(path));
}

} // namespace

QStringList RecentFiles::read()
{
    return QSettings().value(QLatin1String(kRecentKey)).toStringList();
}

void RecentFiles::add(const QString& path)
{
    const QString absolute = absolutePath(path);
    QStringList files = read();
    if (!files.isEmpty() && files.front() == absolute)
        return;
    files.removeAll(absolute);
    files.prepend(absolute);
    while (files.size() > kMostRecent)
        forget(files.takeLast());
    QSettings().setValue(QLatin1String(kRecentKey), files);
}

void RecentFiles::insert(qsizetype position, const QString& path, const QString& holds)
{
    QStringList files = read();
    if (files.contains(path))
        return;
    files.insert(std::clamp<qsizetype>(position, 0, files.size()), path);
    while (files.size() > kMostRecent)
        forget(files.takeLast());
    QSettings().setValue(QLatin1String(kRecentKey), files);
    if (!holds.isEmpty())
        setHolds(path, holds);
}

void RecentFiles::remove(const QString& path)
{
    QStringList files = read();
    if (files.removeAll(path) > 0)
        QSettings().setValue(QLatin1String(kRecentKey), files);
    forget(path);
}

QString RecentFiles::holds(const QString& path)
{
    return QSettings().value(QLatin1String(kHoldsKey)).toMap().value(absolutePath(path)).toString();
}

void RecentFiles::setHolds(const QString& path, const QString& words)
{
    const QString absolute = absolutePath(path);
    if (!read().contains(absolute))
        return;
    QSettings settings;
    QVariantMap holds = settings.value(QLatin1String(kHoldsKey)).toMap();
    if (holds.value(absolute).toString() == words)
        return;
    holds.insert(absolute, words);
    settings.setValue(QLatin1String(kHoldsKey), holds);
}

QString RecentFiles::previewFile(const QString& path)
{
    const QByteArray name =
        QCryptographicHash::hash(absolutePath(path).toUtf8(), QCryptographicHash::Sha1).toHex();
    return QFileInfo(QSettings().fileName()).dir().filePath(QStringLiteral("previews/%1.png").arg(name));
}

void RecentFiles::savePreview(const QString& path, const QImage& picture)
{
    if (!read().contains(absolutePath(path)) || picture.isNull())
        return;
    QSaveFile file(previewFile(path)); // a reader finds the whole picture or none
    QDir().mkpath(QFileInfo(file.fileName()).path());
    if (file.open(QIODevice::WriteOnly) &&
        picture.scaledToWidth(kSavedWidth, Qt::SmoothTransformation).save(&file, "PNG"))
        file.commit();
}

QImage RecentFiles::loadPreview(const QString& previewFile)
{
    return QImage(previewFile);
}

QString holdsText(const query::FileSnapshot& snapshot)
{
    std::set<std::string_view> studies;
    for (const query::RunSummary& run : snapshot.runs)
        if (const std::size_t end = run.name.find(kOfSweep); end != std::string::npos)
            studies.insert(std::string_view(run.name).substr(0, end));
    QStringList words{counted(std::ssize(snapshot.runs), "run")};
    if (!studies.empty())
        words << counted(std::ssize(studies), "study", "studies");
    if (!snapshot.runs.empty() && !snapshot.runs.back().name.empty()) {
        const query::RunSummary& last = snapshot.runs.back();
        words << QObject::tr("last: %1")
                     .arg(QString::fromStdString(last.traits().isImported ? programTitle(last.name)
                                                                          : last.name));
    }
    return words.join(QStringLiteral(", "));
}

} // namespace tilescope::ui
