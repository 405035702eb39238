#include "ui/pages/experiment_page.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "ui/pages/controls.h"
#include "ui/pages/panel.h"
#include "ui/plots/table_view.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QRegularExpression>
#include <QSaveFile>
#include <QSplitter>
#include <QStyle>
#include <QTextBlock>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

constexpr int kCheckAfterMs = 150;
constexpr int kPaintEveryMs = 100;
constexpr int kReadEveryMs = 300;
constexpr int kLogLines = 2000;
constexpr int kBarSteps = 1000;
constexpr qint64 kLargestSpec = 1 << 20;

QPlainTextEdit* makeText(const QString& accessibleName)
{
    auto* text = new QPlainTextEdit;
    text->setAccessibleName(accessibleName);
    text->setAcceptDrops(false); // a file that is dropped is opened by the window
    text->setFrameShape(QFrame::NoFrame);
    text->document()->setDocumentMargin(sizes().padding - 2);
    return text;
}

void setKind(QLabel* label, const char* kind)
{
    label->setProperty("kind", kind);
    label->style()->unpolish(label);
    label->style()->polish(label);
}

} // namespace

ExperimentPage::ExperimentPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), worker_(new SweepWorker(this)), checks_(this)
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeTools());
    auto* splitter = new QSplitter(Qt::Horizontal);
    splitter->setHandleWidth(sizes().gap);
    splitter->setProperty("kind", "gap");
    splitter->setChildrenCollapsible(false);
    splitter->addWidget(makeSpecPanel());
    splitter->addWidget(makeRunPanel());
    splitter->setSizes({sizes().of(480), sizes().of(560)});
    auto* margins = new QVBoxLayout;
    margins->setContentsMargins(sizes().margin, sizes().margin, sizes().margin, sizes().margin);
    margins->addWidget(splitter);
    layout->addLayout(margins, 1);

    checkSoon_.setSingleShot(true);
    paintSoon_.setSingleShot(true);
    readSoon_.setSingleShot(true);
    connect(&checkSoon_, &QTimer::timeout, this, &ExperimentPage::check);
    connect(&paintSoon_, &QTimer::timeout, this, &ExperimentPage::paintProgress);
    connect(&readSoon_, &QTimer::timeout, this, [this] { this->workspace().open(recording_); });
    connect(editor_, &QPlainTextEdit::textChanged, this, [this] {
        current_ = false;
        markLine(0);
        updateButtons();
        checkSoon_.start(kCheckAfterMs);
    });
    connect(output_, &QLineEdit::textEdited, this, [this] { outputChosen_ = true; });
    connect(output_, &QLineEdit::textChanged, this, &ExperimentPage::updateButtons);
    connect(worker_, &SweepWorker::told, this, &ExperimentPage::take);
    connect(worker_, &SweepWorker::finished, this, [this](bool cancelled) {
        sweepEnded(cancelled ? tr("Cancelled: %1").arg(progress_.words(0)) : QString(), "dim");
    });
    connect(worker_, &SweepWorker::failed, this,
            [this](const QString& sentence) { sweepEnded(sentence, "error"); });
    connect(&Theme::instance(), &Theme::changed, this, &ExperimentPage::dress);
    dress();
    setFocusProxy(editor_);
    check();
    updateButtons();
}

ExperimentPage::~ExperimentPage()
{
    worker_->disconnect(this);
}

