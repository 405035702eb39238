#include "ui/kit/workspace.h"

#include "ui/kit/number_text.h"
#include "ui/kit/view_history.h"

#include <QFileInfo>

#include <algorithm>
#include <set>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kTickMs = 250;
// Intervals between checks of a file: one that changes, one that does not, and one that cannot be read.
constexpr auto kSoon = std::chrono::milliseconds(500);
constexpr auto kNowAndThen = std::chrono::seconds(2);
constexpr auto kSeldom = std::chrono::seconds(30);
constexpr int kRests = 4; // times the duration of the check

bool isBeingWritten(const query::FileSnapshot& snapshot)
{
    return std::any_of(snapshot.runs.begin(), snapshot.runs.end(),
                       [](const query::RunSummary& run) { return run.result.status == RunStatus::Running; });
}

// What was imported of a recording that its program still writes has no status of its own yet.
std::shared_ptr<const query::FileSnapshot> asRunning(query::FileSnapshot snapshot)
{
    for (query::RunSummary& run : snapshot.runs)
        run.result.status = RunStatus::Running;
    return std::make_shared<const query::FileSnapshot>(std::move(snapshot));
}

// Whether pages show the same data for both, apart from the growth of a running run.
bool looksAlike(const query::RunSummary& a, const query::RunSummary& b)
{
    return a.uid == b.uid && a.result.status == b.result.status && a.note == b.note && a.tag == b.tag;
}

// The first run whose pages have something to show: one that was traced, if there is one.
RunId firstToShow(const std::vector<query::RunSummary>& runs)
{
    const auto traced = std::find_if(runs.begin(), runs.end(), [](const query::RunSummary& run) {
        const std::string_view trace = run.param("trace");
        return run.result.status == RunStatus::Ok && run.step && trace != "off" &&
               run.param("trace_steps") != "0";
    });
    return (traced == runs.end() ? runs.front() : *traced).run;
}

} // namespace

QString spanText(const query::TimeSpan& span)
{
    return QStringLiteral("%1 to %2")
        .arg(timeText(double(span.from.count())), timeText(double(span.to.count())));
}

QString OpenFile::name() const
{
    return QString::fromStdString(file->shown().filename().string());
}

QString SelectedRun::source() const
{
    // lm-small2, but the whole name of a trace: x.json.gz
    const std::filesystem::path& shown = file->shown();
    return QString::fromStdString(
               (shown.extension() == ".tscope" ? shown.stem() : shown.filename()).string()) +
           QStringLiteral(" #%1").arg(run->run.value);
}

QString SelectedRun::processWords() const
{
    return QString::fromStdString(query::processWords(run->processes, process));
}

QString SelectedRun::sumWords() const
{
    return QString::fromStdString(query::sumWords(run->processes, process));
}

QString processWords(const std::vector<SelectedRun>& runs)
{
    if (runs.empty())
        return {};
    const QString first = runs[0].processWords();
    const QString second = runs.size() > 1 ? runs[1].processWords() : first;
    if (first == second)
        return first;
    QStringList words;
    for (std::size_t i = 0; i < 2; ++i)
        if (const QString each = runs[i].processWords(); !each.isEmpty())
            words << runs[i].letter + QLatin1Char(' ') + each;
    return words.join(QStringLiteral(", "));
}

QString joinedWords(const QString& first, const QString& second)
{
    return first.isEmpty() || second.isEmpty() ? first + second : first + QStringLiteral(", ") + second;
}

Workspace::Workspace(QObject* parent) : QObject(parent), history_(new ViewHistory(this))
{
    connect(&timer_, &QTimer::timeout, this, &Workspace::watch);
    timer_.start(kTickMs);
}

Workspace::~Workspace() = default;

OpenFile* Workspace::entry(int file)
{
    const auto found =
        std::find_if(files_.begin(), files_.end(), [file](const OpenFile& f) { return f.id == file; });
    return found == files_.end() ? nullptr : &*found;
}

