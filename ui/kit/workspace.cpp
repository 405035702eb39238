#include "ui/kit/workspace.h"

#include "core/model/attention_backend.h"
#include "ui/kit/number_text.h"

#include <QFileInfo>

#include <algorithm>
#include <set>
#include <utility>

namespace tilescope::ui {

namespace {

// 4096 is 4k, 1000 stays 1000.
QString shortCount(const QString& number)
{
    const auto value = number.toLongLong();
    return value >= 1024 && value % 1024 == 0 ? QString::number(value / 1024) + QLatin1Char('k') : number;
}

// Keys that distinguish runs of one file, beside the backend and the columns of the list, the most telling first: where a
// title is too long, its middle is omitted.
constexpr const char* kPrecision = "precision"; // the list has a column for it
constexpr const char* kBackend = "backend";
constexpr const char* kSeqLen = "seq_len";
struct Telling {
    const char* key;
    const char* letters; ///< stands for the key before a number in short titles; no two are equal
};
constexpr Telling kTelling[] = {{"parallel", ""}, {"gpus", "g"},    {"size", ""},         {"layers", "l"},
                                {"d_model", "m"}, {"heads", "h"},   {"kv_heads", "kv"},   {"d_head", "d"},
                                {"batch", "b"},   {"context", "c"}, {"mode", ""},         {"grad", ""},
                                {"compile", ""},  {"causal", ""},   {"tile_q", "tq"},     {"tile_k", "tk"},
                                {"seed", "s"},    {"threads", "t"}, {"checkpointing", ""}};

// batch 4, but train, graph and ddp without their keys; empty if the value means that something is off.
QString telling(const Telling& telling, std::string_view value, bool isShort)
{
    const std::string_view key = telling.key;
    if (value == "none" || value == "false" || value.empty())
        return {};
    if (value == "true")
        return QString::fromUtf8(key);
    const bool number = value.find_first_not_of("0123456789.") == std::string_view::npos;
    if (number && isShort)
        return QLatin1String(telling.letters) + shortCount(QString::fromUtf8(value));
    return number ? QString::fromUtf8(key).replace(QLatin1Char('_'), QLatin1Char(' ')) + QLatin1Char(' ') +
                        shortCount(QString::fromUtf8(value))
                  : QString::fromUtf8(value);
}

// Keys that follow from another key or have no effect are left out.
bool isImplied(std::string_view key, const query::RunSummary& run)
{
    if (key == "kv_heads")
        return run.param(key) == run.param("heads");
    const BackendTraits* backend = findBackend(run.param("backend"));
    return key.substr(0, 5) == "tile_" && !(backend && backend->hasTiles);
}

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

// Whether pages show the same for both, apart from the growth of a running one.
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

RunTitles::RunTitles(const query::FileSnapshot& runs)
{
    for (const query::RunSummary& run : runs.runs)
        add(run);
    findRedundant(runs);
}

// Leaves out one key after the other, the last first, while as many different titles remain.
void RunTitles::findRedundant(const query::FileSnapshot& runs)
{
    constexpr std::size_t kMostRuns = 2'000; // every key that varies takes a title a run
    if (runs.runs.size() > kMostRuns)
        return;
    const auto countOf = [](std::vector<std::size_t> titles) {
        std::sort(titles.begin(), titles.end());
        return std::unique(titles.begin(), titles.end()) - titles.begin();
    };
    for (auto& [workload, group] : groups_) {
        std::vector<const query::RunSummary*> members;
        for (const query::RunSummary& run : runs.runs)
            if (run.workload == workload)
                members.push_back(&run);
        std::vector<std::size_t> titles;
        for (const query::RunSummary* run : members)
            titles.push_back(qHash(titleOf(*run, true, Length::Short)));
        const auto all = countOf(titles);
        for (std::size_t i = std::size(kTelling); i-- > 0;) {
            const Telling& one = kTelling[i];
            if (!group.varying.contains(one.key))
                continue;
            group.redundant.insert(one.key);
            for (std::size_t run = 0; run < members.size(); ++run)
                titles[run] = qHash(titleOf(*members[run], true, Length::Short));
            if (countOf(titles) < all)
                group.redundant.erase(one.key);
        }
    }
}

void RunTitles::add(const query::RunSummary& run)
{
    Group& group = groups_[run.workload];
    if (group.first == nullptr)
        group.first = &run;
    for (const Telling& one : kTelling)
        if (run.param(one.key) != group.first->param(one.key))
            group.varying.insert(one.key);
    for (const char* key : {kPrecision, kBackend, kSeqLen})
        if (run.param(key) != group.first->param(key))
            group.varying.insert(key);
}

QString RunTitles::of(const query::RunSummary& run, bool withPrecision) const
{
    return titleOf(run, withPrecision, Length::Long);
}

QString RunTitles::shortOf(const query::RunSummary& run, bool withPrecision) const
{
    return titleOf(run, withPrecision, Length::Short);
}

QString RunTitles::briefOf(const query::RunSummary& run, bool withPrecision) const
{
    const QString brief = titleOf(run, withPrecision, Length::Brief);
    return brief.isEmpty() ? shortOf(run, withPrecision) : brief;
}

QString RunTitles::titleOf(const query::RunSummary& run, bool withPrecision, Length length) const
{
    const bool isShort = length != Length::Long;
    const auto group = groups_.find(run.workload);
    const auto isNamed = [&](const char* key) {
        return length != Length::Brief || group == groups_.end() || group->second.varying.contains(key);
    };
    QStringList words;
    const QString backend = QString::fromUtf8(run.param(kBackend));
    if (backend.isEmpty())
        words << QString::fromStdString(run.name);
    else if (isNamed(kBackend))
        words << backend;
    if (run.workload == "attention" && isNamed(kSeqLen))
        words << shortCount(QString::fromUtf8(run.param(kSeqLen)));
    if (group != groups_.end()) {
        for (const Telling& one : kTelling)
            if (group->second.varying.contains(one.key) && !isImplied(one.key, run) &&
                !(isShort && group->second.redundant.contains(one.key)))
                words << telling(one, run.param(one.key), isShort);
        if (withPrecision && group->second.varying.contains(kPrecision))
            words << QString::fromUtf8(run.param(kPrecision));
    }
    words.removeAll(QString());
    return words.join(QLatin1Char(' '));
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

Workspace::Workspace(QObject* parent) : QObject(parent)
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
        [shared = file.file](const query::Cancelled&) {
            const auto start = Clock::now();
            Snapshot snapshot = shared->look();
            return std::pair(std::move(snapshot), Clock::now() - start);
        },
        [this, id = file.id](std::pair<Snapshot, Clock::duration> seen) {
            looked(id, std::move(seen.first), seen.second);
        },
        [this, id = file.id](const QString& sentence) { failed(id, sentence); });
}

void Workspace::looked(int file, Snapshot snapshot, Clock::duration took)
{
    Watch& watch = watches_[file];
    watch.isLooking = false;
    // Soon again if it is being written, but bounded in cost.
    const Snapshot& latest = snapshot ? snapshot : entry(file)->snapshot;
    const bool isWritten = snapshot || (latest && isBeingWritten(*latest));
    watch.pace = std::max<Clock::duration>(isWritten ? kSoon : kNowAndThen, kRests * took);
    watch.due = Clock::now() + watch.pace;
    untold_.erase(file);
    if (snapshot)
        loaded(file, std::move(snapshot));
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

void Workspace::loaded(int file, Snapshot snapshot)
{
    OpenFile& open = *entry(file);
    const Snapshot before = std::exchange(open.snapshot, std::move(snapshot));
    open.problem.clear();
    emit filesChanged();
    if (chooseFirst(file, before.get()))
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
    select({{file, firstToShow(runs)}});
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
            select({{file, runs.back().run}});
        else if (!isShown)
            select({{file, firstToShow(runs)}});
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
    timeFilter_ = std::move(filter);
    emit timeFilterChanged();
}

void Workspace::select(std::vector<RunKey> runs)
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
    // file.
    RunTitles titles;
    for (const SelectedRun& run : selected)
        titles.add(*run.run);
    if (selected.size() == 1)
        titles = RunTitles(*selected.front().snapshot);
    for (SelectedRun& run : selected) {
        run.title = titles.of(*run.run, true);
        const auto filtered = std::ranges::find(timeFilter_, run.key, &TimeFilter::value_type::first);
        if (filtered != timeFilter_.end())
            run.span = filtered->second;
    }
    if (selected.size() > 1)
        for (std::size_t i = 0; i < selected.size() && i < 26; ++i)
            selected[i].letter = QChar(char16_t(u'A' + i));
    return selected;
}

} // namespace tilescope::ui
