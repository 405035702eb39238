#include "ui/window/run_edits.h"

#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"
#include "ui/kit/count_text.h"
#include "ui/kit/view_history.h"

#include <QTemporaryDir>

#include <algorithm>
#include <set>

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

std::set<std::string> uidsOf(const query::FileSnapshot& snapshot, const std::vector<RunId>& runs)
{
    std::set<std::string> uids;
    for (const RunId run : runs)
        if (const query::RunSummary* known = snapshot.find(run))
            uids.insert(known->uid);
    return uids;
}

} // namespace

/// Runs that were deleted.
struct RunEdits::Removed {
    std::shared_ptr<QTemporaryDir> folder = {}; ///< holds the copy
    std::filesystem::path copy = {};
    std::set<std::string> uids = {};
    std::vector<std::string> selected = {}; ///< runs of the file that were selected, some of them deleted
    std::vector<RunKey> left = {};          ///< what is selected without them
    int open = 0;                           ///< OpenFile::id
    QString what;                           ///< 2 runs of lm.tscope
};

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

void RunEdits::writeAll(const std::map<int, std::vector<Text>>& texts, Write write, const QString& sentence)
{
    for (const auto& [file, ofFile] : texts)
        change(
            file,
            [ofFile = ofFile, write](const std::filesystem::path& path) {
                for (const auto& [run, text] : ofFile)
                    write(path, run, text);
            },
            sentence);
}

void RunEdits::annotate(const std::vector<RunKey>& runs, const QString& text, const QString& name,
                        Write write, std::string query::RunSummary::*member, const QString& sentence)
{
    std::map<int, std::vector<Text>> before;
    std::map<int, std::vector<Text>> after;
    for (const RunKey& key : runs) {
        const OpenFile* file = workspace_.find(key.file);
        const query::RunSummary* run = file && file->snapshot ? file->snapshot->find(key.run) : nullptr;
        if (run == nullptr)
            continue;
        before[key.file].emplace_back(key.run, run->*member);
        after[key.file].emplace_back(key.run, text.trimmed().toStdString());
    }
    writeAll(after, write, sentence);
    workspace_.history().add({.name = name,
                              .undo = [this, before, write] { writeAll(before, write, tr("Restored.")); },
                              .redo = [this, after, write, sentence] { writeAll(after, write, sentence); }});
}

void RunEdits::setNote(const std::vector<RunKey>& runs, const QString& note)
{
    const QString of =
        runs.size() == 1 ? tr("run %1").arg(runs.front().run.value) : counted(std::ssize(runs), "run");
    annotate(runs, note, tr("note of %1").arg(of), &store::setNote, &query::RunSummary::note,
             note.trimmed().isEmpty() ? tr("The note of %1 is removed.").arg(of)
                                      : tr("The note of %1 is saved.").arg(of));
}

void RunEdits::setTag(const std::vector<RunKey>& runs, const QString& tag)
{
    const QString of =
        runs.size() == 1 ? tr("run %1").arg(runs.front().run.value) : counted(std::ssize(runs), "run");
    annotate(runs, tag, tr("tag of %1").arg(of), &store::setTag, &query::RunSummary::tag,
             tag.trimmed().isEmpty() ? tr("The tag of %1 is removed.").arg(of)
                                     : tr("Tagged %1 as %2.").arg(of, tag.trimmed()));
}

// The selection before and after the deletion.
void RunEdits::noteSelection(const Workspace& workspace, Removed& removed)
{
    const query::FileSnapshot& snapshot = *workspace.find(removed.open)->snapshot;
    const auto isGone = [&](const query::RunSummary& run) { return removed.uids.contains(run.uid); };
    bool isSeen = false;
    for (const RunKey& key : workspace.selection()) {
        const query::RunSummary* run = key.file == removed.open ? snapshot.find(key.run) : nullptr;
        if (run != nullptr)
            removed.selected.push_back(run->uid);
        if (run != nullptr && isGone(*run))
            isSeen = true;
        else
            removed.left.push_back(key);
    }
    if (!isSeen)
        removed.selected.clear();
    if (!removed.left.empty())
        return;
    // The run after the deleted ones, or else the run before them.
    const auto last = std::ranges::find_if(snapshot.runs.rbegin(), snapshot.runs.rend(), isGone);
    auto next = std::find_if_not(last.base(), snapshot.runs.end(), isGone);
    if (next == snapshot.runs.end()) {
        const auto previous = std::find_if_not(last, snapshot.runs.rend(), isGone);
        if (previous == snapshot.runs.rend())
            return;
        next = std::prev(previous.base());
    }
    removed.left.push_back({removed.open, next->run});
}

