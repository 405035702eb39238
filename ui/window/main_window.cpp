#include "ui/window/main_window.h"

#include "core/hosts/remote_file.h"
#include "core/hosts/ssh_link.h"
#include "ui/charts/charts_page.h"
#include "ui/compare/compare_page.h"
#include "ui/experiment/experiment_page.h"
#include "ui/experiment/forecast.h"
#include "ui/experiment/job_status.h"
#include "ui/flame/flame_page.h"
#include "ui/hosts/remote_file_dialog.h"
#include "ui/kernels/kernels_page.h"
#include "ui/kit/count_text.h"
#include "ui/kit/export_dialog.h"
#include "ui/kit/file_dialog.h"
#include "ui/kit/layouts.h"
#include "ui/kit/notice_bar.h"
#include "ui/kit/view_history.h"
#include "ui/machine/machine_page.h"
#include "ui/memory/memory_page.h"
#include "ui/overview/key_figure_card.h"
#include "ui/overview/overview_page.h"
#include "ui/query/query_page.h"
#include "ui/ranks/ranks_page.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_page.h"
#include "ui/waiting/waiting_page.h"
#include "ui/window/drop_box.h"
#include "ui/window/file_opener.h"
#include "ui/window/help_page.h"
#include "ui/window/key_sheet.h"
#include "ui/window/loss_bar.h"
#include "ui/window/page_exports.h"
#include "ui/window/page_rail.h"
#include "ui/window/process_bar.h"
#include "ui/window/reading_status.h"
#include "ui/window/recent_files.h"
#include "ui/window/record_dialog.h"
#include "ui/window/report_dialog.h"
#include "ui/window/run_dock.h"
#include "ui/window/run_edits.h"
#include "ui/window/start_view.h"
#include "ui/window/time_filter_bar.h"
#include "ui/window/window_menus.h"
#include "ui/window/written_strip.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDir>
#include <QDragEnterEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

// In design pixels.
constexpr double kDock = 312; // names, step, peak and flags
constexpr double kLeastWidth = 760;
constexpr double kLeastHeight = 500;
constexpr double kNarrow = 1100;

// The recordings directly in a folder; none if the path is a file.
QStringList recordingsIn(const QString& path)
{
    QStringList recordings;
    if (QFileInfo(path).isDir())
        for (const QFileInfo& file :
             QDir(path).entryInfoList({QStringLiteral("*.tscope")}, QDir::Files, QDir::Name))
            recordings << file.filePath();
    return recordings;
}

/// What a frame with a title bar takes of a screen, at most: it is not known before the window is shown.
QSize frameRoom()
{
    return {sizes().of(8), sizes().of(40)};
}

} // namespace