const OpenFile* Workspace::find(int file) const
{
    return const_cast<Workspace*>(this)->entry(file);
}

void Workspace::open(const QString& path)
{
    add(QFileInfo(path).absoluteFilePath().toStdString());
}

void Workspace::openAndShowLast(const QString& path)
{
    openAndShow(QStringList{path});
    wantsLast_ = true;
}

void Workspace::openAndShow(const QStringList& paths)
{
    wanted_.clear();
    wantsLast_ = false;
    for (const QString& path : paths) {
        wanted_.push_back(add(QFileInfo(path).absoluteFilePath().toStdString()));
        untold_.insert(wanted_.back());
    }
}

void Workspace::openAndShow(const std::shared_ptr<const exchange::CachedImport>& import)
{
    wanted_ = {add(import->file, import)};
    wantsLast_ = false;
    untold_.insert(wanted_.back());
}

int Workspace::add(const std::filesystem::path& path,
                   const std::shared_ptr<const exchange::CachedImport>& import)
{
    for (const OpenFile& file : files_) {
        if (file.file->path() == path) {
            refresh(file.id);
            return file.id;
        }
    }
    OpenFile file;
    file.id = nextFile_++;
    file.file = std::make_shared<query::SharedFile>(path, import ? import->shown : std::filesystem::path());
    file.import = import;
    files_.push_back(std::move(file));
    const int id = files_.back().id;
    watches_[id].job = std::make_unique<JobTracker>(this);
    look(files_.back());
    emit filesChanged();
    return id;
}

void Workspace::refresh(int file)
{
    if (const OpenFile* found = find(file))
        look(*found);
}

void Workspace::watch()
{
    const auto now = Clock::now();
    for (const OpenFile& file : files_)
        if (const Watch& watch = watches_[file.id]; !watch.isLooking && now >= watch.due)
            look(file);
}

// A disk may be slow and the file large: it is read in the background.
void Workspace::look(const OpenFile& file)
{
    Watch& watch = watches_[file.id];
    // One check at a time, so that each finding is reported once.
    watch.isWantedAgain = watch.isLooking;
    if (watch.isLooking)
        return;
    watch.isLooking = true;
    watch.job->start(
        [shared = file.file, isGrowing = file.import && file.import->isGrowing](const query::Cancelled&) {
            const auto start = Clock::now();
            Seen seen;
            seen.snapshot = shared->look();
            if (seen.snapshot && isGrowing)
                seen.snapshot = asRunning(*seen.snapshot);
            if (seen.snapshot)
                seen.groups = std::make_shared<const RunGroups>(seen.snapshot);
            seen.took = Clock::now() - start;
            return seen;
        },
        [this, id = file.id](Seen seen) { looked(id, std::move(seen)); },
        [this, id = file.id](const QString& sentence) { failed(id, sentence); });
}

void Workspace::looked(int file, Seen seen)
{
    Watch& watch = watches_[file];
    watch.isLooking = false;
    // Soon again if it is being written, but bounded in cost.
    const Snapshot& latest = seen.snapshot ? seen.snapshot : entry(file)->snapshot;
    const bool isWritten = seen.snapshot || (latest && isBeingWritten(*latest));
    watch.pace = std::max<Clock::duration>(isWritten ? kSoon : kNowAndThen, kRests * seen.took);
    watch.due = Clock::now() + watch.pace;
    untold_.erase(file);
    if (seen.snapshot)
        loaded(file, std::move(seen));
    else
        setProblem(file, {});
    showWanted();
    lookAgain(file);
}

void Workspace::failed(int file, const QString& sentence)
{
    Watch& watch = watches_[file];
    watch.isLooking = false;
    watch.pace = std::clamp<Clock::duration>(2 * watch.pace, kNowAndThen, kSeldom);
    watch.due = Clock::now() + watch.pace;
    setProblem(file, sentence);
    if (untold_.erase(file) > 0)
        emit openFailed(file);
    showWanted();
    lookAgain(file);
}

