#include "ui/pages/main_window.h"

#include "ui/jobs/forecast.h"
#include "ui/pages/charts_page.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/experiment/job_status.h"
#include "ui/pages/experiment_page.h"
#include "ui/pages/export_dialog.h"
#include "ui/pages/help_page.h"
#include "ui/pages/kernels_page.h"
#include "ui/pages/key_sheet.h"
#include "ui/pages/machine_page.h"
#include "ui/pages/memory_page.h"
#include "ui/pages/overview_page.h"
#include "ui/pages/page_exports.h"
#include "ui/pages/page_rail.h"
#include "ui/pages/run_dock.h"
#include "ui/pages/timeline_page.h"
#include "ui/pages/window_menus.h"
#include "ui/plots/key_figure_card.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>

namespace tilescope::ui {

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent), workspace_(new Workspace(this)), rail_(new PageRail), stack_(new QStackedWidget),
      dock_(new RunDock(*workspace_, this)), cursor_(new QLabel), selection_(new QLabel), job_(new JobStatus)
{
    setObjectName(QStringLiteral("main"));
    setAcceptDrops(true);
    setMinimumSize(sizes().of(1100), sizes().of(700));
    resize(sizes().of(1600), sizes().of(1000));
    auto* central = new QWidget;
    auto* layout = new QHBoxLayout(central);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(rail_);
    layout->addWidget(stack_, 1);
    setCentralWidget(central);
    addDockWidget(Qt::RightDockWidgetArea, dock_);
    resizeDocks({dock_}, {sizes().dock}, Qt::Horizontal);

    cursor_->setMinimumWidth(sizes().of(250));
    cursor_->setContentsMargins(sizes().of(12), 0, 0, 0);
    statusBar()->setSizeGripEnabled(false);
    statusBar()->addWidget(cursor_);
    statusBar()->addWidget(selection_, 1);
    statusBar()->addPermanentWidget(job_);

    addPage<OverviewPage>("overview", tr("Overview"), Icon::Overview);
    experiment_ = new ExperimentPage(*workspace_, stack_);
    experiment_->setForecaster(machineForecaster());
    experiment_->hide();
    addPage(QStringLiteral("experiment"), tr("Experiment"), Icon::Experiment, [this] { return experiment_; });
    addPage<TimelinePage>("timeline", tr("Timeline"), Icon::Timeline);
    addPage<KernelsPage>("kernels", tr("Kernels"), Icon::Kernels);
    addPage<MemoryPage>("memory", tr("Memory"), Icon::Memory);
    addPage<ComparePage>("compare", tr("Compare"), Icon::Compare);
    addPage<ChartsPage>("charts", tr("Charts"), Icon::Charts);
    addPage<MachinePage>("machine", tr("Machine"), Icon::Machine);
    addPage(
        QStringLiteral("help"), tr("Help"), Icon::Help,
        [this] { return new HelpPage(*workspace_, [this] { return keysMarkdown(keyGroups(*this)); }); },
        true);
    connect(workspace_, &Workspace::pageWanted, this, &MainWindow::showPage);
    connect(workspace_, &Workspace::targetWanted, this,
            [this](const QString& name, const PageTarget& target) {
                if (showPage(name))
                    page(name)->goTo(target);
            });
    connect(rail_, &PageRail::chosen, this, &MainWindow::showPageAt);
    connect(workspace_, &Workspace::filesChanged, this, &MainWindow::updateTitle);
    connect(workspace_, &Workspace::selectionChanged, this, &MainWindow::updateTitle);
    connect(experiment_, &ExperimentPage::ended, this, [this] {
        if (closeAtEnd_)
            close();
    });
    connect(experiment_, &ExperimentPage::summarized, job_, &JobStatus::show);
    connect(job_, &JobStatus::cancelled, &experiment_->queue(), &SweepQueue::cancel);
    connect(job_, &JobStatus::opened, this, [this] { showPage(QStringLiteral("experiment")); });
    new WindowMenus(*this);
    restoreLayout();
    updateTitle();
}

MainWindow::~MainWindow() = default;

void MainWindow::addPage(const QString& name, const QString& title, Icon icon, std::function<Page*()> make,
                         bool atBottom)
{
    const int index = int(pages_.size());
    rail_->add(index, icon, title, QKeySequence(Qt::CTRL | Qt::Key(Qt::Key_1 + index)).toString(), atBottom);
    pages_.push_back({name, title, std::move(make), nullptr});
}