MainWindow::MainWindow(const QString& firstPage, QWidget* parent)
    : QMainWindow(parent), workspace_(new Workspace(this)), rail_(new PageRail), stack_(new QStackedWidget),
      opener_(new FileOpener(*workspace_)), written_(new WrittenStrip(*workspace_)),
      losses_(new LossBar(*workspace_)), timeFilter_(new TimeFilterBar(*workspace_)),
      process_(new ProcessBar(*workspace_)), dock_(new RunDock(*workspace_, this)),
      showRuns_(new QPushButton(tr("Runs"))), cursor_(new QLabel), selection_(new QLabel)
{
    hosts::askInDialogs();
    setObjectName(QStringLiteral("main"));
    setAcceptDrops(true);
    makeCentre();
    addDockWidget(Qt::RightDockWidgetArea, dock_);
    fitScreen();
    resizeDocks({dock_}, {sizes().of(kDock)}, Qt::Horizontal);

    cursor_->setMinimumWidth(sizes().of(250));
    cursor_->setContentsMargins(sizes().of(12), 0, 0, 0);
    statusBar()->setSizeGripEnabled(false);
    statusBar()->addWidget(cursor_);
    statusBar()->addWidget(selection_, 1);
    statusBar()->addPermanentWidget(new ReadingStatus);

    addPage(QStringLiteral("overview"), tr("Overview"), Icon::Overview, [this] {
        auto* overview = new OverviewPage(*workspace_, stack_);
        overview->setStart([this](QWidget* content) {
            auto* start = start_ = new StartView(*workspace_, content);
            connect(start, &StartView::filesWanted, this,
                    [this](const QStringList& paths) { paths.isEmpty() ? chooseFiles() : open(paths); });
            connect(start, &StartView::recordWanted, this, [this] { recordProgram(); });
            connect(start, &StartView::demoShown, written_, &WrittenStrip::say);
            return start;
        });
        return overview;
    });
    experiment_ = new ExperimentPage(*workspace_, stack_);
    experiment_->setForecaster(machineForecaster());
    experiment_->hide();
    addPage(QStringLiteral("experiment"), tr("Experiment"), Icon::Experiment, [this] { return experiment_; });
    addPage<TimelinePage>("timeline", tr("Timeline"), Icon::Timeline);
    addPage<FlamePage>("flame", tr("Flame"), Icon::Flame);
    addPage<WaitingPage>("waiting", tr("Waiting"), Icon::Waiting);
    addPage<KernelsPage>("kernels", tr("Kernels"), Icon::Kernels);
    addPage<MemoryPage>("memory", tr("Memory"), Icon::Memory);
    addPage(QStringLiteral("ranks"), tr("Ranks"), Icon::Swap, [this] {
        auto* ranks = new RanksPage(*workspace_, stack_);
        connect(ranks, &RanksPage::eventWanted, this,
                [this](DeviceIndex device, StreamId stream, Timestamp start) {
                    const QString timeline = QStringLiteral("timeline");
                    showPage(timeline);
                    dynamic_cast<TimelinePage&>(*page(timeline)).goToEvent({device, stream, start});
                });
        return ranks;
    });
    addPage<ComparePage>("compare", tr("Compare"), Icon::Compare);
    addPage<ChartsPage>("charts", tr("Charts"), Icon::Charts);
    addPage<QueryPage>("query", tr("Query"), Icon::Query);
    addPage<MachinePage>("machine", tr("Machine"), Icon::Machine);
    addPage(
        QStringLiteral("help"), tr("Help"), Icon::Help,
        [this] {
            return new HelpPage(
                *workspace_, [this] { return keysMarkdown(keyGroups(*this)); }, stack_);
        },
        true);
    connect(workspace_, &Workspace::pageWanted, this, &MainWindow::showPage);
    connect(workspace_, &Workspace::targetWanted, this,
            [this](const QString& name, const PageTarget& target) {
                if (showPage(name))
                    page(name)->goTo(target);
            });
    connect(&dock_->edits(), &RunEdits::deleted, written_, &WrittenStrip::confirmDeleted);
    connect(rail_, &PageRail::chosen, this, &MainWindow::showPageAt);
    connect(&workspace_->history(), &ViewHistory::concerns, this, &MainWindow::showPageOf);
    connect(workspace_, &Workspace::filesChanged, this, &MainWindow::updateTitle);
    connect(workspace_, &Workspace::filesChanged, this, &MainWindow::noteHeld);
    connect(workspace_, &Workspace::selectionChanged, this, &MainWindow::updateTitle);
    connect(experiment_, &ExperimentPage::ended, this, &MainWindow::closeIfWanted);
    connect(experiment_, &ExperimentPage::recorded, this,
            [](const QString& file) { RecentFiles::add(file); });
    statusOf({});
    connect(experiment_, &ExperimentPage::summarized, this,
            [this](const JobSummary& summary) { statusOf(summary.host).show(summary); });
    QTimer::singleShot(0, experiment_, &ExperimentPage::takeUpStarted);
    // Queued, so that a popup that is closing is gone.
    connect(
        qApp, &QGuiApplication::focusWindowChanged, this, [this] { becomeActive(); }, Qt::QueuedConnection);
    new WindowMenus(*this);
    restoreLayout(firstPage);
    updateTitle();
}

MainWindow::~MainWindow() = default;

// One status for this machine, and one for each host that has had a sweep.
JobStatus& MainWindow::statusOf(const QString& host)
{
    JobStatus*& job = jobs_[host];
    if (job == nullptr) {
        job = new JobStatus;
        statusBar()->addPermanentWidget(job);
        SweepQueue& queue = experiment_->queues().of(host);
        connect(job, &JobStatus::cancelled, &queue, &SweepQueue::cancel);
        connect(job, &JobStatus::opened, this, [this, host] {
            showPage(QStringLiteral("experiment"));
            experiment_->setHost(host);
        });
    }
    return *job;
}

