#include "ui/window/file_opener.h"

#include "core/exchange/export/recording_copy.h"
#include "core/exchange/import/import_cache.h"
#include "core/exchange/import/importer.h"
#include "core/exchange/import/recording/growing_recording.h"
#include "core/hosts/remote_file.h"
#include "ui/kit/file_dialog.h"
#include "ui/kit/layouts.h"
#include "ui/kit/message_strip.h"
#include "ui/kit/workspace.h"
#include "ui/window/recent_files.h"
#include "ui/window/recording_follower.h"
#include "ui/window/remote_fetch.h"
#include "ui/window/written_strip.h"

#include <QDir>
#include <QFileInfo>
#include <QPointer>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <atomic>

namespace tilescope::ui {

namespace {

constexpr int kRefreshMs = 100;
constexpr const char* kImportedFile = "importedFile"; // property of a strip: the recording's path

/// The messages from a running import to the window.
struct Share {
    std::atomic<double> done = -1; ///< negative: nothing is imported so far
};

/// The job of a strip; it ends when the strip is deleted.
struct StripJob : QObject {
    using QObject::QObject;
    JobTracker tracker{this};
};

QString text(const std::filesystem::path& path)
{
    return QString::fromStdString(path.string());
}

} // namespace

QString namesOf(const QStringList& paths)
{
    const QString first = QFileInfo(QDir::cleanPath(paths.front())).fileName();
    return paths.size() == 1
               ? first
               : MessageStrip::tr("%1 and %2 more").arg(first, QString::number(paths.size() - 1));
}

bool isThere(const QString& path)
{
    return QFileInfo::exists(path) || exchange::GrowingRecording::of(path.toStdString()) ||
           hosts::knownRemotePathOf(path.toStdString());
}

QString openFilters()
{
    QStringList all{QStringLiteral("*.tscope")};
    QStringList single{MessageStrip::tr("Recordings (*.tscope)")};
    for (const exchange::Importer* importer : exchange::importers()) {
        QStringList patterns;
        for (const std::string_view ending : exchange::endingsOf(*importer))
            patterns << QLatin1Char('*') + QString::fromUtf8(ending);
        if (patterns.isEmpty())
            continue;
        all << patterns;
        QString name = QString::fromUtf8(importer->format()).section(QStringLiteral(" ("), 0, 0);
        name.front() = name.front().toUpper();
        single << QStringLiteral("%1 (%2)").arg(name, patterns.join(QLatin1Char(' ')));
    }
    const QStringList specs{QStringLiteral("*.yaml"), QStringLiteral("*.yml")};
    single << MessageStrip::tr("Specs (%1)").arg(specs.join(QLatin1Char(' ')))
           << MessageStrip::tr("All files (*)");
    single.prepend(
        MessageStrip::tr("Recordings, traces and specs (%1)").arg((all + specs).join(QLatin1Char(' '))));
    return single.join(QStringLiteral(";;"));
}

/// The kinds of the user's files.
struct FileOpener::Opened {
    QStringList recordings;
    std::vector<exchange::GrowingRecording> growing;
    std::shared_ptr<const exchange::CachedImport> import; ///< null: no file is of another program
};

FileOpener::FileOpener(Workspace& workspace, QWidget* parent) : QWidget(parent), workspace_(workspace)
{
    newLayout<QVBoxLayout>(this, 0, 0);
    connect(&workspace_, &Workspace::filesChanged, this, &FileOpener::removeStrips);
}

FileOpener::~FileOpener() = default;

MessageStrip* FileOpener::newStrip()
{
    auto* strip = new MessageStrip(this);
    layout()->addWidget(strip);
    return strip;
}

void FileOpener::open(const QStringList& paths)
{
    MessageStrip* strip = newStrip();
    const auto share = std::make_shared<Share>();
    auto* job = new StripJob(strip);
    const QString words = tr("Importing %1").arg(namesOf(paths));
    auto* refresh = new QTimer(strip);
    connect(refresh, &QTimer::timeout, strip, [strip, share, words] {
        if (const double done = share->done; done >= 0)
            strip->setProgress(words, done);
    });
    refresh->start(kRefreshMs);
    strip->addButton(tr("Cancel"), [strip, job, refresh = QPointer<QTimer>(refresh)] {
        job->tracker.cancel();
        if (refresh) // which would show the strip again
            refresh->stop();
        strip->hide();
        strip->deleteLater();
    });
    job->tracker.start(
        [paths, share](const std::function<bool()>& cancelled) {
            Opened opened;
            std::vector<std::filesystem::path> foreign;
            for (const QString& path : paths) {
                const std::filesystem::path file = path.toStdString();
                if (auto growing = exchange::GrowingRecording::of(file))
                    opened.growing.push_back(std::move(*growing));
                else if (exchange::isForeign(file))
                    foreign.push_back(file);
                else
                    opened.recordings << path;
            }
            if (!foreign.empty())
                opened.import = exchange::ImportCache::ofUser().open(foreign, [&](double done) {
                    share->done = done;
                    return !cancelled();
                });
            return opened;
        },
        [this, strip, refresh](const Opened& opened) {
            delete refresh;
            if (!opened.recordings.isEmpty())
                workspace_.openAndShow(opened.recordings);
            for (const exchange::GrowingRecording& growing : opened.growing)
                follow(growing);
            if (opened.import)
                return show(*strip, opened.import);
            strip->deleteLater();
        },
        [strip, refresh, paths](const QString& sentence) {
            delete refresh;
            for (const QString& path : paths)
                if (QFileInfo::exists(path)) // not while its disk is away
                    RecentFiles::remove(QFileInfo(path).absoluteFilePath());
            strip->conclude(MessageStrip::Kind::Error, sentence + QLatin1Char('.'));
        });
}

void FileOpener::openOnHost(const QString& host, const QString& path)
{
    MessageStrip* strip = newStrip();
    const auto* fetch = new RemoteFetch(workspace_, host, path, *strip);
    connect(fetch, &RemoteFetch::traceArrived, this, [this](const QString& file) { open({file}); });
    connect(fetch, &RemoteFetch::opened, strip,
            [strip](const QString& file) { strip->setProperty(kImportedFile, file); });
}

void FileOpener::follow(const QStringList& recordings)
{
    finding_.start(
        [recordings](const std::function<bool()>&) {
            std::vector<exchange::GrowingRecording> found;
            for (const QString& recording : recordings)
                if (auto growing = exchange::GrowingRecording::of(recording.toStdString()))
                    found.push_back(std::move(*growing));
            return found;
        },
        [this](const std::vector<exchange::GrowingRecording>& found) {
            for (const exchange::GrowingRecording& growing : found)
                follow(growing);
        },
        [](const QString&) {}); // an unreadable folder has no recording to follow
}

void FileOpener::follow(const exchange::GrowingRecording& recording)
{
    MessageStrip* strip = newStrip();
    const auto* follower = new RecordingFollower(workspace_, recording, *strip);
    connect(follower, &RecordingFollower::opened, strip,
            [strip](const QString& file) { strip->setProperty(kImportedFile, file); });
}

void FileOpener::show(MessageStrip& strip, const std::shared_ptr<const exchange::CachedImport>& import)
{
    const QString path = text(import->file);
    for (MessageStrip* other : findChildren<MessageStrip*>())
        if (other->property(kImportedFile).toString() == path)
            delete other; // about the same file
    strip.setProperty(kImportedFile, path);
    workspace_.openAndShow(import);
    QString words = QString::fromStdString(import->sentence()) + QLatin1Char('.');
    if (import->fallback.empty())
        words += tr(" Save As keeps a copy.");
    else
        words += tr(" It is removed when Tilescope ends, because %1. Save As keeps a copy.")
                     .arg(QString::fromStdString(import->fallback));
    strip.tell(import->isCut ? MessageStrip::Kind::Warning : MessageStrip::Kind::Information, words);
    strip.addButton(tr("Save As…"), [this, path] {
        for (const OpenFile& file : workspace_.files())
            if (text(file.file->path()) == path)
                return saveAs(file.id);
    });
    strip.addDismiss();
}

// Removes strips about files that were closed.
void FileOpener::removeStrips()
{
    for (MessageStrip* strip : findChildren<MessageStrip*>()) {
        const QString path = strip->property(kImportedFile).toString();
        const auto isIt = [&path](const OpenFile& file) { return text(file.file->path()) == path; };
        if (!path.isEmpty() && std::ranges::none_of(workspace_.files(), isIt)) {
            strip->hide();
            strip->deleteLater();
        }
    }
}

void FileOpener::saveAs(int file)
{
    const OpenFile* open = workspace_.find(file);
    if (open == nullptr)
        return;
    const QString beside = text(open->file->shown());
    const QString proposed = open->import ? beside + QStringLiteral(".tscope") : beside;
    const QString copy = fileToSave(this, tr("Save As"), proposed, tr("Recordings (*.tscope)"));
    if (!copy.isEmpty())
        saveCopy(file, copy);
}

void FileOpener::saveCopy(int file, const QString& copy)
{
    const OpenFile* open = workspace_.find(file);
    if (open == nullptr)
        return;
    MessageStrip* strip = newStrip();
    auto* job = new StripJob(strip);
    const QString path = QFileInfo(copy).absoluteFilePath();
    job->tracker.start(
        [recording = open->file, import = open->import, path](const std::function<bool()>&) {
            exchange::copyRecording(recording->path(), path.toStdString(),
                                    import ? import->sources : std::vector<std::filesystem::path>());
            return true;
        },
        [strip, path](bool) {
            RecentFiles::add(path);
            strip->tell(MessageStrip::Kind::Information,
                        tr("Saved a copy as %1.").arg(QDir::toNativeSeparators(path)));
            strip->addButton(tr("Open folder"), [path] { openFolderOf(path); });
            strip->addDismiss();
        },
        [strip](const QString& sentence) {
            strip->conclude(MessageStrip::Kind::Error, sentence + QLatin1Char('.'));
        });
}

} // namespace tilescope::ui
