#include "ui/window/start_view.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/config/spec_file.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_history.h"
#include "ui/kit/workspace.h"
#include "ui/theme/theme.h"
#include "ui/window/drop_box.h"
#include "ui/window/example_list.h"
#include "ui/window/file_opener.h"
#include "ui/window/recent_files.h"

#include <QApplication>
#include <QClipboard>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QMessageBox>
#include <QScrollArea>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr double kWidest = 1100; // design pixels
constexpr double kPreviewWidth = 300;
constexpr double kPreviewHeight = 188;
constexpr const char* kDemoLength = "1024";

QLabel* makeText(const QString& text)
{
    auto* label = new QLabel(text);
    label->setProperty("kind", "dim");
    label->setWordWrap(true);
    return label;
}

QVBoxLayout* makeContent()
{
    auto* layout = new QVBoxLayout;
    layout->setContentsMargins(sizes().padding, sizes().padding, sizes().padding, sizes().padding);
    layout->setSpacing(sizes().gap);
    return layout;
}

QPushButton* addButton(QVBoxLayout& layout, const QString& text)
{
    auto* button = new QPushButton(text);
    layout.addWidget(button, 0, Qt::AlignLeft);
    return button;
}

// A recording in the current folder, or in that of temporary files if nothing can be written there.
QString demoFile()
{
    const QDir here;
    const bool isWritable = QFileInfo(here.absolutePath()).isWritable();
    return QDir(isWritable ? here.absolutePath() : QDir::tempPath())
        .absoluteFilePath(QStringLiteral("tilescope-demo.tscope"));
}

// What a run of the demo does, and what that cost.
QString demoSentence(const query::RunSummary& run, const QString& letter)
{
    const bool isNaive = run.param("backend") == "naive";
    QStringList cost;
    if (run.step)
        cost << StartView::tr("%1 a step").arg(timeText(run.step->median * 1e6));
    if (run.result.peakAllocated)
        cost << StartView::tr("%1 at the peak").arg(byteText(double(run.result.peakAllocated->count)));
    const QString sentence =
        isNaive ? StartView::tr("%1 stores the whole matrix of scores and goes through it op by op: %2.")
                : StartView::tr(
                      "%1 computes the same in tiles that fit in the cache and never stores the matrix: %2.");
    return sentence.arg(letter, cost.join(StartView::tr(" and ")));
}

QString dayOf(const QDateTime& time)
{
    return QLocale::c().toString(time, QStringLiteral("d MMM yyyy HH:mm"));
}

} // namespace

StartView::StartView(Workspace& workspace, QWidget* parent)
    : QWidget(parent), workspace_(workspace), recent_(new TableView)
{
    // Builds from the outside in: Qt styles a widget and its children again whenever it gets a new parent.
    auto* scroll = new QScrollArea;
    makePlainColumn(this)->addWidget(scroll);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setAccessibleName(tr("Start"));
    auto* centred = new QWidget;
    scroll->setWidget(centred);
    auto* row = new QHBoxLayout(centred);
    row->setContentsMargins(0, 0, 0, 0);
    row->addStretch(1);
    auto* content = new QWidget;
    content->setMaximumWidth(sizes().of(kWidest));
    row->addWidget(content, 1000);
    row->addStretch(1);
    auto* layout = new QVBoxLayout(content);
    const int gap = sizes().of(12);
    layout->setContentsMargins(sizes().margin, 2 * sizes().margin, sizes().margin, sizes().margin);
    layout->setSpacing(gap);
    auto* question = new QLabel(tr("Where does a transformer step go?"));
    question->setFont(Theme::instance().large());
    layout->addWidget(question);
    layout->addWidget(
        makeText(tr("Record or open a step; see its time, memory and kernels, and compare two of them on "
                    "one clock.")));
    auto* top = new QHBoxLayout;
    top->setSpacing(gap);
    layout->addLayout(top);
    top->addWidget(makeDemo(), 1);
    top->addWidget(makeOpen(), 1);
    drop_ = new DropBox(DropBox::Ground::None);
    layout->addWidget(drop_);
    recentPanel_ = makeRecent();
    layout->addWidget(recentPanel_, 100);
    layout->addWidget(makeExamples());
    layout->addWidget(makeRecord());
    layout->addStretch(1);
    connect(&workspace_, &Workspace::filesChanged, this, &StartView::followDemo);
}

