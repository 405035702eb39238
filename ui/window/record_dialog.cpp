#include "ui/window/record_dialog.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/shell_word.h"
#include "core/exchange/import/recording/growing_recording.h"
#include "ui/hosts/host_box.h"
#include "ui/hosts/hosts_dialog.h"
#include "ui/kit/controls.h"
#include "ui/kit/file_dialog.h"
#include "ui/kit/layouts.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/window/output_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QVBoxLayout>

#include <utility>

namespace tilescope::ui {

namespace {

constexpr const char* kCommandKey = "record/command";
constexpr const char* kFolderKey = "record/folder";
constexpr int kLookMs = 300;

QString cli()
{
    return QString::fromStdString(siblingProgram("TILESCOPE_CLI", "tilescope").string());
}

QLabel* makeDim(const QString& text)
{
    auto* label = new QLabel(text);
    label->setProperty("kind", "dim");
    return label;
}

// A row of the form: words, the option beside them, and fields.
void addOptionRow(QGridLayout& grid, const QString& words, const QString& option,
                  const QList<QWidget*>& fields)
{
    const int row = grid.rowCount();
    grid.addWidget(new QLabel(words), row, 0);
    grid.addWidget(makeDim(option), row, 1);
    auto* line = new QHBoxLayout;
    line->setSpacing(sizes().of(6));
    for (QWidget* field : fields)
        line->addWidget(field, field == fields.front() ? 1 : 0);
    grid.addLayout(line, row, 2);
}

QGridLayout* makeGrid(QWidget* parent)
{
    auto* grid = new QGridLayout(parent);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(sizes().of(10));
    grid->setVerticalSpacing(sizes().of(6));
    grid->setColumnStretch(2, 1);
    return grid;
}

QPushButton* makeChoose(const QString& accessibleName)
{
    auto* choose = new QPushButton(RecordDialog::tr("Choose…"));
    choose->setAutoDefault(false);
    choose->setAccessibleName(accessibleName);
    return choose;
}

QCheckBox* makeBox(const QString& words, const QString& option, const QString& tip, bool isOn)
{
    auto* box = new QCheckBox(words);
    box->setChecked(isOn);
    box->setToolTip(QStringLiteral("%1 (%2)").arg(tip, option));
    box->setAccessibleDescription(option);
    return box;
}

QString newFile()
{
    return QDateTime::currentDateTime().toString(QStringLiteral("'tilescope-'yyyyMMdd-HHmmss'.tscope'"));
}

} // namespace

RecordDialog::RecordDialog(QWidget* parent)
    : QDialog(parent), host_(new HostBox(tr("Run on"))), command_(new QLineEdit), folder_(new QLineEdit),
      fileField_(new QLineEdit), begin_(new ComboBox(tr("Begin"))), beginAt_(new QLineEdit),
      seconds_(new QLineEdit), trace_(new ComboBox(tr("CUDA calls"))),
      graphs_(new ComboBox(tr("CUDA graphs"))),
      modules_(makeBox(tr("Modules"), QStringLiteral("--no-modules"),
                       tr("PyTorch's modules, optimizers and data loaders"), true)),
      memory_(makeBox(tr("Memory"), QStringLiteral("--no-memory"), tr("PyTorch's allocations"), true)),
      ops_(makeBox(tr("Ops"), QStringLiteral("--ops"), tr("PyTorch's ops with the shapes of their tensors"),
                   false)),
      stacks_(makeBox(tr("Python stacks"), QStringLiteral("--stacks"), tr("The calls of Python functions"),
                      false)),
      samples_(makeBox(tr("Host samples"), QStringLiteral("--host-samples"),
                       tr("Which lines of Python the GPU waits for, by 500 samples a second"), true)),
      inside_(makeBox(tr("Inside kernels"), QStringLiteral("--inside"),
                      tr("What the warps of kernels wait for, by line and instruction"), false)),
      metrics_(makeBox(tr("Metrics"), QStringLiteral("--metrics"),
                       tr("How busy multiprocessors, tensor pipe and memory are, every 100 µs"), false)),
      calibrates_(makeBox(tr("Measure the cost"), QStringLiteral("--calibrate"),
                          tr("Record blocks of steps in turn with blocks that are not recorded"), false)),
      yields_(makeBox(tr("Yield to torch.profiler"), QStringLiteral("--yield-to-torch"),
                      tr("Leave the GPU to torch.profiler as soon as the program starts it"), false)),
      stores_(makeBox(tr("Store command lines"), QStringLiteral("--no-command-line"),
                      tr("The command lines of the processes, without words that look like secrets"), true)),
      text_(new QLabel), state_(new QLabel), output_(new OutputView),
      copy_(new QPushButton(tr("Copy command"))), pause_(new QPushButton(tr("Stop recording"))),
      end_(new QPushButton(tr("End program"))), record_(new QPushButton(tr("Record")))
{
    setWindowTitle(tr("Record a program"));
    const QSettings settings;
    command_->setText(settings.value(QLatin1String(kCommandKey)).toString());
    folder_->setText(settings.value(QLatin1String(kFolderKey), QDir::currentPath()).toString());
    fileField_->setText(newFile());
    makeLayout();
    connect(&program_, &TerminalProgram::wrote, output_, &OutputView::add);
    connect(&program_, &TerminalProgram::ended, this, &RecordDialog::finish);
    connect(&control_, &TerminalProgram::wrote, this, [this](const QByteArray& words) { said_ += words; });
    connect(&control_, &TerminalProgram::ended, this, [this](const QString& failure) {
        if (failure.isEmpty())
            isPaused_ = !isPaused_;
        else
            output_->add(said_); // why not
        follow();
        tellTime();
    });
    connect(&timer_, &QTimer::timeout, this, &RecordDialog::look);
    follow();
}

RecordDialog::~RecordDialog() = default;

void RecordDialog::makeLayout()
{
    command_->setPlaceholderText(QStringLiteral("python train.py"));
    for (const auto& [field, name] :
         {std::pair(command_, tr("Program with its arguments")), std::pair(folder_, tr("Working folder")),
          std::pair(fileField_, tr("Recording")), std::pair(beginAt_, tr("Begin at")),
          std::pair(seconds_, tr("Seconds"))}) {
        field->setAccessibleName(name);
        connect(field, &QLineEdit::textChanged, this, &RecordDialog::follow);
    }
    seconds_->setPlaceholderText(tr("all"));
    begin_->addItems({tr("at once"), tr("at a step"), tr("after seconds"), tr("at a range")});
    trace_->addItems({tr("launches"), tr("all calls")});
    graphs_->addItems({tr("each kernel of a replay"), tr("replays as one kernel")});
    for (ComboBox* box : {begin_, trace_, graphs_})
        connect(box, &QComboBox::currentIndexChanged, this, &RecordDialog::follow);
    for (QCheckBox* box :
         {modules_, memory_, ops_, stacks_, samples_, inside_, metrics_, calibrates_, yields_, stores_})
        connect(box, &QCheckBox::toggled, this, &RecordDialog::follow);
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::PlainText);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    text_->setFont(Theme::instance().mono());
    text_->setAccessibleName(tr("Command"));
    state_->setWordWrap(true);
    state_->setTextFormat(Qt::PlainText);
    state_->setAccessibleName(tr("State"));
    output_->setAccessibleName(tr("Output of the program"));
    output_->setMinimumHeight(sizes().of(140));
    form_ = new QWidget;
    auto* form = newLayout<QVBoxLayout>(form_, 0, sizes().padding);
    form->addWidget(makeFields());
    form->addWidget(makeParts());
    form_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    auto* layout = newLayout<QVBoxLayout>(this, sizes().margin, sizes().padding);
    layout->addWidget(form_);
    layout->addWidget(text_);
    layout->addWidget(state_);
    layout->addWidget(output_, 1);
    layout->addWidget(makeButtons());
    output_->hide();
    setMinimumWidth(sizes().of(600));
}

