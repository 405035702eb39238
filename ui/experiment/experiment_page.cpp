#include "ui/experiment/experiment_page.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/config/key_text.h"
#include "core/config/spec_file.h"
#include "core/config/study.h"
#include "core/session/supervisor/slurm_script.h"
#include "ui/experiment/queue_list.h"
#include "ui/experiment/run_bar.h"
#include "ui/experiment/run_view.h"
#include "ui/experiment/spec_editor.h"
#include "ui/hosts/host_box.h"
#include "ui/hosts/hosts_dialog.h"
#include "ui/jobs/thread_order.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/file_dialog.h"
#include "ui/kit/text_file.h"
#include "ui/theme/restyling.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileInfo>
#include <QInputDialog>
#include <QMenu>
#include <QPointer>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr qint64 kLargestSpec = 1 << 20;
constexpr int kUsualTasks = 16;
constexpr int kMostTasks = 1000;
constexpr const char* kDraftKey = "experiment/draft";
constexpr const char* kSpecKey = "experiment/spec";
constexpr const char* kHostKey = "experiment/host";

bool writeFile(const QString& path, const QByteArray& text, QString& problem)
{
    try {
        writeOutput(path.toStdString(), text.toStdString());
        return true;
    } catch (const Error& error) {
        problem = QString::fromStdString(error.sentence());
        return false;
    }
}

// Some styles draw a menu section's title as a line only.
void addHeading(QMenu& menu, const QString& words)
{
    menu.addAction(words)->setEnabled(false);
}

// Examples and presets are read-only, even if their files are writable.
bool comesWithTheProgram(const QString& path)
{
    const QString ours = QFileInfo(QString::fromStdString(resourcesDirectory().string())).canonicalFilePath();
    const QFileInfo file(path);
    const QString folder = QFileInfo(file.absolutePath()).canonicalFilePath();
    return !ours.isEmpty() && (folder + QLatin1Char('/')).startsWith(ours + QLatin1Char('/'));
}

} // namespace

ExperimentPage::ExperimentPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), queues_(new SweepQueues(this)), queue_(&queues_->here())
{
    connect(
        queue_, &SweepQueue::ended, this, [this] { emit ended(); }, Qt::QueuedConnection);
    connect(queues_, &SweepQueues::added, this, [this](SweepQueue* queue) {
        if (views_ != nullptr)
            addView(*queue);
    });
    connect(&workspace, &Workspace::runsWanted, this, &ExperimentPage::queueRuns);
    connect(queues_, &SweepQueues::changed, &workspace, &Workspace::queueChanged);
    workspace.setQueue([queues = QPointer(queues_)](const QString& file, const ExperimentSpec& spec) {
        return queues && queues->holds(file, spec);
    });
}

ExperimentPage::~ExperimentPage()
{
    queues_->disconnect(this);
    for (SweepQueue* queue : queues_->all())
        queue->disconnect(this);
    if (!isAssembled_)
        return;
    keepDraft();
    QSettings settings;
    if (arranged_)
        settings.setValue(QStringLiteral("experiment/splitter"), splitter_->saveState());
    settings.setValue(QStringLiteral("experiment/runs"), view_->splitter().saveState());
}

// The form has some hundred widgets: they are made and styled in several turns of the event loop, to keep each turn
// short, and shown together.
void ExperimentPage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    if (!std::exchange(isPreparing_, true) && content_ == nullptr)
        QTimer::singleShot(0, this, &ExperimentPage::prepare);
}

void ExperimentPage::prepare()
{
    if (content_ != nullptr && !content_->isHidden())
        return; // already built, because it was needed immediately
    if (content_ == nullptr) {
        makeEditor();
    } else if (view_ == nullptr) {
        makeRuns();
    } else if (!isAssembled_) {
        assemble();
        unpolished_ = Restyling::widgetsOf(*content_);
    } else if (Restyling::polishSome(unpolished_)) {
        return build();
    }
    ThreadOrder::give(); // there is more to do
    QTimer::singleShot(0, this, &ExperimentPage::prepare);
}

void ExperimentPage::build()
{
    if (!isAssembled_)
        assemble();
    content_->show();
    unpolished_.clear();
}