template <class Kind> void MainWindow::addPage(const char* name, const QString& title, Icon icon)
{
    addPage(QString::fromLatin1(name), title, icon, [this] { return new Kind(*workspace_); });
}

Page* MainWindow::made(Entry& entry)
{
    if (entry.page != nullptr)
        return entry.page;
    entry.page = entry.make();
    stack_->addWidget(entry.page);
    connect(entry.page, &Page::cursorText, cursor_, &QLabel::setText);
    connect(entry.page, &Page::selectionText, this, [this, page = entry.page](const QString& text) {
        selected_[page] = text; // a page that is come back to has it still
        if (page == currentPage())
            selection_->setText(text);
    });
    connect(entry.page, &Page::exportWanted, this, &MainWindow::exportPage);
    return entry.page;
}

void MainWindow::open(const QStringList& files)
{
    for (const QString& file : files) {
        if (file.endsWith(QLatin1String(".yaml")) || file.endsWith(QLatin1String(".yml")))
            openSpec(file);
        else
            workspace_->open(file);
        RecentFiles::add(file);
    }
}

void MainWindow::openSpec(const QString& file)
{
    experiment_->openSpec(file);
    showPage(QStringLiteral("experiment"));
}

void MainWindow::chooseFiles()
{
    open(QFileDialog::getOpenFileNames(this, tr("Open"), {},
                                       tr("Recordings and specs (*.tscope *.yaml *.yml);;All files (*)")));
}

void MainWindow::closeFile()
{
    if (!workspace_->selection().empty())
        workspace_->close(workspace_->selection().front().file);
    else if (!workspace_->files().empty())
        workspace_->close(workspace_->files().front().id);
}

void MainWindow::exportPage()
{
    const std::vector<SelectedRun> runs = workspace_->selectedRuns();
    const QString name = runs.empty() ? QString() : runs.front().source() + QLatin1Char(' ');
    ExportDialog(exportsOf(*currentPage(), *dock_), name + currentPageName(), this).exec();
}

// Tables and plots have menus of their own; what has none comes here: cards, flags, findings, the grid of
// points.
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
    current_ = std::size_t(index);
    stack_->setCurrentWidget(made(pages_[current_]));
    selection_->setText(selected_[currentPage()]);
    stack_->currentWidget()->setFocus();
    rail_->setCurrent(index);
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
        name = QString::fromStdString(runs.front().file->path().filename().string());
    else if (!workspace_->files().empty())
        name = workspace_->files().front().name();
    setWindowTitle(name.isEmpty() ? QStringLiteral("Tilescope") : name + QStringLiteral(" – Tilescope"));
}

void MainWindow::restoreLayout()
{
    const QSettings settings;
    restoreGeometry(settings.value(QStringLiteral("window/geometry")).toByteArray());
    restoreState(settings.value(QStringLiteral("window/state")).toByteArray());
    if (!showPage(settings.value(QStringLiteral("window/page")).toString()))
        showPage(QStringLiteral("overview"));
}

// A sweep is not ended behind the user's back: the window asks, and closes when the engine is gone.
bool MainWindow::mayClose()
{
    if (!experiment_->isRunning())
        return experiment_->queue().state() == SweepQueue::State::Idle ||
               QMessageBox::question(this, tr("Sweeps are waiting"),
                                     tr("Close and forget the points that have not been run? Points that are "
                                        "finished stay in the file.")) == QMessageBox::Yes;
    if (QMessageBox::question(
            this, tr("A sweep is running"),
            closeAtEnd_ ? tr("The sweep is stopping after its step. End it at once?")
                        : tr("Stop the sweep and close? Points that are finished stay in the file.")) !=
        QMessageBox::Yes)
        return false;
    if (!experiment_->isRunning())
        return true; // it ended while the question stood
    closeAtEnd_ = true;
    experiment_->stopAll();
    return false;
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (!mayClose())
        return event->ignore();
    QSettings settings;
    settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
    settings.setValue(QStringLiteral("window/state"), saveState());
    settings.setValue(QStringLiteral("window/page"), currentPageName());
    QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (event->mimeData()->hasUrls())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    QStringList files;
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile())
            files << url.toLocalFile();
    open(files);
}

} // namespace tilescope::ui
