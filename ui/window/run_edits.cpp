#include "ui/window/run_edits.h"

#include "core/store/maintenance/maintenance.h"
#include "ui/kit/count_text.h"

#include <QTemporaryDir>

#include <algorithm>

namespace tilescope::ui {

namespace {

/// Copies `runs` of `file` to `copy`: the whole file, less the other runs.
void copyRuns(const std::filesystem::path& file, const std::filesystem::path& copy,
              const std::vector<RunId>& others)
{
    store::snapshot(file, copy);
    if (!others.empty())
        store::deleteRuns(copy, others);
}

} // namespace

RunEdits::RunEdits(Workspace& workspace, QObject* parent)
    : QObject(parent), workspace_(workspace), writing_(std::make_shared<Mutex>())
{
}

RunEdits::~RunEdits() = default;

void RunEdits::change(int file, std::function<void(const std::filesystem::path&)> work,
                      const QString& sentence, std::function<void()> then)
{
    const OpenFile* open = workspace_.find(file);
    if (open == nullptr)
        return;
    if (open->import) {
        emit failed(tr("%1 is a trace of another program; save it as a recording first (File > Save As).")
                        .arg(open->name()));
        return;
    }
    std::erase_if(jobs_, [](const std::unique_ptr<Job>& one) { return one->hasEnded; });
    jobs_.push_back(std::make_unique<Job>(this));
    Job* job = jobs_.back().get();
    job->tracker.start(
        [path = open->file->path(), work = std::move(work), writing = writing_](const auto&) {
            const MutexLock lock(*writing);
            work(path);
            return true;
        },
        [this, file, sentence, job, then = std::move(then)](bool) {
            job->hasEnded = true;
            if (then)
                then();
            workspace_.refresh(file);
            emit done(sentence);
        },
        [this, job](const QString& reason) {
            job->hasEnded = true;
            emit failed(reason);
        });
}

void RunEdits::setNote(RunKey run, const QString& note)
{
    change(
        run.file,
        [run, text = note.trimmed().toStdString()](const std::filesystem::path& file) {
            store::setNote(file, run.run, text);
        },
        note.trimmed().isEmpty() ? tr("The note of run %1 is removed.").arg(run.run.value)
                                 : tr("The note of run %1 is saved.").arg(run.run.value));
}

void RunEdits::setTag(RunKey run, const QString& tag)
{
    change(
        run.file,
        [run, text = tag.trimmed().toStdString()](const std::filesystem::path& file) {
            store::setTag(file, run.run, text);
        },
        tag.trimmed().isEmpty() ? tr("The tag of run %1 is removed.").arg(run.run.value)
                                : tr("Run %1 is tagged %2.").arg(run.run.value).arg(tag.trimmed()));
}

void RunEdits::remove(int file, std::vector<RunId> runs)
{
    const OpenFile* open = workspace_.find(file);
    if (open == nullptr || !open->snapshot || runs.empty())
        return;
    std::vector<RunId> others;
    for (const query::RunSummary& run : open->snapshot->runs)
        if (std::find(runs.begin(), runs.end(), run.run) == runs.end())
            others.push_back(run.run);
    auto removed = std::make_shared<Removed>();
    removed->folder = std::make_shared<QTemporaryDir>();
    if (!removed->folder->isValid()) {
        emit failed(tr("No run was deleted: %1").arg(removed->folder->errorString()));
        return;
    }
    removed->copy = removed->folder->filePath(QStringLiteral("deleted.tscope")).toStdString();
    removed->file = open->file->path();
    removed->open = file;
    removed->what = tr("%1 of %2").arg(counted(std::ssize(runs), "run"), open->name());
    change(
        file,
        [removed, runs, others](const std::filesystem::path& path) {
            copyRuns(path, removed->copy, others);
            store::deleteRuns(path, runs);
        },
        tr("%1 deleted; Ctrl+Z restores.").arg(counted(std::ssize(runs), "run")),
        [this, removed] {
            removed_ = std::make_unique<Removed>(*removed);
            emit undoChanged();
        });
}

void RunEdits::undo()
{
    if (!removed_)
        return;
    change(
        removed_->open,
        [removed = *removed_](const std::filesystem::path& path) {
            const std::filesystem::path sources[] = {removed.copy};
            store::merge(sources, path);
        },
        tr("%1 restored.").arg(removed_->what),
        [this] {
            removed_.reset();
            emit undoChanged();
        });
}

QString RunEdits::undoText() const
{
    return removed_ ? tr("Undo deleting %1").arg(removed_->what) : QString();
}

} // namespace tilescope::ui