void RunEdits::remove(int file, const std::vector<RunId>& runs)
{
    const OpenFile* open = workspace_.find(file);
    if (open == nullptr || !open->snapshot || runs.empty())
        return;
    const std::set<RunId> gone(runs.begin(), runs.end());
    std::vector<RunId> others;
    for (const query::RunSummary& run : open->snapshot->runs)
        if (!gone.contains(run.run))
            others.push_back(run.run);
    auto removed = std::make_shared<Removed>();
    removed->folder = std::make_shared<QTemporaryDir>();
    if (!removed->folder->isValid()) {
        emit failed(tr("No run was deleted: %1").arg(removed->folder->errorString()));
        return;
    }
    removed->copy = removed->folder->filePath(QStringLiteral("deleted.tscope")).toStdString();
    removed->uids = uidsOf(*open->snapshot, runs);
    removed->open = file;
    noteSelection(workspace_, *removed);
    removed->what = tr("%1 of %2").arg(counted(std::ssize(runs), "run"), open->name());
    change(
        file,
        [removed, runs, others](const std::filesystem::path& path) {
            copyRuns(path, removed->copy, others);
            store::deleteRuns(path, runs);
        },
        tr("%1 deleted; Ctrl+Z restores.").arg(removed->what),
        [this, removed] {
            const QString name = tr("deleting %1").arg(removed->what);
            workspace_.history().add({.name = name,
                                      .undo = [this, removed] { restore(*removed); },
                                      .redo = [this, removed] { removeAgain(*removed); }});
            if (!removed->selected.empty())
                workspace_.show(removed->left);
            emit deleted(tr("%1 deleted.").arg(removed->what), name);
        });
}

// The file is read again after it was written: perhaps already, because it is watched, otherwise soon.
void RunEdits::selectRestored(const Removed& removed)
{
    if (removed.selected.empty())
        return;
    // Whether there is nothing more to wait for.
    const auto select = [this, file = removed.open, uids = removed.selected] {
        const OpenFile* open = workspace_.find(file);
        if (open == nullptr)
            return true;
        std::vector<RunKey> keys;
        for (const std::string& uid : uids)
            for (const query::RunSummary& run : open->snapshot->runs)
                if (run.uid == uid)
                    keys.push_back({file, run.run});
        if (keys.size() < uids.size())
            return false;
        workspace_.show(std::move(keys));
        return true;
    };
    if (select())
        return;
    auto* once = new QObject(this);
    connect(&workspace_, &Workspace::filesChanged, once, [once, select] {
        if (select())
            once->deleteLater();
    });
}

void RunEdits::restore(const Removed& removed)
{
    change(
        removed.open,
        [copy = removed.copy, folder = removed.folder](const std::filesystem::path& path) {
            const std::filesystem::path sources[] = {copy};
            store::merge(sources, path, store::RunNumbers::OfSources);
        },
        tr("%1 restored.").arg(removed.what), [this, removed] { selectRestored(removed); });
}

// By uid: another run may have taken the number of one that was deleted.
void RunEdits::removeAgain(const Removed& removed)
{
    change(
        removed.open,
        [uids = removed.uids](const std::filesystem::path& path) {
            std::vector<RunId> runs;
            store::RunReader(path).eachRun([&](const store::RunRecord& run) {
                if (uids.contains(run.uid))
                    runs.push_back(run.run);
                return true;
            });
            store::deleteRuns(path, runs);
        },
        tr("%1 deleted; Ctrl+Z restores.").arg(removed.what));
}

} // namespace tilescope::ui
