#include "ui/pages/workspace.h"

#include <QFileInfo>

#include <algorithm>

namespace tilescope::ui {

namespace {

QString text(std::string_view view)
{
    return QString::fromUtf8(view.data(), qsizetype(view.size()));
}

// 4096 is 4k, 1000 stays 1000.
QString shortCount(const QString& number)
{
    const auto value = number.toLongLong();
    return value >= 1024 && value % 1024 == 0 ? QString::number(value / 1024) + QLatin1Char('k') : number;
}

// Keys that tell runs of one file apart, beside the backend and what the list has columns for.
constexpr const char* kPrecision = "precision"; // the list has a column for it
constexpr const char* kTelling[] = {"size",   "layers",  "d_model", "heads",        "kv_heads", "d_head",
                                    "batch",  "context", "mode",    "compile",      "causal",   "tile_q",
                                    "tile_k", "seed",    "threads", "checkpointing"};

// batch 4, but train and graph without their keys; none where the value is the absence of something.
QString telling(std::string_view key, std::string_view value)
{
    if (value == "none" || value == "false" || value.empty())
        return {};
    if (value == "true")
        return text(key);
    const bool number = value.find_first_not_of("0123456789.") == std::string_view::npos;
    return number ? text(key).replace(QLatin1Char('_'), QLatin1Char(' ')) + QLatin1Char(' ') +
                        shortCount(text(value))
                  : text(value);
}

} // namespace

RunTitles::RunTitles(const query::FileSnapshot& runs)
{
    for (const query::RunSummary& run : runs.runs)
        add(run);
}

void RunTitles::add(const query::RunSummary& run)
{
    Group& group = groups_[run.workload];
    if (group.first == nullptr)
        group.first = &run;
    for (const char* key : kTelling)
        if (run.param(key) != group.first->param(key))
            group.varying.insert(key);
    if (run.param(kPrecision) != group.first->param(kPrecision))
        group.varying.insert(kPrecision);
}

QString RunTitles::of(const query::RunSummary& run, bool withPrecision) const
{
    QString title = text(run.param("backend"));
    if (title.isEmpty())
        title = QString::fromStdString(run.name);
    if (run.workload == "attention")
        title += QLatin1Char(' ') + shortCount(text(run.param("seq_len")));
    QStringList words{title};
    const auto group = groups_.find(run.workload);
    if (group != groups_.end()) {
        for (const char* key : kTelling)
            if (group->second.varying.contains(key))
                words << telling(key, run.param(key));
        if (withPrecision && group->second.varying.contains(kPrecision))
            words << text(run.param(kPrecision));
    }
    words.removeAll(QString());
    return words.join(QLatin1Char(' '));
}

QString OpenFile::name() const
{
    return QString::fromStdString(file->path().filename().string());
}

QString SelectedRun::source() const
{
    return QString::fromStdString(file->path().stem().string()) + QStringLiteral(" #%1").arg(run->run.value);
}

Workspace::Workspace(QObject* parent) : QObject(parent) {}

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
    const std::filesystem::path wanted = QFileInfo(path).absoluteFilePath().toStdString();
    for (OpenFile& file : files_) {
        if (file.file->path() == wanted) {
            refresh(file.id);
            return;
        }
    }
    OpenFile file;
    file.id = nextFile_++;
    file.file = std::make_shared<query::SharedFile>(wanted);
    files_.push_back(std::move(file));
    jobs_[files_.back().id] = std::make_unique<JobTracker>(this);
    load(files_.back());
    emit filesChanged();
}

void Workspace::refresh(int file)
{
    if (OpenFile* found = entry(file))
        load(*found);
}

void Workspace::load(OpenFile& file)
{
    jobs_[file.id]->start(
        [shared = file.file](const query::Cancelled&) {
            return std::make_shared<const query::FileSnapshot>(shared->borrow()->snapshot());
        },
        [this, id = file.id](std::shared_ptr<const query::FileSnapshot> snapshot) {
            loaded(id, std::move(snapshot));
        },
        [this, id = file.id](const QString& sentence) {
            if (OpenFile* failed = entry(id))
                failed->problem = sentence;
            emit filesChanged();
        });
}

void Workspace::loaded(int file, std::shared_ptr<const query::FileSnapshot> snapshot)
{
    OpenFile* found = entry(file);
    if (found == nullptr)
        return;
    const bool first = found->snapshot == nullptr;
    found->snapshot = std::move(snapshot);
    if (!first)
        found->file->forget();
    found->problem.clear();
    emit filesChanged();
    // A file that has just been opened shows its first run; one that has grown keeps what was chosen.
    if (first && selection_.empty() && !found->snapshot->runs.empty())
        select({{file, found->snapshot->runs.front().run}});
    else if (std::any_of(selection_.begin(), selection_.end(),
                         [file](const RunKey& key) { return key.file == file; }))
        emit selectionChanged();
}

void Workspace::close(int file)
{
    jobs_.erase(file);
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

void Workspace::select(std::vector<RunKey> runs)
{
    std::vector<RunKey> once;
    for (const RunKey& run : runs)
        if (std::find(once.begin(), once.end(), run) == once.end())
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
        for (const query::RunSummary& run : file->snapshot->runs)
            if (run.run == key.run)
                selected.push_back({key, file->file, file->snapshot, &run, {}, {}});
    }
    // Beside others a run is called by what tells it from them, alone by what tells it from its file's.
    RunTitles titles;
    for (const SelectedRun& run : selected)
        titles.add(*run.run);
    if (selected.size() == 1)
        titles = RunTitles(*selected.front().snapshot);
    for (SelectedRun& run : selected)
        run.title = titles.of(*run.run, true);
    if (selected.size() > 1)
        for (std::size_t i = 0; i < selected.size() && i < 26; ++i)
            selected[i].letter = QChar(char16_t(u'A' + i));
    return selected;
}

} // namespace tilescope::ui