// Builds from the outside in: Qt styles a widget again whenever one of its ancestors gets a parent.
void ExperimentPage::makeEditor()
{
    content_ = new QWidget(this);
    content_->hide();
    makePlainColumn(this)->addWidget(content_);
    QVBoxLayout* layout = makePlainColumn(content_);
    layout->addWidget(makeTools());
    auto* margins = new QVBoxLayout;
    margins->setContentsMargins(sizes().margin, sizes().padding, sizes().margin, sizes().padding);
    layout->addLayout(margins, 1);
    // In a low window the page scrolls: the plots of a running point keep a height at which they can be read.
    scroll_ = new QScrollArea;
    margins->addWidget(scroll_);
    scroll_->setWidgetResizable(true);
    scroll_->setFrameShape(QFrame::NoFrame);
    scroll_->setFocusPolicy(Qt::NoFocus);
    splitter_ = new QSplitter(Qt::Vertical);
    // Before it has a parent, which styles it.
    splitter_->setProperty("kind", "gap");
    splitter_->setHandleWidth(sizes().gap);
    splitter_->setChildrenCollapsible(false);
    scroll_->setWidget(splitter_);
    // The plots of a running point appear at the lower end.
    QScrollBar* bar = scroll_->verticalScrollBar();
    connect(bar, &QScrollBar::rangeChanged, this, [this, bar](int, int most) {
        if (host_ != nullptr && queues_->of(host_->host()).state() != SweepQueue::State::Idle)
            bar->setValue(most);
    });
    editor_ = new SpecEditor(splitter_);
}

void ExperimentPage::makeRuns()
{
    auto* lower = new QWidget(splitter_);
    QVBoxLayout* below = makePlainColumn(lower);
    below->setSpacing(sizes().gap);
    bar_ = new RunBar(*queues_, lower);
    below->addWidget(bar_);
    views_ = new QStackedWidget(lower);
    below->addWidget(views_, 1);
    view_ = viewOf_[{}] = new RunView(*queue_, views_);
    views_->addWidget(view_);
    splitter_->setSizes({sizes().of(480), sizes().of(420)});
}

void ExperimentPage::assemble()
{
    if (content_ == nullptr)
        makeEditor();
    if (view_ == nullptr)
        makeRuns();
    isAssembled_ = true;
    connect(editor_, &SpecEditor::textChanged, this, [this] { bar_->setPlan(nullptr, {}); });
    connect(editor_, &SpecEditor::checked, this, &ExperimentPage::checked);
    connect(splitter_, &QSplitter::splitterMoved, this, [this] { arranged_ = true; });
    connect(bar_, &RunBar::wanted, this, [this](const SweepJob& job) { queues_->of(job.host).add(job); });
    connect(&bar_->queueList(), &QueueList::placeWanted, this, &ExperimentPage::setHost);
    for (SweepQueue* queue : queues_->all())
        addView(*queue);
    setFocusTarget(editor_->textField());
    const QSettings settings;
    arranged_ = splitter_->restoreState(settings.value(QStringLiteral("experiment/splitter")).toByteArray());
    view_->splitter().restoreState(settings.value(QStringLiteral("experiment/runs")).toByteArray());
    if (forecaster_ != nullptr)
        editor_->setForecaster(forecaster_);
    showPlace(settings.value(QLatin1String(kHostKey)).toString());
    restoreDraft();
}

// The view of a place follows its sweeps from the first event on, whether it is shown or not.
void ExperimentPage::addView(SweepQueue& queue)
{
    RunView*& view = viewOf_[queue.host()];
    if (view == nullptr) {
        view = new RunView(queue, views_);
        view->splitter().restoreState(view_->splitter().saveState());
        views_->addWidget(view);
        if (editor_->judged() != nullptr)
            view->setPlan(editor_->judged()->plan);
    }
    connect(&queue, &SweepQueue::began, this, [this, &queue] {
        if (queue.host() == host_->host())
            makeRoom();
    });
    connect(view, &RunView::recorded, this, [this](const QString& file) {
        workspace().open(file);
        emit recorded(file);
    });
    connect(view, &RunView::runChosen, this, &ExperimentPage::showRunOf);
    connect(view, &RunView::summarized, this, [this](const JobSummary& summary) {
        summaries_[summary.host] = summary;
        bar_->queueList().setSummary(summary);
        emit summarized(summary);
    });
    connect(view, &RunView::cellText, this, &Page::cursorText);
    connect(view, &RunView::machineWanted, this,
            [this] { emit workspace().pageWanted(QStringLiteral("machine")); });
}

void ExperimentPage::setHost(const QString& host)
{
    build();
    QSettings().setValue(QLatin1String(kHostKey), host);
    showPlace(host);
}

void ExperimentPage::showPlace(const QString& host)
{
    SweepQueue& queue = queues_->of(host); // may add its view
    view_ = viewOf_[queue.host()];
    views_->setCurrentWidget(view_);
    host_->setHost(host);
    bar_->setHost(host);
    const SpecEditor::Judged* judged = editor_->judged();
    bar_->setPlan(judged, judged != nullptr ? editor_->name() : QString());
}