QWidget* ExperimentPage::makeTools()
{
    auto* tools = new ToolBar;
    QPushButton* open = tools->addButton(tr("Open spec…"), tr("Read a spec file into the editor"));
    connect(open, &QPushButton::clicked, this, &ExperimentPage::chooseSpec);
    examples_ = new MenuButton(tr("Examples"));
    fillExamples();
    tools->add(examples_);
    QPushButton* save = tools->addButton(tr("Save spec…"), tr("Write the editor's text to a file"));
    connect(save, &QPushButton::clicked, this, &ExperimentPage::saveSpec);
    QPushButton* line =
        tools->addButton(tr("Copy --batch line"), tr("The command that runs this spec without a window"));
    line->setObjectName(QStringLiteral("batch"));
    connect(line, &QPushButton::clicked, this, &ExperimentPage::copyBatchLine);
    tools->addStretch();
    tools->addWord(tr("Record into"));
    output_ = new QLineEdit(QDir::current().filePath(QStringLiteral("experiment.tscope")));
    output_->setAccessibleName(tr("Output file"));
    output_->setMinimumWidth(sizes().of(260));
    tools->add(output_);
    QPushButton* choose = tools->addButton(tr("…"), tr("Choose the file to record into"));
    choose->setAccessibleName(tr("Choose output file"));
    connect(choose, &QPushButton::clicked, this, &ExperimentPage::chooseOutput);
    tools->addGap();
    run_ = tools->addButton(tr("Run"), tr("Run every point of the sweep (Ctrl+R)"));
    run_->setObjectName(QStringLiteral("run"));
    run_->setProperty("kind", "primary");
    run_->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_R));
    connect(run_, &QPushButton::clicked, this, &ExperimentPage::run);
    cancel_ = tools->addButton(tr("Cancel"), tr("Stop after the step that runs; again: at once"));
    cancel_->setObjectName(QStringLiteral("cancel"));
    connect(cancel_, &QPushButton::clicked, this, &ExperimentPage::cancel);
    return tools;
}

QWidget* ExperimentPage::makeSpecPanel()
{
    specPanel_ = new Panel(tr("Spec"));
    editor_ = makeText(tr("Spec"));
    editor_->setObjectName(QStringLiteral("spec"));
    editor_->setLineWrapMode(QPlainTextEdit::NoWrap);
    editor_->setPlaceholderText(tr("workload: lm\nsize: tiny\nmode: train\nsweep:\n  batch: [1, 2, 4]"));
    verdict_ = new QLabel;
    verdict_->setObjectName(QStringLiteral("verdict"));
    verdict_->setWordWrap(true);
    verdict_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    verdict_->setMinimumHeight(sizes().of(40));
    verdict_->setContentsMargins(sizes().padding, sizes().of(6), sizes().padding, sizes().of(6));
    auto* rule = new QFrame;
    rule->setProperty("kind", "rule");
    rule->setFixedHeight(1);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(0, 0, 0, 0);
    content->setSpacing(0);
    content->addWidget(editor_, 1);
    content->addWidget(rule);
    content->addWidget(verdict_);
    specPanel_->setContent(content);
    return specPanel_;
}

QWidget* ExperimentPage::makeRunPanel()
{
    runPanel_ = new Panel(tr("Points"));
    runPanel_->setSubtitle(tr("no prediction yet"));
    status_ = new QLabel;
    status_->setObjectName(QStringLiteral("status"));
    status_->setWordWrap(true);
    status_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    bar_ = new QProgressBar;
    bar_->setRange(0, kBarSteps);
    bar_->setTextVisible(false);
    bar_->setAccessibleName(tr("Progress of the sweep"));
    auto* top = new QVBoxLayout;
    top->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    top->setSpacing(sizes().of(6));
    top->addWidget(status_);
    top->addWidget(bar_);
    table_ = new TableView;
    table_->setAccessibleName(tr("Points"));
    log_ = makeText(tr("Log"));
    log_->setObjectName(QStringLiteral("log"));
    log_->setReadOnly(true);
    log_->setMaximumBlockCount(kLogLines);
    log_->setPlaceholderText(tr("What the engine tells appears here."));
    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->setChildrenCollapsible(false);
    splitter->setHandleWidth(1);
    splitter->addWidget(table_);
    splitter->addWidget(log_);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 1);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(0, 0, 0, 0);
    content->setSpacing(0);
    content->addLayout(top);
    content->addWidget(splitter, 1);
    runPanel_->setContent(content);
    return runPanel_;
}

void ExperimentPage::fillExamples()
{
    try {
        const QDir folder(QString::fromStdString((resourcesDirectory() / "examples").string()));
        for (const QFileInfo& file :
             folder.entryInfoList({QStringLiteral("*.yaml")}, QDir::Files, QDir::Name))
            examples_->menu()->addAction(file.completeBaseName(), this,
                                         [this, path = file.filePath()] { openSpec(path); });
    } catch (const Error& error) {
        examples_->setToolTip(QString::fromStdString(error.sentence()));
    }
    examples_->setEnabled(!examples_->menu()->isEmpty());
}