QWidget* RecordDialog::makeFields()
{
    auto* part = new QWidget;
    QGridLayout* grid = makeGrid(part);
    chooseProgram_ = makeChoose(tr("Choose the program"));
    connect(chooseProgram_, &QPushButton::clicked, this, &RecordDialog::chooseProgram);
    chooseFolder_ = makeChoose(tr("Choose the working folder"));
    connect(chooseFolder_, &QPushButton::clicked, this, &RecordDialog::chooseFolder);
    host_->setObjectName(QStringLiteral("recordOn"));
    connect(host_, &HostBox::hostChosen, this, &RecordDialog::choosePlace);
    connect(host_, &HostBox::hostsWanted, this, [this] {
        auto* dialog = new HostsDialog([](const QString&) { return QString(); }, this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        connect(dialog, &HostsDialog::listChanged, host_, &HostBox::reload);
        connect(dialog, &HostsDialog::hostChosen, this, &RecordDialog::choosePlace);
        dialog->setModal(true);
        dialog->show();
    });
    addOptionRow(*grid, tr("Run on"), QStringLiteral("--on"), {host_});
    addOptionRow(*grid, tr("Program"), QStringLiteral("--"), {command_, chooseProgram_});
    addOptionRow(*grid, tr("Folder"), {}, {folder_, chooseFolder_});
    addOptionRow(*grid, tr("Recording"), QStringLiteral("-o"), {fileField_});
    beginAt_->setFixedWidth(sizes().of(160));
    addOptionRow(*grid, tr("Begin"), QStringLiteral("--steps, --delay, --from"), {begin_, beginAt_});
    addOptionRow(*grid, tr("Stop after, seconds"), QStringLiteral("--seconds"), {seconds_});
    addOptionRow(*grid, tr("CUDA calls"), QStringLiteral("--trace"), {trace_});
    addOptionRow(*grid, tr("CUDA graphs"), QStringLiteral("--graphs"), {graphs_});
    return part;
}

QWidget* RecordDialog::makeParts()
{
    auto* part = new QWidget;
    auto* grid = new QGridLayout(part);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(sizes().of(16));
    grid->setVerticalSpacing(sizes().of(4));
    int at = 0;
    constexpr int kInARow = 4;
    for (QCheckBox* box :
         {modules_, memory_, ops_, stacks_, samples_, inside_, metrics_, calibrates_, yields_, stores_}) {
        grid->addWidget(box, at / kInARow, at % kInARow);
        ++at;
    }
    return part;
}

QWidget* RecordDialog::makeButtons()
{
    auto* part = new QWidget;
    auto* row = newLayout<QHBoxLayout>(part, 0, sizes().gap);
    auto* close = new QPushButton(tr("Close"));
    record_->setProperty("kind", "primary");
    record_->setDefault(true);
    pause_->setToolTip(tr("The program goes on without being recorded (tilescope record --stop)"));
    end_->setToolTip(tr("As Ctrl+C in a terminal; a second time, SIGTERM. The recording is completed"));
    connect(copy_, &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(text_->text()); });
    connect(pause_, &QPushButton::clicked, this, &RecordDialog::pause);
    connect(end_, &QPushButton::clicked, this, &RecordDialog::end);
    connect(record_, &QPushButton::clicked, this, &RecordDialog::start);
    connect(close, &QPushButton::clicked, this, &QDialog::hide);
    row->addWidget(copy_);
    row->addStretch(1);
    for (QPushButton* button : {pause_, end_, close, record_}) {
        button->setAutoDefault(button == record_);
        row->addWidget(button);
    }
    return part;
}

