#include "ui/window/start_view.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/config/spec_file.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/kit/workspace.h"
#include "ui/theme/theme.h"
#include "ui/window/window_menus.h"

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

QString dayOf(const QDateTime& time)
{
    return QLocale::c().toString(time, QStringLiteral("d MMM yyyy HH:mm"));
}

} // namespace

StartView::StartView(Workspace& workspace, QWidget* parent)
    : QWidget(parent), workspace_(workspace), recent_(new TableView)
{
    // From the outside in: Qt styles all of a widget again whenever it gets another parent.
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
                    "one clock. Files can be dropped anywhere in this window.")));
    auto* top = new QHBoxLayout;
    top->setSpacing(gap);
    layout->addLayout(top);
    top->addWidget(makeDemo(), 1);
    top->addWidget(makeOpen(), 1);
    layout->addWidget(makeRecord());
    recentPanel_ = makeRecent();
    layout->addWidget(recentPanel_, 100);
    layout->addStretch(1);
    connect(&workspace_, &Workspace::filesChanged, this, &StartView::followDemo);
}

Panel* StartView::makeDemo()
{
    auto* panel = new Panel(tr("Run the demo"));
    panel->setSubtitle(tr("some seconds"));
    QVBoxLayout* content = makeContent();
    content->addWidget(
        makeText(tr("Two steps of attention on this machine: one keeps the whole matrix of scores, the "
                    "other works in tiles. Both are traced, and their timelines appear one above the "
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
    panel->setSubtitle(tr("Enter or double click opens"));
    recent_->setAccessibleName(tr("Recent files"));
    recent_->setMinimumHeight(sizes().header + 6 * sizes().row);
    connect(recent_, &TableView::activatedRow, this, [this](std::int64_t id) {
        const QStringList files = RecentFiles::read();
        if (id >= 0 && id < files.size())
            emit filesWanted({files[id]});
    });
    panel->setContent(recent_);
    return panel;
}

void StartView::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    fillRecent();
}

// Files that are gone are left out.
void StartView::fillRecent()
{
    using Kind = TableColumn::Kind;
    TableData rows;
    rows.columns = {makeColumn(tr("File"), Kind::Text, 220), makeColumn(tr("Folder"), Kind::Text, 0),
                    makeColumn(tr("Changed"), Kind::Text, 150, true),
                    makeColumn(tr("Size"), Kind::Number, 90, true)};
    const QStringList files = RecentFiles::read();
    for (qsizetype i = 0; i < files.size(); ++i) {
        const QFileInfo info(files[i]);
        if (!info.exists())
            continue;
        TableRow row;
        row.id = i;
        TableCell changed = makeWords(dayOf(info.lastModified()));
        changed.sort = double(info.lastModified().toSecsSinceEpoch());
        TableCell size = makeWords(info.isDir() ? notMeasured() : byteText(double(info.size())));
        size.sort = double(info.size());
        row.cells = {makeWords(info.fileName()), makeWords(QDir::toNativeSeparators(info.absolutePath())),
                     changed, size};
        rows.rows.push_back(std::move(row));
    }
    recentPanel_->setVisible(!rows.rows.empty());
    recent_->show(std::move(rows));
}

void StartView::runDemo()
{
    try {
        WantedRuns wanted;
        wanted.name = tr("demo");
        wanted.specs = config::loadSpecFile(resourcesDirectory() / "examples" / "demo-attention.yaml",
                                            {{"seq_len", kDemoLength}});
        wanted.file = demo_ = demoFile();
        wanted.onlyMissing = true;
        const bool isThere = QFileInfo::exists(demo_);
        emit workspace_.runsWanted(wanted);
        emit workspace_.pageWanted(QStringLiteral("experiment")); // shows how it goes
        if (isThere)                                              // what it has need not run again
            emit filesWanted({demo_});
    } catch (const Error& error) {
        demo_.clear();
        QMessageBox::warning(this, tr("Tilescope"), QString::fromStdString(error.sentence()));
    }
}

// When both runs are there, shows their timelines.
void StartView::followDemo()
{
    if (demo_.isEmpty())
        return;
    for (const OpenFile& file : workspace_.files()) {
        if (!file.snapshot || QString::fromStdString(file.file->path().string()) != demo_)
            continue;
        std::vector<RunKey> ended;
        for (const query::RunSummary& run : file.snapshot->runs)
            if (run.result.status == RunStatus::Ok && run.param("seq_len") == kDemoLength && ended.size() < 2)
                ended.push_back({file.id, run.run});
        if (ended.size() < 2)
            continue;
        demo_.clear();
        // A file that opens selects a run of its own after this signal.
        QTimer::singleShot(0, this, [this, ended] {
            workspace_.select(ended);
            emit workspace_.pageWanted(QStringLiteral("timeline"));
        });
        return;
    }
}

} // namespace tilescope::ui