void ExperimentPage::dress()
{
    editor_->setFont(Theme::instance().mono());
    log_->setFont(Theme::instance().mono());
    editor_->setTabStopDistance(2 * QFontMetricsF(editor_->font()).horizontalAdvance(QLatin1Char(' ')));
    if (current_)
        markLine(checked_.verdict.line);
}

void ExperimentPage::chooseSpec()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Open spec"), QFileInfo(specPath_).path(),
                                                      tr("Specs (*.yaml *.yml);;All files (*)"));
    if (!path.isEmpty())
        openSpec(path);
}

void ExperimentPage::chooseOutput()
{
    const QString path = QFileDialog::getSaveFileName(this, tr("Record into"), outputPath(),
                                                      tr("Recordings (*.tscope)"), nullptr,
                                                      QFileDialog::DontConfirmOverwrite); // runs are appended
    if (path.isEmpty())
        return;
    outputChosen_ = true;
    output_->setText(path);
}

void ExperimentPage::openSpec(const QString& path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return say(tr("%1: %2").arg(path, file.errorString()), "error");
    const QByteArray text = file.read(kLargestSpec + 1);
    if (text.size() > kLargestSpec)
        return say(tr("%1: larger than 1 MiB; that is no spec").arg(path), "error");
    specPath_ = QFileInfo(path).absoluteFilePath();
    specPanel_->setSubtitle(QFileInfo(path).fileName());
    if (!outputChosen_)
        output_->setText(
            QDir::current().filePath(QFileInfo(path).completeBaseName() + QStringLiteral(".tscope")));
    QTextCursor cursor(editor_->document()); // so that it can be undone
    cursor.select(QTextCursor::Document);
    cursor.insertText(QString::fromUtf8(text));
    editor_->moveCursor(QTextCursor::Start);
    editor_->document()->setModified(false);
}

// For a shell, which takes everything between single quotes as it is.
QString ExperimentPage::batchLine() const
{
    const auto quoted = [](QString text) {
        static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_./:=+-]+$"));
        return plain.match(text).hasMatch()
                   ? text
                   : QLatin1Char('\'') + text.replace(QLatin1Char('\''), QLatin1String("'\\''")) +
                         QLatin1Char('\'');
    };
    return QStringLiteral("tilescope --batch %1 -o %2").arg(quoted(specPath_), quoted(outputPath()));
}

void ExperimentPage::copyBatchLine()
{
    if (specPath_.isEmpty() || editor_->document()->isModified())
        return say(tr("Save the spec first: the line names its file."), "warning");
    QApplication::clipboard()->setText(batchLine());
    say(tr("Copied: %1").arg(batchLine()), "dim");
}

void ExperimentPage::saveSpec()
{
    const QString path = QFileDialog::getSaveFileName(this, tr("Save spec"), specPath_, tr("Specs (*.yaml)"));
    if (path.isEmpty())
        return;
    QSaveFile file(path);
    const QByteArray text = editor_->toPlainText().toUtf8();
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.commit())
        return say(tr("%1: %2").arg(path, file.errorString()), "error");
    specPath_ = path;
    specPanel_->setSubtitle(QFileInfo(path).fileName());
    editor_->document()->setModified(false);
}

void ExperimentPage::check()
{
    const std::string origin = specPath_.isEmpty() ? "spec" : QFileInfo(specPath_).fileName().toStdString();
    checks_.start(
        [text = editor_->toPlainText().toStdString(), origin](const std::function<bool()>&) {
            Checked checked{checkSpec(text, origin), {}};
            if (checked.verdict.good())
                checked.plan = SweepProgress(checked.verdict.points);
            return checked;
        },
        [this](Checked checked) { judged(std::move(checked)); },
        [this](const QString& sentence) { say(sentence, "error"); });
}