RecordCommand RecordDialog::asked() const
{
    RecordCommand command;
    command.host = host_->host();
    command.program = command_->text();
    command.folder = folder_->text();
    command.file = fileField_->text().trimmed();
    command.begin = RecordCommand::Begin(begin_->currentIndex());
    command.beginAt = beginAt_->text().trimmed();
    command.seconds = seconds_->text().trimmed();
    command.modules = modules_->isChecked();
    command.memory = memory_->isChecked();
    command.ops = ops_->isChecked();
    command.stacks = stacks_->isChecked();
    command.hostSamples = samples_->isChecked();
    command.inside = inside_->isChecked();
    command.metrics = metrics_->isChecked();
    command.allCalls = trace_->currentIndex() == 1;
    command.wholeGraphs = graphs_->currentIndex() == 1;
    command.calibrates = calibrates_->isChecked();
    command.yieldsToTorch = yields_->isChecked();
    command.storesCommandLine = stores_->isChecked();
    return command;
}

// The command that would run, or what is missing.
void RecordDialog::follow()
{
    const bool runs = isRunning();
    form_->setEnabled(!runs);
    const bool isHere = host_->host().isEmpty();
    chooseProgram_->setEnabled(isHere); // they show files of this machine
    chooseFolder_->setEnabled(isHere);
    folder_->setPlaceholderText(isHere ? QString() : tr("a folder there (--cwd); empty: your home folder"));
    pause_->setVisible(runs && isHere);
    pause_->setText(isPaused_ ? tr("Record again") : tr("Stop recording"));
    end_->setVisible(runs);
    record_->setVisible(!runs);
    const auto begin = RecordCommand::Begin(begin_->currentIndex());
    beginAt_->setVisible(begin != RecordCommand::Begin::AtOnce);
    beginAt_->setPlaceholderText(begin == RecordCommand::Begin::Steps   ? QStringLiteral("10:12")
                                 : begin == RecordCommand::Begin::Delay ? QStringLiteral("2.5")
                                                                        : tr("name, or profiler-api"));
    if (runs)
        return;
    const RecordCommand command = asked();
    QString missing;
    try {
        text_->setText(command.text(QDir::currentPath()));
        if (command.file.isEmpty())
            missing = tr("Name the file of the recording.");
        else if (isHere && !QFileInfo(command.folder).isDir())
            missing = tr("There is no folder %1.").arg(command.folder);
        else if (begin != RecordCommand::Begin::AtOnce && command.beginAt.isEmpty())
            missing = tr("Say where the recording begins: %1.").arg(beginAt_->placeholderText());
    } catch (const Error& error) {
        text_->setText(QStringLiteral("tilescope record …"));
        missing = QString::fromStdString(error.sentence()) + QLatin1Char('.');
    }
    record_->setEnabled(missing.isEmpty());
    copy_->setEnabled(missing.isEmpty());
    state_->setText(missing);
}