// Qt 6.4 forgets which window is active if a dialog closes while the list of its field's completions is open: Enter
// in the name of a file does both. The keyboard then does not reach the page.
void MainWindow::becomeActive()
{
    if (QApplication::activeWindow() == nullptr && windowHandle() != nullptr &&
        QGuiApplication::focusWindow() == windowHandle())
        QApplication::setActiveWindow(this);
}

void MainWindow::makeCentre()
{
    auto* central = new QWidget;
    auto* layout = newLayout<QHBoxLayout>(central, 0, 0);
    layout->addWidget(rail_);
    auto* column = new QVBoxLayout;
    column->setSpacing(0);
    column->addWidget(new NoticeBar(*workspace_));
    column->addWidget(opener_);
    column->addWidget(written_);
    column->addWidget(losses_);
    column->addWidget(timeFilter_);
    column->addWidget(process_);
    column->addWidget(stack_, 1);
    layout->addLayout(column, 1);
    setCentralWidget(central);
    showRuns_->setObjectName(QStringLiteral("showRuns"));
    showRuns_->setToolTip(tr("Show the run list (Ctrl+L)"));
    showRuns_->setFocusPolicy(Qt::TabFocus);
    menuBar()->setCornerWidget(showRuns_);
    connect(showRuns_, &QPushButton::clicked, dock_, &RunDock::focusFilter);
    connect(dock_, &QDockWidget::visibilityChanged, this,
            [this] { showRuns_->setVisible(dock_->isHidden()); });
}

// Initial and minimum size, with room for the frame and the title bar on the screen.
void MainWindow::fitScreen()
{
    QSize least(sizes().of(kLeastWidth), sizes().of(kLeastHeight));
    QSize first(sizes().of(1600), sizes().of(1000));
    // Pictures are drawn without a screen, at any size.
    if (QGuiApplication::platformName() != QLatin1String("offscreen")) {
        const QSize room = screen()->availableSize() - frameRoom();
        least = least.boundedTo(room);
        first = first.boundedTo(room);
    }
    setMinimumSize(least);
    resize(first);
}

// Only when the width crosses the limit, so that the user can still show or hide the dock.
void MainWindow::foldDock()
{
    const bool narrow = width() < sizes().of(kNarrow);
    if (narrow == isNarrow_)
        return;
    isNarrow_ = narrow;
    if (narrow) // a dock that was never shown is hidden too, but not by the user
        dockWasShown_ = !(dock_->isHidden() && dock_->testAttribute(Qt::WA_WState_ExplicitShowHide));
    dock_->setVisible(!narrow && dockWasShown_);
    showRuns_->setVisible(dock_->isHidden());
}

void MainWindow::resizeEvent(QResizeEvent* event)
{
    QMainWindow::resizeEvent(event);
    foldDock();
}

// Keys go to the page, not to the first field of the window.
void MainWindow::showEvent(QShowEvent* event)
{
    QMainWindow::showEvent(event);
    showRuns_->setVisible(dock_->isHidden());
    if (!event->spontaneous()) // not if it was only minimised
        currentPage()->takeFocus();
}

void MainWindow::addPage(const QString& name, const QString& title, Icon icon, std::function<Page*()> make,
                         bool atBottom)
{
    const int index = int(pages_.size());
    rail_->add(index, icon, title, pageKey(index).toString(), atBottom);
    pages_.push_back({name, title, std::move(make), nullptr});
}

template <class Kind> void MainWindow::addPage(const char* name, const QString& title, Icon icon)
{
    addPage(QString::fromLatin1(name), title, icon, [this] { return new Kind(*workspace_, stack_); });
}

Page* MainWindow::made(Entry& entry)
{
    if (entry.page != nullptr)
        return entry.page;
    entry.page = entry.make();
    stack_->addWidget(entry.page);
    Theme::instance().styleWhenShown(*entry.page);
    connect(entry.page, &Page::cursorText, cursor_, &QLabel::setText);
    connect(entry.page, &Page::selectionText, this, [this, page = entry.page](const QString& text) {
        selected_[page] = text; // restored when the page is shown again
        if (page == currentPage())
            selection_->setText(text);
    });
    connect(entry.page, &Page::exportWanted, this, &MainWindow::exportPage);
    return entry.page;
}