void ExperimentPage::judged(Checked checked)
{
    if (checkSoon_.isActive())
        return; // the text has changed meanwhile
    checked_ = std::move(checked);
    current_ = true;
    const bool empty = editor_->document()->isEmpty();
    if (checked_.verdict.good()) {
        const auto count = checked_.verdict.points->size();
        say(count == 1 ? tr("1 point, ready to run") : tr("%1 points, ready to run").arg(count), "dim");
        if (!isRunning()) {
            progress_ = checked_.plan;
            status_->setText(tr("Not run yet"));
            setKind(status_, "dim");
            bar_->setValue(0);
            paintProgress();
        }
    } else if (empty) {
        say(tr("Write a spec here, or open one."), "dim");
    } else {
        say(checked_.verdict.sentence, "error");
        markLine(checked_.verdict.line);
    }
    updateButtons();
}

void ExperimentPage::say(const QString& sentence, const char* kind)
{
    verdict_->setText(sentence);
    setKind(verdict_, kind);
}

void ExperimentPage::markLine(int line)
{
    QList<QTextEdit::ExtraSelection> marks;
    if (const QTextBlock block = editor_->document()->findBlockByNumber(line - 1);
        line > 0 && block.isValid()) {
        QTextEdit::ExtraSelection mark;
        mark.cursor = QTextCursor(block);
        mark.format.setBackground(blend(colours().error, colours().surface, 0.14));
        mark.format.setProperty(QTextFormat::FullWidthSelection, true);
        marks << mark;
    }
    editor_->setExtraSelections(marks);
}

QString ExperimentPage::outputPath() const
{
    return QFileInfo(output_->text().trimmed()).absoluteFilePath();
}

void ExperimentPage::run()
{
    if (isRunning() || !current_ || !checked_.verdict.good())
        return;
    progress_ = checked_.plan;
    recording_ = outputPath();
    log_->clear();
    bar_->setValue(0);
    status_->setText(tr("The engine starts"));
    setKind(status_, "dim");
    session::SweepOptions options;
    options.file = recording_.toStdString();
    options.commandLine = "tilescope-gui";
    sinceStart_.start();
    worker_->start(checked_.verdict.points, std::move(options));
    paintProgress();
    updateButtons();
}

void ExperimentPage::cancel()
{
    if (!isRunning())
        return;
    status_->setText(worker_->isStopping() ? tr("Ending the engine") : tr("Stopping after this step"));
    worker_->cancel();
    updateButtons();
}

void ExperimentPage::take(const std::vector<session::Event>& events)
{
    for (const session::Event& event : events) {
        if (const QString line = progress_.take(event); !line.isEmpty())
            log_->appendPlainText(line);
        // The file exists from its first point on, and each result adds a run to it.
        const bool newRow = std::holds_alternative<session::PointEvent>(event) ||
                            std::holds_alternative<session::ResultEvent>(event);
        if (newRow && !readSoon_.isActive())
            readSoon_.start(kReadEveryMs);
    }
    if (!paintSoon_.isActive())
        paintSoon_.start(kPaintEveryMs);
}

void ExperimentPage::sweepEnded(const QString& words, const char* kind)
{
    paintSoon_.stop();
    paintProgress();
    status_->setText(words.isEmpty() ? tr("Done: %1").arg(progress_.words(0)) : words);
    setKind(status_, kind);
    if (kind == std::string_view("error"))
        log_->appendPlainText(words);
    readSoon_.stop();
    if (QFileInfo::exists(recording_))
        workspace().open(recording_);
    updateButtons();
    emit ended();
}

void ExperimentPage::paintProgress()
{
    table_->show(progress_.table());
    runPanel_->setSubtitle(tr("%1, no prediction yet").arg(progress_.points().size()));
    if (!isRunning() && progress_.finished() == 0)
        return;
    bar_->setValue(int(progress_.fraction() * kBarSteps));
    if (isRunning() && !worker_->isStopping() && sinceStart_.isValid() && progress_.fraction() > 0)
        status_->setText(progress_.words(double(sinceStart_.elapsed()) / 1000));
}

void ExperimentPage::updateButtons()
{
    const bool named = !output_->text().trimmed().isEmpty();
    output_->setProperty("invalid", !named);
    output_->style()->polish(output_);
    output_->setToolTip(named ? outputPath() : tr("A file to record into is needed"));
    run_->setEnabled(!isRunning() && current_ && checked_.verdict.good() && named);
    cancel_->setEnabled(isRunning());
    cancel_->setText(isRunning() && worker_->isStopping() ? tr("End now") : tr("Cancel"));
}

} // namespace tilescope::ui