// Each machine has folders of its own.
void RecordDialog::choosePlace(const QString& host)
{
    const bool wasHere = folder_->placeholderText().isEmpty();
    if (wasHere && !host.isEmpty()) {
        localFolder_ = folder_->text();
        folder_->clear();
    } else if (!wasHere && host.isEmpty()) {
        folder_->setText(localFolder_);
    }
    host_->setHost(host);
    follow();
}

void RecordDialog::chooseProgram()
{
    const QString program = fileToOpen(this, tr("Program"), folder_->text());
    if (!program.isEmpty())
        command_->setText(QString::fromStdString(shellPath(program.toStdString())));
}

void RecordDialog::chooseFolder()
{
    const QString folder = folderToOpen(this, tr("Working folder"), folder_->text());
    if (!folder.isEmpty())
        folder_->setText(folder);
}

void RecordDialog::start()
{
    const RecordCommand command = asked();
    QSettings settings;
    settings.setValue(QLatin1String(kCommandKey), command.program);
    if (command.host.isEmpty())
        settings.setValue(QLatin1String(kFolderKey), command.folder);
    file_ = command.path();
    isFound_ = isEnding_ = isPaused_ = false;
    output_->restart();
    output_->show();
    since_.start();
    timer_.start(kLookMs);
    program_.start(cli(), command.arguments(), command.workingFolder());
    follow();
    tellTime();
}

// The folder of working files appears as soon as the program starts.
void RecordDialog::look()
{
    tellTime();
    if (isFound_ || !host_->host().isEmpty())
        return; // what is recorded on a host arrives when the program has ended
    looking_.start([file = file_.toStdString()](
                       const auto&) { return exchange::GrowingRecording::of(file).has_value(); },
                   [this](bool isThere) {
                       if (!isThere || isFound_ || !isRunning())
                           return;
                       isFound_ = true;
                       emit began(file_);
                   },
                   [](const QString&) {}); // an unreadable folder; tilescope record says so
}

void RecordDialog::tellTime()
{
    if (!isRunning() || control_.isRunning())
        return;
    const qint64 seconds = since_.elapsed() / 1000;
    const QString time = timeText(1e9 * double(seconds));
    const QString name = QFileInfo(file_).fileName();
    state_->setText(isEnding_   ? tr("The program was asked to end; its recording is completed then.")
                    : isPaused_ ? tr("The program has run for %1 and is not recorded now.").arg(time)
                                : tr("Recording into %1 for %2.").arg(name, time));
}

void RecordDialog::pause()
{
    if (control_.isRunning())
        return;
    said_.clear();
    control_.start(cli(),
                   {QStringLiteral("record"),
                    isPaused_ ? QStringLiteral("--start") : QStringLiteral("--stop"),
                    QString::number(program_.pid())},
                   folder_->text());
}

void RecordDialog::end()
{
    if (std::exchange(isEnding_, true))
        program_.terminate();
    else
        program_.interrupt();
    tellTime();
}

void RecordDialog::finish(const QString& words)
{
    timer_.stop();
    looking_.cancel();
    const bool isWritten = QFileInfo::exists(file_);
    if (isWritten)
        fileField_->setText(newFile()); // the next one
    follow();
    const QString end = words.isEmpty() ? tr("The program has ended.") : tr("The program %1.").arg(words);
    state_->setText(isWritten ? end : tr("%1 No recording was written; the output says why.").arg(end));
    emit ended(isWritten && !isFound_ ? file_ : QString());
}

} // namespace tilescope::ui