Panel* StartView::makeDemo()
{
    auto* panel = new Panel(tr("Run the demo"));
    panel->setSubtitle(tr("some seconds"));
    QVBoxLayout* content = makeContent();
    content->addWidget(
        makeText(tr("Two steps of attention on this machine: naive stores the whole matrix of scores, "
                    "flash works in tiles. Both are traced, and their timelines appear one above the "
                    "other.")));
    content->addStretch(1);
    QPushButton* run = addButton(*content, tr("Run the demo"));
    run->setObjectName(QStringLiteral("demo"));
    run->setProperty("kind", "primary");
    run->setToolTip(tr("Records into %1").arg(QDir::toNativeSeparators(demoFile())));
    connect(run, &QPushButton::clicked, this, &StartView::runDemo);
    panel->setContent(content);
    return panel;
}

Panel* StartView::makeOpen()
{
    auto* panel = new Panel(tr("Open or make"));
    QVBoxLayout* content = makeContent();
    content->addWidget(
        makeText(tr("Recordings (.tscope), traces of PyTorch's profiler (.json, .json.gz), of Nsight "
                    "Systems (.sqlite, .nsys-rep), of rocprof (.rpd) and of TensorBoard (.pb), memory "
                    "snapshots of PyTorch (.pickle), specs of experiments (.yaml).")));
    content->addStretch(1);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(sizes().gap);
    auto* open = new QPushButton(tr("Open files…"));
    open->setToolTip(tr("Ctrl+O"));
    connect(open, &QPushButton::clicked, this, [this] { emit filesWanted({}); });
    auto* experiment = new QPushButton(tr("Choose a study"));
    experiment->setToolTip(tr("Studies, model sizes and specs of your own are on the page Experiment"));
    connect(experiment, &QPushButton::clicked, this,
            [this] { emit workspace_.pageWanted(QStringLiteral("experiment")); });
    auto* machine = new QPushButton(tr("Check this machine"));
    machine->setToolTip(tr("What this machine can record, and how to fix what is missing"));
    connect(machine, &QPushButton::clicked, this,
            [this] { emit workspace_.pageWanted(QStringLiteral("machine")); });
    for (QPushButton* button : {open, experiment, machine})
        buttons->addWidget(button);
    buttons->addStretch(1);
    content->addLayout(buttons);
    panel->setContent(content);
    return panel;
}

Panel* StartView::makeExamples()
{
    auto* panel = new Panel(tr("Example recordings"));
    panel->setSubtitle(tr("made on a machine with an NVIDIA H200; each opens as a copy"));
    auto* examples = new ExampleList;
    connect(examples, &ExampleList::wanted, this, &StartView::openExample);
    panel->setContent(examples);
    return panel;
}

Panel* StartView::makeRecord()
{
    auto* panel = new Panel(tr("Record a program"));
    panel->setSubtitle(tr("unchanged; the recording opens here while it grows"));
    QVBoxLayout* content = makeContent();
    for (const auto& [words, command] :
         {std::pair(tr("one process"), "tilescope record -o run.tscope -- python train.py"),
          std::pair(tr("ranks"), "tilescope record -o run.tscope -- torchrun --nproc-per-node=2 train.py")}) {
        auto* row = new QHBoxLayout;
        row->setSpacing(sizes().gap);
        QLabel* label = makeText(words);
        label->setWordWrap(false);
        label->setMinimumWidth(sizes().of(90));
        auto* line = new QLabel(QString::fromLatin1(command));
        line->setFont(Theme::instance().mono());
        line->setTextInteractionFlags(Qt::TextSelectableByMouse);
        auto* copy = new QPushButton(tr("Copy"));
        copy->setProperty("kind", "small");
        copy->setAccessibleName(tr("Copy the command for %1").arg(words));
        connect(copy, &QPushButton::clicked, this,
                [text = line->text()] { QApplication::clipboard()->setText(text); });
        row->addWidget(label);
        row->addWidget(line, 1);
        row->addWidget(copy);
        content->addLayout(row);
    }
    QPushButton* record = addButton(*content, tr("Record…"));
    record->setObjectName(QStringLiteral("record"));
    record->setToolTip(tr("Choose program and options, and follow the recording (Ctrl+Alt+R)"));
    connect(record, &QPushButton::clicked, this, &StartView::recordWanted);
    panel->setContent(content);
    return panel;
}