void MainWindow::open(const QStringList& files)
{
    QStringList recordings;
    QStringList others;
    bool isElsewhere = false;
    for (const QString& file : files) {
        if (const auto remote = hosts::knownRemotePathOf(file.toStdString())) {
            isElsewhere = true;
            opener_->openOnHost(QString::fromStdString(remote->host), QString::fromStdString(remote->path));
            continue;
        }
        if (const QStringList inside = recordingsIn(file); !inside.isEmpty())
            recordings << inside;
        else if (file.endsWith(QLatin1String(".yaml")) || file.endsWith(QLatin1String(".yml")))
            openSpec(file);
        else
            // A missing recording may be one that is being made: the opener looks for its working files.
            (file.endsWith(QLatin1String(".tscope")) && QFileInfo::exists(file) ? recordings : others)
                << file;
        RecentFiles::add(file);
    }
    if (recordings.isEmpty() && others.isEmpty() && !isElsewhere)
        return;
    // These pages do not show runs.
    if (currentPageName() == QLatin1String("experiment") || currentPageName() == QLatin1String("help"))
        showPage(QStringLiteral("overview"));
    if (!recordings.isEmpty())
        workspace_->openAndShow(recordings);
    opener_->follow(recordings);
    if (!others.isEmpty())
        opener_->open(others);
}

void MainWindow::openSpec(const QString& file)
{
    experiment_->openSpec(file);
    showPage(QStringLiteral("experiment"));
}

void MainWindow::chooseFiles()
{
    open(filesToOpen(this, tr("Open"), openFilters()));
}

RemoteFileDialog& MainWindow::chooseOnHost()
{
    auto* dialog = new RemoteFileDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setModal(true);
    connect(dialog, &RemoteFileDialog::chosen, this, [this](const QString& host, const QString& path) {
        if (currentPageName() == QLatin1String("experiment") || currentPageName() == QLatin1String("help"))
            showPage(QStringLiteral("overview"));
        opener_->openOnHost(host, path);
    });
    dialog->show();
    return *dialog;
}

void MainWindow::chooseFolder()
{
    const QString folder = folderToOpen(this, tr("Open folder"));
    if (!folder.isEmpty())
        open({folder});
}

RecordDialog& MainWindow::recordProgram()
{
    if (record_ == nullptr) {
        record_ = new RecordDialog(this);
        connect(record_, &RecordDialog::began, this, [this](const QString& file) { open({file}); });
        connect(record_, &RecordDialog::ended, this, [this](const QString& file) {
            if (!file.isEmpty()) {
                RecentFiles::add(file);
                workspace_->openAndShowLast(file);
            }
            closeIfWanted();
        });
    }
    record_->show();
    record_->raise();
    record_->activateWindow();
    return *record_;
}

const OpenFile* MainWindow::currentFile() const
{
    if (!workspace_->selection().empty())
        return workspace_->find(workspace_->selection().front().file);
    return workspace_->files().empty() ? nullptr : &workspace_->files().front();
}

void MainWindow::saveAs()
{
    if (const OpenFile* file = currentFile())
        opener_->saveAs(file->id);
}

void MainWindow::closeFile()
{
    if (const OpenFile* file = currentFile()) {
        savePreview(*file);
        workspace_->close(file->id);
    }
}

void MainWindow::exportPage()
{
    const std::vector<SelectedRun> runs = workspace_->selectedRuns();
    const QString title = runs.empty() ? QString() : runs.front().source() + QLatin1Char(' ');
    QStringList names;
    if (!runs.empty())
        names << QString::fromStdString(runs.front().file->shown().stem().string());
    constexpr std::size_t kNamed = 3;
    if (runs.size() > kNamed)
        names << counted(std::ssize(runs), "run");
    else
        for (const SelectedRun& run : runs)
            names << QStringLiteral("run%1").arg(run.run->run.value);
    names << currentPageName();
    ExportDialog dialog(exportsOf(*currentPage(), *dock_), title + currentPageName(), names, this);
    if (dialog.exec() == QDialog::Accepted)
        workspace_->confirmWritten(dialog.written());
}