void Workspace::setProblem(int file, const QString& sentence)
{
    OpenFile& open = *entry(file);
    if (open.problem == sentence)
        return;
    open.problem = sentence;
    emit filesChanged();
}

// Requested during the check, and the file is still open.
void Workspace::lookAgain(int file)
{
    if (const OpenFile* open = find(file); open != nullptr && watches_[file].isWantedAgain)
        look(*open);
}

void Workspace::loaded(int file, Seen seen)
{
    OpenFile& open = *entry(file);
    const Snapshot before = std::exchange(open.snapshot, std::move(seen.snapshot));
    open.groups = std::move(seen.groups);
    open.problem.clear();
    emit filesChanged();
    if (chooseFirst(file, before.get()) || followSweeps(file, before.get()))
        return;
    // The selection stays, and pages keep what they show if it has not changed.
    bool changed = false;
    bool grew = false;
    for (const RunKey& key : selection_) {
        if (key.file != file)
            continue;
        const query::RunSummary* was = before ? before->find(key.run) : nullptr;
        const query::RunSummary* is = open.snapshot->find(key.run);
        const bool same = was != nullptr && is != nullptr && looksAlike(*was, *is);
        changed = changed || !same;
        grew = grew || (same && is->result.status == RunStatus::Running);
    }
    if (changed)
        emit selectionChanged();
    else if (grew)
        emit runsGrew();
}

// A file in which the first run appears shows it, unless something else is chosen.
bool Workspace::chooseFirst(int file, const query::FileSnapshot* before)
{
    const std::vector<query::RunSummary>& runs = find(file)->snapshot->runs;
    const bool isFirst = before == nullptr || before->runs.empty();
    if (!isFirst || !selection_.empty() || runs.empty() || !wanted_.empty())
        return false;
    show({{file, firstToShow(runs)}});
    return true;
}

// Adds the new points of sweeps that are selected whole. Runs of a sweep share their name; what was recorded or
// imported has no spec.
bool Workspace::followSweeps(int file, const query::FileSnapshot* before)
{
    if (before == nullptr)
        return false;
    std::vector<RunKey> grown = selection_;
    for (const query::RunSummary& run : find(file)->snapshot->runs) {
        if (before->find(run.run) != nullptr || run.specHash.empty())
            continue;
        const auto isPoint = [&](const query::RunSummary& other) { return other.name == run.name; };
        const auto isSelected = [&](const query::RunSummary& other) {
            return std::ranges::find(selection_, RunKey{file, other.run}) != selection_.end();
        };
        const bool isWhole =
            std::ranges::count_if(before->runs, isPoint) > 1 &&
            std::ranges::all_of(before->runs, [&](const query::RunSummary& other) {
                return !isPoint(other) || (isSelected(other) && other.specHash != run.specHash);
            });
        if (isWhole)
            grown.push_back({file, run.run});
    }
    if (grown == selection_)
        return false;
    show(std::move(grown));
    return true;
}

// Of several files opened at once, the first one that can be read.
void Workspace::showWanted()
{
    while (!wanted_.empty()) {
        const int file = wanted_.front();
        const OpenFile* open = find(file);
        if (open != nullptr && open->problem.isEmpty() && !open->snapshot)
            return; // it is being read
        wanted_.erase(wanted_.begin());
        if (open == nullptr || !open->problem.isEmpty() || open->snapshot->runs.empty())
            continue;
        wanted_.clear();
        const bool isShown = std::any_of(selection_.begin(), selection_.end(),
                                         [file](const RunKey& key) { return key.file == file; });
        const std::vector<query::RunSummary>& runs = open->snapshot->runs;
        if (wantsLast_)
            show({{file, runs.back().run}});
        else if (!isShown)
            show({{file, firstToShow(runs)}});
    }
}