Panel* StartView::makeRecent()
{
    auto* panel = new Panel(tr("Recent files"));
    panel->setSubtitle(tr("Enter or double click opens, Del removes from the list"));
    auto* row = new QHBoxLayout;
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    panel->setContent(row);
    row->addWidget(recent_, 1);
    preview_ = new QLabel;
    preview_->setAccessibleName(tr("Last view of the file"));
    preview_->setContentsMargins(sizes().padding, sizes().padding, sizes().padding, sizes().padding);
    preview_->setAlignment(Qt::AlignTop | Qt::AlignHCenter);
    preview_->hide();
    row->addWidget(preview_);
    recent_->setAccessibleName(tr("Recent files"));
    recent_->viewport()->installEventFilter(this);
    recent_->setMinimumHeight(sizes().header + 6 * sizes().row);
    const auto pathOf = [this](std::optional<std::int64_t> id) {
        return id && *id >= 0 && std::size_t(*id) < files_.size() ? files_[std::size_t(*id)].path : QString();
    };
    connect(recent_, &TableView::activatedRow, this,
            [this, pathOf](std::int64_t id) { openRecent(pathOf(id)); });
    connect(recent_, &TableView::chosen, this, &StartView::showPreview);
    addKey(
        *recent_, tr("Remove from the list"), {QKeySequence(QKeySequence::Delete)},
        [this, pathOf] {
            if (const QString path = pathOf(recent_->currentId()); !path.isEmpty())
                removeRecent({path});
        },
        Qt::WidgetShortcut, tr("Recent files"));
    removeMissing_ = panel->addLink(tr("Remove missing files"));
    removeMissing_->hide();
    connect(removeMissing_, &QPushButton::clicked, this, &StartView::removeMissing);
    QPushButton* clear = panel->addLink(tr("Clear"));
    clear->setObjectName(QStringLiteral("clearRecent"));
    clear->setToolTip(tr("Remove all files from the list (Ctrl+Z restores them)"));
    connect(clear, &QPushButton::clicked, this, &StartView::removeAll);
    return panel;
}

void StartView::showDrag(const QString& words)
{
    drop_->setDrag(words);
}

void StartView::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    readRecent();
    isLookWanted_ = true;
}

void StartView::readRecent()
{
    files_.clear();
    for (const QString& path : RecentFiles::read())
        files_.push_back({path, RecentFiles::holds(path)});
    fillRecent();
}

// Reads the disk only once the list is visible, so that the window is not delayed.
bool StartView::eventFilter(QObject* watched, QEvent* event)
{
    if (isLookWanted_ && event->type() == QEvent::Paint) {
        isLookWanted_ = false;
        QMetaObject::invokeMethod(this, &StartView::lookForRecent, Qt::QueuedConnection);
    }
    return QWidget::eventFilter(watched, event);
}