void MainWindow::writeReport()
{
    const OpenFile* file = currentFile();
    if (file == nullptr)
        return;
    auto* dialog = new ReportDialog(QString::fromStdString(file->file->path().string()), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->show();
}

// Tables and plots have their own menus; this one serves cards, flags, findings and the grid of points.
void MainWindow::contextMenuEvent(QContextMenuEvent* event)
{
    if (!stack_->geometry().contains(centralWidget()->mapFrom(this, event->pos())))
        return QMainWindow::contextMenuEvent(event);
    QStringList names;
    for (const QWidget* at = childAt(event->pos()); at != nullptr && at != currentPage();
         at = at->parentWidget())
        names << (dynamic_cast<const KeyFigureCard*>(at) != nullptr ? keyFiguresName()
                                                                    : at->accessibleName());
    if (dynamic_cast<const MachinePage*>(currentPage()) != nullptr)
        names << findingsName();
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (const Exportable& one : exportsOf(*currentPage(), *dock_)) {
        if (one.name.isEmpty() || !one.table || !names.contains(one.name))
            continue;
        menu->addAction(tr("Copy as image"), this, [one, ratio = devicePixelRatio()] {
            QApplication::clipboard()->setImage(imageOf(one, one.size, ratio));
        });
        menu->addAction(tr("Copy data as table"), this, [table = *one.table] {
            QApplication::clipboard()->setText(tableText(table, QLatin1Char('\t')));
        });
        break;
    }
    menu->addAction(tr("Export…"), this, &MainWindow::exportPage);
    menu->popup(event->globalPos());
}

void MainWindow::showHelp(const QString& topic)
{
    showPage(QStringLiteral("help"));
    dynamic_cast<HelpPage&>(*currentPage()).showTopic(topic);
}

Page* MainWindow::currentPage() const
{
    return pages_[current_].page;
}

QString MainWindow::currentPageName() const
{
    return pages_[current_].name;
}

QString MainWindow::pageTitle(const QString& name) const
{
    for (const Entry& entry : pages_)
        if (entry.name == name)
            return entry.title;
    return {};
}

void MainWindow::showPageAt(int index)
{
    cursor_->clear();
    statusBar()->clearMessage(); // it was about the page before
    current_ = std::size_t(index);
    stack_->setCurrentWidget(made(pages_[current_]));
    losses_->setPage(currentPageName());
    timeFilter_->setPage(*currentPage());
    process_->setPage(*currentPage());
    written_->hide();
    selection_->setText(selected_[currentPage()]);
    currentPage()->takeFocus();
    rail_->setCurrent(index);
}

// The page that a view is on, unless it is on none.
void MainWindow::showPageOf(const QWidget* view)
{
    for (std::size_t i = 0; i < pages_.size(); ++i)
        if (const Page* page = pages_[i].page;
            page != nullptr && i != current_ && (page == view || page->isAncestorOf(view)))
            showPageAt(int(i));
}

bool MainWindow::showPage(const QString& name)
{
    for (std::size_t i = 0; i < pages_.size(); ++i) {
        if (pages_[i].name == name) {
            showPageAt(int(i));
            return true;
        }
    }
    return false;
}

Page* MainWindow::page(const QString& name)
{
    for (Entry& entry : pages_)
        if (entry.name == name)
            return made(entry);
    return nullptr;
}

QStringList MainWindow::pageNames() const
{
    QStringList names;
    for (const Entry& entry : pages_)
        names << entry.name;
    return names;
}

void MainWindow::updateTitle()
{
    const std::vector<SelectedRun> runs = workspace_->selectedRuns();
    QString name;
    if (!runs.empty())
        name = QString::fromStdString(runs.front().file->shown().filename().string());
    else if (!workspace_->files().empty())
        name = workspace_->files().front().name();
    setWindowTitle(name.isEmpty() ? QStringLiteral("Tilescope") : name + QStringLiteral(" – Tilescope"));
}

void MainWindow::restoreLayout(const QString& page)
{
    const QSettings settings;
    if (restoreGeometry(settings.value(QStringLiteral("window/geometry")).toByteArray()) && !isMaximized() &&
        !isFullScreen() && QGuiApplication::platformName() != QLatin1String("offscreen")) {
        // It may have been saved on a larger screen.
        const QRect available = screen()->availableGeometry();
        const QSize fitting = size().boundedTo(available.size() - frameRoom());
        resize(fitting);
        const QSize framed = fitting + frameRoom();
        move(std::clamp(x(), available.left(), available.left() + available.width() - framed.width()),
             std::clamp(y(), available.top(), available.top() + available.height() - framed.height()));
    }
    restoreState(settings.value(QStringLiteral("window/state")).toByteArray());
    if (!showPage(page)) // without a file, Overview shows how to begin; other pages would be empty
        showPage(QStringLiteral("overview"));
}

void MainWindow::closeIfWanted()
{
    if (closeAtEnd_)
        close();
}

// Asks before it ends a program that is recorded, and closes when the recording is complete.
bool MainWindow::mayEndProgram()
{
    if (record_ == nullptr || !record_->isRunning())
        return true;
    if (QMessageBox::question(this, tr("A program is recorded"),
                              tr("End the program and close? Its recording is completed.")) !=
        QMessageBox::Yes)
        return false;
    closeAtEnd_ = true;
    record_->end();
    return !record_->isRunning();
}

// Asks before it ends a sweep, and closes when the engine has ended.
bool MainWindow::mayClose()
{
    if (!mayEndProgram())
        return false;
    // A sweep on a host goes on without the window, which follows it again when it starts; queued ones are discarded.
    const bool isIdle = std::ranges::all_of(experiment_->queues().all(), [](const SweepQueue* queue) {
        return queue->waiting().empty() &&
               (queue->state() == SweepQueue::State::Idle || !queue->host().isEmpty());
    });
    if (!experiment_->isRunning())
        return isIdle || QMessageBox::question(
                             this, tr("Sweeps are queued"),
                             tr("Close and discard the points that have not been run? Finished points "
                                "stay in the file.")) == QMessageBox::Yes;
    if (QMessageBox::question(this, tr("A sweep is running"),
                              closeAtEnd_
                                  ? tr("The sweep is stopping after its step. Stop it at once?")
                                  : tr("Stop the sweep and close? Finished points stay in the file.")) !=
        QMessageBox::Yes)
        return false;
    if (!experiment_->isRunning())
        return true; // it ended while the question was open
    closeAtEnd_ = true;
    experiment_->stopAll();
    return false;
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (!mayClose())
        return event->ignore();
    if (isNarrow_ && dockWasShown_)
        dock_->show(); // it was folded, not closed by the user
    if (const OpenFile* file = currentFile())
        savePreview(*file);
    QSettings settings;
    settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
    settings.setValue(QStringLiteral("window/state"), saveState());
    QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    const QStringList paths = draggedPaths(*event->mimeData());
    if (paths.isEmpty())
        return;
    event->acceptProposedAction();
    showDrag(dropWords(paths));
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent*)
{
    showDrag({});
}

void MainWindow::dropEvent(QDropEvent* event)
{
    showDrag({});
    open(draggedPaths(*event->mimeData()));
}

// In the box of the start page, and on other pages in a box over them; empty: the drag has left.
void MainWindow::showDrag(const QString& words)
{
    if (start_ != nullptr)
        start_->showDrag(words);
    const bool needsVeil = !words.isEmpty() && (start_ == nullptr || !start_->isVisible());
    if (needsVeil && veil_ == nullptr)
        veil_ = new DropBox(DropBox::Ground::Veil, centralWidget());
    if (veil_ == nullptr)
        return;
    veil_->setDrag(words);
    veil_->setGeometry(QRect(stack_->mapTo(centralWidget(), QPoint()), stack_->size()));
    veil_->setVisible(needsVeil);
    veil_->raise();
}

// Keeps what the open files hold for the list of recent files.
void MainWindow::noteHeld()
{
    for (const OpenFile& file : workspace_->files())
        if (file.snapshot)
            RecentFiles::setHolds(QString::fromStdString(file.file->shown().string()),
                                  holdsText(*file.snapshot));
}

// A picture of the page for the list of recent files, if the page shows runs of the file.
void MainWindow::savePreview(const OpenFile& file)
{
    const QString page = currentPageName();
    if (workspace_->selection().empty() || page == QLatin1String("experiment") ||
        page == QLatin1String("help") || page == QLatin1String("machine"))
        return;
    RecentFiles::savePreview(QString::fromStdString(file.file->shown().string()), stack_->grab().toImage());
}

} // namespace tilescope::ui