void Workspace::close(int file)
{
    watches_.erase(file);
    std::erase(wanted_, file);
    untold_.erase(file);
    std::erase_if(files_, [file](const OpenFile& f) { return f.id == file; });
    const auto gone = std::erase_if(selection_, [file](const RunKey& key) { return key.file == file; });
    emit filesChanged();
    if (gone > 0)
        emit selectionChanged();
}

void Workspace::setQueue(std::function<bool(const QString& file, const ExperimentSpec& spec)> isQueued)
{
    isQueued_ = std::move(isQueued);
    emit queueChanged();
}

bool Workspace::isQueued(const QString& file, const ExperimentSpec& spec) const
{
    return isQueued_ && isQueued_(file, spec);
}

void Workspace::setKernel(const QString& name)
{
    if (kernel_ == name)
        return;
    kernel_ = name;
    emit kernelChanged();
}

void Workspace::setTimeFilter(TimeFilter filter)
{
    if (filter == timeFilter_)
        return;
    history_->add({.name = tr("time filter"),
                   .undo = [this, before = timeFilter_] { setTimeFilter(before); },
                   .redo = [this, filter] { setTimeFilter(filter); }});
    timeFilter_ = std::move(filter);
    emit timeFilterChanged();
}

void Workspace::setProcess(const query::ProcessQuery& process)
{
    if (process == process_)
        return;
    history_->add({.name = tr("choice of ranks"),
                   .undo = [this, before = process_] { setProcess(before); },
                   .redo = [this, process] { setProcess(process); }});
    process_ = process;
    emit processChanged();
}

void Workspace::setAllSteps(bool all)
{
    if (all == allSteps_)
        return;
    history_->add({.name = tr("choice of steps"),
                   .undo = [this, all] { setAllSteps(!all); },
                   .redo = [this, all] { setAllSteps(all); }});
    allSteps_ = all;
    emit processChanged();
}

void Workspace::select(std::vector<RunKey> runs)
{
    std::vector<RunKey> before = selection_;
    show(std::move(runs));
    if (selection_ == before)
        return;
    history_->add({.name = tr("choice of runs"),
                   .undo = [this, before] { show(before); },
                   .redo = [this, now = selection_] { show(now); }});
}

void Workspace::show(std::vector<RunKey> runs)
{
    std::vector<RunKey> once;
    std::set<RunKey> seen;
    for (const RunKey& run : runs)
        if (seen.insert(run).second)
            once.push_back(run);
    if (once == selection_)
        return;
    selection_ = std::move(once);
    emit selectionChanged();
}

std::vector<SelectedRun> Workspace::selectedRuns() const
{
    std::vector<SelectedRun> selected;
    for (const RunKey& key : selection_) {
        const OpenFile* file = find(key.file);
        if (file == nullptr || !file->snapshot)
            continue;
        if (const query::RunSummary* run = file->snapshot->find(key.run))
            selected.push_back({key, file->file, file->snapshot, run, {}, {}});
    }
    // Among several, a run is named by its differences from the others; alone, by those from the runs of its
    // sweep.
    RunTitles titles;
    if (selected.size() > 1)
        for (const SelectedRun& run : selected)
            titles.add(*run.run);
    const bool isAlone = selected.size() == 1;
    for (SelectedRun& run : selected) {
        const RunGroups& groups = *find(run.key.file)->groups;
        const auto index = std::size_t(run.run - run.snapshot->runs.data());
        run.title = (isAlone ? groups.groupOf(index).titles : titles).of(*run.run, true);
        const auto filtered = std::ranges::find(timeFilter_, run.key, &TimeFilter::value_type::first);
        if (filtered != timeFilter_.end())
            run.span = filtered->second;
        if (std::ranges::find(run.run->processes, process_, &query::ProcessChoice::query) !=
            run.run->processes.end())
            run.process = process_;
        run.process.allSteps = allSteps_;
    }
    if (selected.size() > 1)
        for (std::size_t i = 0; i < selected.size() && i < 26; ++i)
            selected[i].letter = QChar(char16_t(u'A' + i));
    return selected;
}

} // namespace tilescope::ui