QString ExperimentPage::stateOf(const QString& host) const
{
    const auto summary = summaries_.find(host);
    return summary != summaries_.end() && summary->second.shown ? summary->second.words : QString();
}

HostsDialog& ExperimentPage::showHosts()
{
    build();
    auto* dialog = new HostsDialog([this](const QString& host) { return stateOf(host); }, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setModal(true);
    connect(dialog, &HostsDialog::listChanged, host_, &HostBox::reload);
    connect(dialog, &HostsDialog::hostChosen, this, &ExperimentPage::setHost);
    dialog->show();
    return *dialog;
}

void ExperimentPage::takeUpStarted()
{
    const std::vector<SweepJob> jobs = SweepQueues::startedBefore();
    if (jobs.empty())
        return;
    build(); // the views follow the sweeps
    for (const SweepJob& job : jobs)
        queues_->of(job.host).add(job);
}

// Selects the run of a point and, if `opens`, shows it.
void ExperimentPage::showRunOf(const QString& file, std::int64_t run, const QString& specHash, bool opens)
{
    const std::filesystem::path path = QFileInfo(file).absoluteFilePath().toStdString();
    for (const OpenFile& open : workspace().files()) {
        if (open.file->path() != path || !open.snapshot)
            continue;
        const std::vector<query::RunSummary>& runs = open.snapshot->runs;
        const auto found = std::find_if(runs.rbegin(), runs.rend(), [&](const query::RunSummary& one) {
            return run > 0 ? one.run.value == run : one.specHash == specHash.toStdString();
        });
        if (found == runs.rend())
            continue;
        workspace().select({{open.id, found->run}});
        if (opens)
            emit workspace().pageWanted(QStringLiteral("overview"));
        return;
    }
    emit selectionText(tr("The run of this point is not in the list yet."));
}

// A running sweep gets more of the page, unless the user has moved the splitter.
void ExperimentPage::makeRoom()
{
    constexpr double kForSpec = 0.36;
    const int height = splitter_->height();
    if (!arranged_ && height > 0)
        splitter_->setSizes({int(kForSpec * height), int((1 - kForSpec) * height)});
    scroll_->verticalScrollBar()->setValue(scroll_->verticalScrollBar()->maximum());
}

QWidget* ExperimentPage::makeTools()
{
    auto* tools = new ToolBar(content_);
    const auto add = [&](const QString& text, const char* name, const QString& tip, auto does) {
        QPushButton* button = tools->addButton(text, tip);
        button->setObjectName(QLatin1String(name));
        connect(button, &QPushButton::clicked, this, does);
    };
    tools->addWord(tr("Start from"));
    studies_ = new MenuButton(tr("Study"));
    studies_->setObjectName(QStringLiteral("studies"));
    studies_->setToolTip(tr("Sweeps that come with the program"));
    tools->add(studies_);
    presets_ = new MenuButton(tr("Preset"));
    presets_->setObjectName(QStringLiteral("presets"));
    presets_->setToolTip(tr("Language models of common sizes"));
    tools->add(presets_);
    fillStudies();
    fillPresets();
    tools->addGap();
    tools->addWord(tr("Run on"));
    host_ = new HostBox(tr("Run on"));
    host_->setObjectName(QStringLiteral("runOn"));
    connect(host_, &HostBox::hostChosen, this, &ExperimentPage::setHost);
    connect(host_, &HostBox::hostsWanted, this, [this] { showHosts(); });
    tools->add(host_);
    tools->addStretch();
    add(tr("Open spec…"), "openSpec", tr("Read a spec file into the editor"), &ExperimentPage::chooseSpec);
    add(tr("Save spec…"), "saveSpec", tr("Write the editor's text to a file"), &ExperimentPage::saveSpec);
    add(tr("Copy as command"), "batch", tr("The command that runs this spec without a window"),
        &ExperimentPage::copyBatchLine);
    add(tr("Save sbatch script…"), "sbatch",
        tr("A job script that runs this spec as an array of Slurm tasks"), &ExperimentPage::saveSlurmScript);
    return tools;
}

void ExperimentPage::fillStudies()
{
    QMenu* menu = studies_->menu();
    try {
        addHeading(*menu, tr("Studies"));
        for (const std::string& name : config::studyNames()) {
            QMenu* parts = menu->addMenu(QString::fromStdString(name));
            // Read when the menu opens: there are many.
            connect(parts, &QMenu::aboutToShow, this, [this, parts, name] { fillParts(*parts, name); });
        }
        const QDir examples(QString::fromStdString((resourcesDirectory() / "examples").string()));
        menu->addSeparator();
        addHeading(*menu, tr("Examples"));
        for (const QFileInfo& file :
             examples.entryInfoList({QStringLiteral("*.yaml")}, QDir::Files, QDir::Name))
            menu->addAction(file.completeBaseName(), this,
                            [this, path = file.filePath()] { openSpec(path); });
    } catch (const Error& error) {
        studies_->setToolTip(QString::fromStdString(error.sentence()));
    }
    studies_->setEnabled(!menu->isEmpty());
}

void ExperimentPage::fillParts(QMenu& menu, const std::string& study)
{
    if (!menu.isEmpty())
        return;
    try {
        const config::Study whole = config::loadStudy(study);
        addHeading(menu, QString::fromStdString(whole.title));
        for (const config::StudyPart& part : whole.parts) {
            const auto use = [this, yaml = QString::fromStdString(part.yaml), study] {
                specPath_.clear();
                bar_->suggestOutput(QString::fromStdString(study));
                editor_->setText(yaml, QStringLiteral("spec"));
            };
            QAction* action =
                menu.addAction(QStringLiteral("%1: %2").arg(QString::fromStdString(part.name),
                                                            counted(std::ssize(part.specs), "point")),
                               this, use);
            action->setToolTip(QString::fromStdString(config::aboutOf(part)));
        }
        menu.setToolTipsVisible(true);
    } catch (const Error& error) {
        menu.addAction(QString::fromStdString(error.sentence()))->setEnabled(false);
    }
}

void ExperimentPage::fillPresets()
{
    try {
        for (const config::SizePreset& preset : config::sizePresets()) {
            const QString name = QString::fromStdString(preset.name);
            presets_->menu()->addAction(tr("%1: %2 of %3, %4")
                                            .arg(name, counted(preset.layers, "layer"))
                                            .arg(preset.dModel)
                                            .arg(counted(preset.heads, "head")),
                                        this, [this, name] { usePreset(name); });
        }
    } catch (const Error& error) {
        presets_->setToolTip(QString::fromStdString(error.sentence()));
    }
    presets_->setEnabled(!presets_->menu()->isEmpty());
}

// In a spec of the language model this sets one key; any other spec is replaced.
void ExperimentPage::usePreset(const QString& size)
{
    const SpecEditor::Judged* judged = editor_->judged();
    const bool isLm =
        judged != nullptr && judged->verdict.form && judged->verdict.form->workload() == Workload::Lm;
    if (isLm)
        editor_->setKey("size", {size});
    else
        editor_->setText(QStringLiteral("workload: lm\nmode: train\nsize: %1\n").arg(size),
                         QStringLiteral("spec"));
}

void ExperimentPage::setForecaster(std::shared_ptr<const Forecaster> forecaster)
{
    forecaster_ = std::move(forecaster);
    if (isAssembled_)
        editor_->setForecaster(forecaster_);
}

void ExperimentPage::stopAll()
{
    queue_->removeAll();
    queue_->cancel();
}

void ExperimentPage::queueRuns(const WantedRuns& wanted)
{
    build(); // its view follows the sweep and opens what it records
    SweepJob job;
    job.name = wanted.name;
    job.points = std::make_shared<const std::vector<session::SweepPoint>>(session::numbered(wanted.specs));
    job.file = wanted.file;
    job.onlyMissing = wanted.onlyMissing;
    queue_->add(std::move(job));
}

void ExperimentPage::chooseSpec()
{
    const QString path = fileToOpen(this, tr("Open spec"), QFileInfo(specPath_).path(),
                                    tr("Specs (*.yaml *.yml);;All files (*)"));
    if (!path.isEmpty())
        openSpec(path);
}

void ExperimentPage::openSpec(const QString& path)
{
    build();
    QByteArray text;
    try {
        text = readTextFile(path, kLargestSpec, tr("spec"));
    } catch (const Error& error) {
        return editor_->say(QString::fromStdString(error.sentence()), "error");
    }
    specPath_ = QFileInfo(path).absoluteFilePath();
    bar_->suggestOutput(QFileInfo(path).completeBaseName());
    editor_->setText(QString::fromUtf8(text), QFileInfo(path).fileName());
}

// The initial path for saving: the spec's own file, unless it belongs to the program or is not writable.
QString ExperimentPage::savePath() const
{
    const QFileInfo spec(specPath_);
    if (!specPath_.isEmpty() && !comesWithTheProgram(specPath_) && spec.isWritable())
        return specPath_;
    const QString name = specPath_.isEmpty() ? editor_->name() : spec.completeBaseName();
    return QDir::current().filePath(name + QStringLiteral(".yaml"));
}

void ExperimentPage::saveSpec()
{
    const QString path = fileToSave(this, tr("Save spec"), savePath(), tr("Specs (*.yaml)"));
    QString problem;
    if (path.isEmpty())
        return;
    if (comesWithTheProgram(path))
        return editor_->say(tr("%1 is part of the program: save the spec in another folder.").arg(path),
                            "error");
    if (!writeFile(path, editor_->text().toUtf8(), problem))
        return editor_->say(problem, "error");
    specPath_ = QFileInfo(path).absoluteFilePath();
    editor_->setOrigin(QFileInfo(path).fileName());
    editor_->setModified(false);
    workspace().confirmWritten(path);
}

// A spec that is not in a file as it is here becomes part of the command.
QString ExperimentPage::command() const
{
    if (bar_ == nullptr || editor_->text().trimmed().isEmpty())
        return {};
    const std::string output = bar_->outputPath().toStdString();
    const std::string host = host_->host().toStdString();
    return QString::fromStdString(isSaved()
                                      ? session::batchLine(specPath_.toStdString(), output, host)
                                      : session::batchText(editor_->text().toStdString(), output, host));
}

bool ExperimentPage::isSaved() const
{
    return !specPath_.isEmpty() && !editor_->isModified();
}

void ExperimentPage::copyBatchLine()
{
    const QString text = command();
    if (text.isEmpty())
        return editor_->say(tr("There is no spec: choose a study or write one."), "warning");
    QApplication::clipboard()->setText(text);
    editor_->say(isSaved() ? tr("Copied: %1").arg(text)
                           : tr("Copied: a command that contains the spec; paste it into a shell"),
                 "dim");
}

void ExperimentPage::saveSlurmScript()
{
    const SpecEditor::Judged* judged = editor_->judged();
    if (judged == nullptr || !judged->verdict.good())
        return editor_->say(tr("A job script needs a valid spec."), "warning");
    const int points = int(judged->verdict.points->size());
    bool accepted = false;
    const int tasks =
        QInputDialog::getInt(this, tr("Save sbatch script"), tr("Tasks of the job array, one GPU each:"),
                             std::min(points, kUsualTasks), 1, std::min(points, kMostTasks), 1, &accepted);
    if (!accepted)
        return;
    const QString path =
        fileToSave(this, tr("Save sbatch script"), editor_->name() + QStringLiteral(".sbatch"),
                   tr("Job scripts (*.sbatch)"));
    if (!path.isEmpty())
        writeSlurmScript(path, tasks);
}

bool ExperimentPage::writeSlurmScript(const QString& path, int tasks)
{
    build();
    QString problem;
    try {
        const QString folder = QFileInfo(bar_->outputPath()).absolutePath();
        const std::string script = session::slurmScript(
            editor_->name().toStdString(), editor_->text().toStdString(), folder.toStdString(), tasks);
        if (writeFile(path, QByteArray::fromStdString(script), problem)) {
            editor_->say(tr("Written: sbatch %1").arg(path), "dim");
            workspace().confirmWritten(path);
            return true;
        }
    } catch (const Error& error) {
        problem = QString::fromStdString(error.sentence());
    }
    editor_->say(problem, "error");
    return false;
}

void ExperimentPage::checked()
{
    const SpecEditor::Judged* judged = editor_->judged();
    bar_->setPlan(judged, editor_->name());
    for (const auto& [host, view] : viewOf_)
        view->setPlan(judged->plan);
}

void ExperimentPage::restoreDraft()
{
    const QSettings settings;
    const QString text = settings.value(QLatin1String(kDraftKey)).toString();
    specPath_ = settings.value(QLatin1String(kSpecKey)).toString();
    if (!QFileInfo::exists(specPath_))
        specPath_.clear();
    if (!specPath_.isEmpty())
        bar_->suggestOutput(QFileInfo(specPath_).completeBaseName());
    editor_->setText(text, specPath_.isEmpty() ? QStringLiteral("spec") : QFileInfo(specPath_).fileName());
    editor_->setModified(true); // it may differ from its file
}

void ExperimentPage::keepDraft() const
{
    const QString text = editor_->text();
    QSettings settings;
    settings.setValue(QLatin1String(kDraftKey), text.size() <= kLargestSpec ? text : QString());
    settings.setValue(QLatin1String(kSpecKey), specPath_);
}

} // namespace tilescope::ui