// Looks in the background which files are there: a disk of the network may take long to answer.
void StartView::lookForRecent()
{
    QStringList paths;
    for (const RecentRow& row : files_)
        paths << row.path;
    looking_.start(
        [paths](const std::function<bool()>& cancelled) {
            std::vector<RecentRow::Found> found;
            for (const QString& path : paths) {
                if (cancelled())
                    break;
                const QFileInfo info(path);
                // A recording that is being made is only there as its working files.
                found.push_back({isThere(path), info.isDir(), info.lastModified(), info.size()});
            }
            return found;
        },
        [this](const std::vector<RecentRow::Found>& found) {
            for (std::size_t i = 0; i < std::min(found.size(), files_.size()); ++i)
                files_[i].found = found[i];
            fillRecent();
            if (const auto first = std::ranges::find_if(
                    files_, [](const RecentRow& row) { return row.found && row.found->exists; });
                !recent_->currentId() && first != files_.end())
                recent_->setCurrentId(first - files_.begin());
            showPreview();
        },
        [](const QString&) {}); // the list stays without dates and sizes
}

void StartView::fillRecent()
{
    using Kind = TableColumn::Kind;
    TableData rows;
    rows.columns = {makeColumn(tr("File"), Kind::Text, 200), makeColumn(tr("Holds"), Kind::Text, 0),
                    makeColumn(tr("Folder"), Kind::Text, 0, true),
                    makeColumn(tr("Changed"), Kind::Text, 150, true),
                    makeColumn(tr("Size"), Kind::Number, 90, true)};
    bool anyMissing = false;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const RecentRow& file = files_[i];
        const QFileInfo info(file.path);
        const bool isMissing = file.found && !file.found->exists;
        const bool isKnown = file.found && file.found->exists && file.found->changed.isValid();
        anyMissing = anyMissing || isMissing;
        const Tone tone = isMissing ? Tone::Dim : Tone::Plain;
        TableRow row;
        row.id = std::int64_t(i);
        TableCell changed = makeWords(isMissing ? tr("not found")
                                      : isKnown ? dayOf(file.found->changed)
                                                : QString(),
                                      {}, tone);
        TableCell size =
            makeWords(isKnown && !file.found->isFolder ? byteText(double(file.found->bytes)) : notMeasured());
        if (isKnown) {
            changed.sort = double(file.found->changed.toSecsSinceEpoch());
            size.sort = double(file.found->bytes);
        }
        row.cells = {makeWords(info.fileName(), {}, tone), makeWords(file.holds, {}, tone),
                     makeWords(QDir::toNativeSeparators(info.absolutePath()), {}, tone), changed, size};
        rows.rows.push_back(std::move(row));
    }
    recentPanel_->setVisible(!rows.rows.empty());
    removeMissing_->setVisible(anyMissing);
    recent_->show(std::move(rows));
}

// A file that is missing may be back, for instance on a disk that was mounted since.
void StartView::openRecent(const QString& path)
{
    if (!path.isEmpty())
        emit filesWanted({path});
}

void StartView::removeMissing()
{
    QStringList missing;
    for (const RecentRow& row : files_)
        if (row.found && !row.found->exists)
            missing << row.path;
    removeRecent(missing);
}

void StartView::removeAll()
{
    QStringList all;
    for (const RecentRow& row : files_)
        all << row.path;
    removeRecent(all);
}

void StartView::removeRecent(const QStringList& paths)
{
    struct Removed {
        qsizetype position;
        QString path;
        QString holds;
    };
    std::vector<Removed> removed;
    for (std::size_t i = 0; i < files_.size(); ++i)
        if (paths.contains(files_[i].path))
            removed.push_back({qsizetype(i), files_[i].path, files_[i].holds});
    if (removed.empty())
        return;
    forgetRecent(paths);
    ViewHistory::note(
        *this, {.name = tr("removing %1 from the list").arg(counted(std::ssize(removed), "recent file")),
                .undo =
                    [this, removed] {
                        for (const Removed& each : removed)
                            RecentFiles::insert(each.position, each.path, each.holds);
                        readRecent();
                        lookForRecent();
                    },
                .redo = [this, paths] { forgetRecent(paths); }});
}

