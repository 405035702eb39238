#include "ui/window/recording_follower.h"

#include "core/query/file_session.h"
#include "ui/kit/count_text.h"
#include "ui/kit/message_strip.h"
#include "ui/kit/workspace.h"

#include <QDir>
#include <QTemporaryDir>
#include <QTime>

#include <algorithm>
#include <array>

namespace tilescope::ui {

namespace {

constexpr auto kLook = std::chrono::milliseconds(500); // between looks at sizes
constexpr auto kRest = std::chrono::seconds(2);        // at least, after an import
constexpr int kRests = 4;                              // times the duration of the import

QString pathText(const std::filesystem::path& path)
{
    return QString::fromStdString(path.string());
}

// A temporary folder that lives as long as something shows its file.
std::shared_ptr<const exchange::CachedImport> makeImport(const exchange::GrowingRecording& recording)
{
    auto folder =
        std::make_shared<QTemporaryDir>(QDir::tempPath() + QStringLiteral("/tilescope-recording-XXXXXX"));
    auto import = std::make_shared<exchange::CachedImport>();
    import->file = folder->filePath(QStringLiteral("recording.tscope")).toStdString();
    import->shown = recording.output;
    import->isNew = true;
    import->isGrowing = true;
    import->use = std::move(folder);
    return import;
}

QString contentsOf(const std::filesystem::path& file, RunId run)
{
    const query::FileSession session(file);
    const store::EventCounts counts = session.reader().counts(run);
    const auto processes = std::ssize(session.reader().topology(run).processes);
    QStringList words;
    if (counts.deviceEvents > 0)
        words << counted(counts.deviceEvents, "GPU activity", "GPU activities");
    words << counted(counts.ranges, "range");
    if (counts.ops > 0)
        words << counted(counts.ops, "op");
    return RecordingFollower::tr("%1 of %2")
        .arg(words.join(QStringLiteral(", ")),
             counted(std::max<std::ptrdiff_t>(1, processes), "process", "processes"));
}

} // namespace

RecordingFollower::RecordingFollower(Workspace& workspace, exchange::GrowingRecording recording,
                                     MessageStrip& strip)
    : QObject(&strip), workspace_(workspace), recording_(std::move(recording)), strip_(strip),
      import_(makeImport(recording_))
{
    strip_.tell(MessageStrip::Kind::Information,
                tr("Recording %1: there are no events yet.").arg(pathText(recording_.output.filename())));
    strip_.addDismiss();
    timer_.setSingleShot(true);
    connect(&timer_, &QTimer::timeout, this, &RecordingFollower::look);
    look();
}

RecordingFollower::~RecordingFollower() = default;

void RecordingFollower::look()
{
    looking_.start(
        [recording = recording_, file = import_->file,
         before = bytes_](const std::function<bool()>& cancelled) {
            const auto start = Clock::now();
            Look look{.bytes = recording.bytes()};
            if (look.bytes && *look.bytes != before)
                if (const auto result =
                        recording.importInto(file, [&cancelled](double) { return !cancelled(); })) {
                    look.isNew = true;
                    look.contents = contentsOf(file, result->run);
                }
            look.cost = Clock::now() - start;
            return look;
        },
        [this](const Look& look) { looked(look); },
        [this](const QString& sentence) {
            // The folder may have vanished meanwhile, or hold nothing that can be stored so far.
            strip_.tell(MessageStrip::Kind::Information,
                        tr("Recording %1: %2.").arg(pathText(recording_.output.filename()), sentence));
            strip_.addDismiss();
            timer_.start(kRest);
        });
}

void RecordingFollower::looked(const Look& look)
{
    if (!look.bytes)
        return end();
    if (!look.isNew) {
        timer_.start(kLook);
        return;
    }
    bytes_ = *look.bytes;
    if (!isOpened_) {
        isOpened_ = true;
        workspace_.openAndShow(import_);
        emit opened(pathText(import_->file));
    } else {
        workspace_.refresh(openFile());
    }
    strip_.tell(MessageStrip::Kind::Information,
                tr("Recording %1: %2 so far, as of %3.")
                    .arg(pathText(recording_.output.filename()), look.contents,
                         QTime::currentTime().toString(QStringLiteral("HH:mm:ss"))));
    strip_.addDismiss();
    timer_.start(std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max<Clock::duration>(kRest, kRests * look.cost)));
}

int RecordingFollower::openFile() const
{
    for (const OpenFile& file : workspace_.files())
        if (file.file->path() == import_->file)
            return file.id;
    return 0;
}

// The finished file takes the place of the import.
void RecordingFollower::end()
{
    std::error_code error;
    const QString name = pathText(recording_.output.filename());
    if (!std::filesystem::exists(recording_.output, error)) {
        strip_.conclude(MessageStrip::Kind::Information, tr("No recording was written to %1.").arg(name));
        return;
    }
    const int file = openFile();
    const auto isShown =
        std::ranges::any_of(workspace_.selection(), [file](const RunKey& key) { return key.file == file; });
    emit opened({});
    // One that ended before the first look was not shown yet.
    if (isShown || !isOpened_ || workspace_.selection().empty())
        workspace_.openAndShowLast(pathText(recording_.output));
    else
        workspace_.open(pathText(recording_.output));
    if (file != 0)
        workspace_.close(file);
    strip_.conclude(MessageStrip::Kind::Information, tr("The recording of %1 has ended.").arg(name));
}

} // namespace tilescope::ui