// The row below the first removed one becomes current.
void StartView::forgetRecent(const QStringList& paths)
{
    const std::optional<std::int64_t> current = recent_->currentId();
    for (const QString& path : paths)
        RecentFiles::remove(path);
    std::erase_if(files_, [&paths](const RecentRow& row) { return paths.contains(row.path); });
    fillRecent();
    if (!files_.empty())
        recent_->setCurrentId(std::min(current.value_or(0), std::int64_t(files_.size()) - 1));
    showPreview();
    lookForRecent();
}

// The picture of the current row, or of the newest file; none on a narrow page.
void StartView::showPreview()
{
    const auto row = std::size_t(recent_->currentId().value_or(0));
    const bool hasRoom = width() >= sizes().of(kWidest) * 0.8;
    if (row >= files_.size() || !hasRoom) {
        previewing_.cancel();
        preview_->hide();
        return;
    }
    previewing_.start([file = RecentFiles::previewFile(files_[row].path)](
                          const std::function<bool()>&) { return RecentFiles::loadPreview(file); },
                      [this](const QImage& picture) {
                          preview_->setVisible(!picture.isNull());
                          if (picture.isNull())
                              return;
                          const double ratio = devicePixelRatioF();
                          QPixmap shown = QPixmap::fromImage(picture.scaled(
                              QSize(sizes().of(kPreviewWidth), sizes().of(kPreviewHeight)) * ratio,
                              Qt::KeepAspectRatio, Qt::SmoothTransformation));
                          shown.setDevicePixelRatio(ratio);
                          preview_->setPixmap(shown);
                      },
                      [this](const QString&) { preview_->hide(); });
}

void StartView::runDemo()
{
    try {
        WantedRuns wanted;
        wanted.name = tr("demo");
        wanted.specs = config::loadSpecFile(resourcesDirectory() / "examples" / "demo-attention.yaml",
                                            {{"seq_len", kDemoLength}});
        wanted.file = demo_ = demoFile();
        isExample_ = false;
        demoLength_ = QString::fromLatin1(kDemoLength);
        wanted.onlyMissing = true;
        const bool isThere = QFileInfo::exists(demo_);
        emit workspace_.runsWanted(wanted);
        emit workspace_.pageWanted(QStringLiteral("experiment")); // shows how it goes
        if (isThere)                                              // its runs are not repeated
            emit filesWanted({demo_});
    } catch (const Error& error) {
        demo_.clear();
        QMessageBox::warning(this, tr("Tilescope"), QString::fromStdString(error.sentence()));
    }
}

void StartView::openExample(const ExampleRecording& example)
{
    try {
        const QString copy = copyOfExample(example.file);
        demo_ = example.comparedLength.isEmpty() ? QString() : QFileInfo(copy).absoluteFilePath();
        isExample_ = true;
        demoLength_ = example.comparedLength;
        emit filesWanted({copy});
    } catch (const Error& error) {
        QMessageBox::warning(this, tr("Tilescope"), QString::fromStdString(error.sentence()));
    }
}

// Shows the timelines of both runs once both exist.
void StartView::followDemo()
{
    if (demo_.isEmpty())
        return;
    for (const OpenFile& file : workspace_.files()) {
        if (!file.snapshot || QString::fromStdString(file.file->path().string()) != demo_)
            continue;
        std::vector<RunKey> ended;
        QStringList seen;
        for (const query::RunSummary& run : file.snapshot->runs)
            if (run.result.status == RunStatus::Ok && run.param("seq_len") == demoLength_.toStdString() &&
                ended.size() < 2) {
                ended.push_back({file.id, run.run});
                seen << demoSentence(run, ended.size() == 1 ? QStringLiteral("A") : QStringLiteral("B"));
            }
        if (ended.size() < 2) {
            if (isExample_) // runs were deleted from the copy, and none will follow
                demo_.clear();
            continue;
        }
        demo_.clear();
        // A file that opens selects a run of its own after this signal.
        QTimer::singleShot(0, this, [this, ended, seen] {
            workspace_.select(ended);
            emit workspace_.pageWanted(QStringLiteral("timeline"));
            emit demoShown(seen.join(QLatin1Char(' ')));
        });
        return;
    }
}

} // namespace tilescope::ui
