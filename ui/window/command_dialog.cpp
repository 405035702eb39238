#include "ui/window/command_dialog.h"

#include "core/base/paths.h"
#include "core/base/shell_word.h"
#include "core/query/file_session.h"
#include "core/query/kernels/op_tables.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/file_dialog.h"
#include "ui/kit/layouts.h"
#include "ui/theme/theme.h"
#include "ui/window/output_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QDesktopServices>
#include <QDir>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kMostOps = 200; // of the list to choose from

struct Format {
    const char* option;
    const char* suffix; ///< empty: a folder
    const char* words;
};

// As `tilescope export --help` lists them.
constexpr std::array kFormats{
    Format{"--perfetto", ".pftrace",
           QT_TRANSLATE_NOOP("CommandDialog", "Perfetto: timeline for ui.perfetto.dev")},
    Format{
        "--kineto", ".json.gz",
        QT_TRANSLATE_NOOP("CommandDialog", "PyTorch: trace like its profiler's, for HolisticTraceAnalysis")},
    Format{"--snapshot", ".pickle",
           QT_TRANSLATE_NOOP("CommandDialog", "PyTorch: memory snapshot for memory_viz")},
    Format{"--arrow", "", QT_TRANSLATE_NOOP("CommandDialog", "Arrow: tables for pandas, polars and DuckDB")},
    Format{"--speedscope", ".json", QT_TRANSLATE_NOOP("CommandDialog", "speedscope: time by stack")},
    Format{"--folded", ".txt", QT_TRANSLATE_NOOP("CommandDialog", "Folded stacks for flamegraph.pl")},
    Format{"--pprof", ".pb.gz", QT_TRANSLATE_NOOP("CommandDialog", "pprof: time by stack")}};

QString commandTitle(Command command)
{
    switch (command) {
    case Command::Export:
        return CommandDialog::tr("Export for another program");
    case Command::Share:
        return CommandDialog::tr("Share as a web page");
    case Command::Merge:
        return CommandDialog::tr("Merge recordings");
    case Command::Verify:
        return CommandDialog::tr("Verify a recording");
    case Command::Compact:
        return CommandDialog::tr("Compact a recording");
    case Command::Replay:
        return CommandDialog::tr("Measure an op alone");
    case Command::Compile:
        return CommandDialog::tr("Compile the models of a spec");
    }
    return {};
}

QString sentenceOf(Command command)
{
    switch (command) {
    case Command::Export:
        return CommandDialog::tr("Writes the first selected run in the format of another tool.");
    case Command::Share:
        return CommandDialog::tr(
            "Writes one page with timeline, kernels and memory of the selected runs, which any "
            "browser shows without a network.");
    case Command::Merge:
        return CommandDialog::tr("Copies the runs of the open recordings into one file, except those that it "
                                 "already contains.");
    case Command::Verify:
        return CommandDialog::tr("Reads every row of the file and checks all counts and checksums.");
    case Command::Compact:
        return CommandDialog::tr("Writes the file anew without the space of deleted runs. Runs keep their "
                                 "numbers, notes and tags.");
    case Command::Replay:
        return CommandDialog::tr(
            "Measures one op of the run alone, with inputs of the recorded types, sizes and "
            "strides, beside its time in the recording.");
    case Command::Compile:
        return CommandDialog::tr(
            "Compiles the models of the points with compile: inductor, and compares their "
            "outputs with those of the eager model.");
    }
    return {};
}

QString verbOf(Command command)
{
    constexpr std::array kVerbs{"export", "share", "merge", "verify", "compact", "replay", "compile"};
    return QString::fromLatin1(kVerbs[std::size_t(command)]);
}

QPushButton* makeChooseButton()
{
    auto* choose = new QPushButton(CommandDialog::tr("Choose…"));
    choose->setAutoDefault(false);
    return choose;
}

} // namespace

CommandDialog::CommandDialog(Command command, std::vector<SelectedRun> runs, QStringList files,
                             QWidget* parent)
    : QDialog(parent), kind_(command), runs_(std::move(runs)), files_(std::move(files)), text_(new QLabel),
      state_(new QLabel), output_(new OutputView), run_(new QPushButton(tr("Run"))),
      folder_(new QPushButton(tr("Open folder")))
{
    setWindowTitle(commandTitle(kind_));
    auto* sentence = new SentenceLabel;
    sentence->setText(sentenceOf(kind_));
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::PlainText);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    text_->setFont(Theme::instance().mono());
    text_->setAccessibleName(tr("Command"));
    state_->setWordWrap(true);
    state_->setTextFormat(Qt::PlainText);
    state_->setAccessibleName(tr("State"));
    output_->setAccessibleName(tr("Output of the command"));
    output_->setMinimumHeight(sizes().of(160));
    output_->hide();
    auto* form = new QFormLayout;
    form->setHorizontalSpacing(sizes().margin);
    makeFields(*form);
    auto* copy = new QPushButton(tr("Copy command"));
    auto* close = new QPushButton(tr("Close"));
    connect(copy, &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(this->command()); });
    connect(close, &QPushButton::clicked, this, &QDialog::reject);
    connect(run_, &QPushButton::clicked, this, &CommandDialog::run);
    connect(folder_, &QPushButton::clicked, this, [this] {
        QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(outputFile_->text()).absolutePath()));
    });
    run_->setProperty("kind", "primary");
    run_->setDefault(true);
    folder_->hide();
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(sizes().gap);
    buttons->addWidget(copy);
    buttons->addStretch(1);
    for (QPushButton* button : {folder_, close, run_})
        buttons->addWidget(button);
    for (QPushButton* button : {copy, folder_, close})
        button->setAutoDefault(false);
    auto* layout = newLayout<QVBoxLayout>(this, sizes().margin, sizes().padding);
    layout->addWidget(sentence);
    layout->addLayout(form);
    layout->addWidget(text_);
    layout->addWidget(state_);
    layout->addWidget(output_, 1);
    layout->addStretch();
    layout->addLayout(buttons);
    setMinimumWidth(sizes().of(600));
    connect(&program_, &TerminalProgram::wrote, output_, &OutputView::add);
    connect(&program_, &TerminalProgram::ended, this, &CommandDialog::finish);
    follow();
}

void CommandDialog::makeFields(QFormLayout& form)
{
    switch (kind_) {
    case Command::Export:
        choice_ = new ComboBox(tr("Format"));
        for (const Format& format : kFormats)
            choice_->addItem(tr(format.words));
        form.addRow(tr("&Format"), choice_);
        addOutput(form, QString::fromLatin1(kFormats.front().suffix));
        connect(choice_, &QComboBox::currentIndexChanged, this, &CommandDialog::followFormat);
        break;
    case Command::Share:
        addOutput(form, QStringLiteral(".html"));
        break;
    case Command::Merge:
        addOutput(form, QStringLiteral("-merged.tscope"));
        break;
    case Command::Verify:
    case Command::Compact:
        break;
    case Command::Replay:
        choice_ = new ComboBox(tr("Op"));
        choice_->setEditable(true);
        choice_->lineEdit()->setAccessibleName(tr("Op"));
        choice_->lineEdit()->setPlaceholderText(QStringLiteral("aten::mm"));
        connect(choice_, &QComboBox::editTextChanged, this, &CommandDialog::follow);
        form.addRow(tr("&Op"), choice_);
        device_ = new ComboBox(tr("Device"));
        device_->setEditable(true);
        device_->lineEdit()->setAccessibleName(tr("Device"));
        device_->addItems({QStringLiteral("auto"), QStringLiteral("cpu"), QStringLiteral("cuda:0")});
        connect(device_, &QComboBox::editTextChanged, this, &CommandDialog::follow);
        form.addRow(tr("&Device"), device_);
        readOps();
        break;
    case Command::Compile:
        addInput(form);
        break;
    }
    if (kind_ == Command::Export || kind_ == Command::Share) {
        identity_ = new QCheckBox(tr("With host, command line and home folders"));
        connect(identity_, &QCheckBox::toggled, this, &CommandDialog::follow);
        form.addRow(QString(), identity_);
    }
}

QString CommandDialog::fileOfRun() const
{
    return runs_.empty() ? files_.value(0) : QString::fromStdString(runs_.front().file->path().string());
}

void CommandDialog::addOutput(QFormLayout& form, const QString& suffix)
{
    const QFileInfo of(runs_.empty() ? fileOfRun()
                                     : QString::fromStdString(runs_.front().file->shown().string()));
    const QDir folder(QFileInfo(of.absolutePath()).isWritable() ? of.absolutePath() : QDir::currentPath());
    outputFile_ = new QLineEdit(folder.filePath(of.completeBaseName() + suffix));
    outputFile_->setAccessibleName(tr("File to write"));
    connect(outputFile_, &QLineEdit::textChanged, this, &CommandDialog::follow);
    QPushButton* choose = makeChooseButton();
    choose->setAccessibleName(tr("Choose the file to write"));
    connect(choose, &QPushButton::clicked, this, [this] {
        const QString file = fileToSave(this, windowTitle(), outputFile_->text(), tr("All files (*)"));
        if (!file.isEmpty())
            outputFile_->setText(file);
    });
    auto* row = new QHBoxLayout;
    row->setSpacing(sizes().gap);
    row->addWidget(outputFile_, 1);
    row->addWidget(choose);
    form.addRow(tr("&Write to"), row);
    static_cast<QLabel*>(form.labelForField(row))->setBuddy(outputFile_);
}

void CommandDialog::addInput(QFormLayout& form)
{
    input_ = new QLineEdit;
    input_->setAccessibleName(tr("Spec"));
    input_->setPlaceholderText(tr("a .yaml file, or study:NAME"));
    connect(input_, &QLineEdit::textChanged, this, &CommandDialog::follow);
    QPushButton* choose = makeChooseButton();
    choose->setAccessibleName(tr("Choose the spec"));
    connect(choose, &QPushButton::clicked, this, [this] {
        const QString file = fileToOpen(this, windowTitle(), {}, tr("Specs (*.yaml *.yml)"));
        if (!file.isEmpty())
            input_->setText(file);
    });
    auto* row = new QHBoxLayout;
    row->setSpacing(sizes().gap);
    row->addWidget(input_, 1);
    row->addWidget(choose);
    form.addRow(tr("&Spec"), row);
    static_cast<QLabel*>(form.labelForField(row))->setBuddy(input_);
}

// The ops of the run to choose from, those with the most time first.
void CommandDialog::readOps()
{
    if (runs_.empty())
        return;
    reading_.start(
        [run = runs_.front()](const query::Cancelled&) {
            auto session = run.file->borrow();
            const query::OpsTable table = query::ops(session->reader(), {.run = run.key.run});
            QStringList names;
            for (const query::KernelRow& row : table.rows)
                if (names.size() < kMostOps)
                    names << QString::fromStdString(row.key);
            names.removeDuplicates();
            return names;
        },
        [this](const QStringList& names) {
            const QString typed = choice_->currentText();
            choice_->addItems(names);
            if (!typed.isEmpty())
                choice_->setEditText(typed);
        },
        [this](const QString& sentence) { state_->setText(sentence); });
}

// Another ending for another format.
void CommandDialog::followFormat()
{
    QString path = outputFile_->text();
    for (const Format& format : kFormats)
        if (const QString suffix = QString::fromLatin1(format.suffix);
            !suffix.isEmpty() && path.endsWith(suffix)) {
            path.chop(suffix.size());
            break;
        }
    outputFile_->setText(path + QString::fromLatin1(kFormats[std::size_t(choice_->currentIndex())].suffix));
    follow();
}

// What has to be given before the command can run.
QString CommandDialog::missing() const
{
    if (kind_ == Command::Compile)
        return input_->text().trimmed().isEmpty() ? tr("Name a spec.") : QString();
    if (fileOfRun().isEmpty())
        return tr("Open a recording and select a run first.");
    if (kind_ == Command::Compact && runs_.empty() && files_.size() > 1)
        return tr("Select a run of the recording first.");
    if (kind_ == Command::Compact && !runs_.empty() &&
        runs_.front().file->shown() != runs_.front().file->path())
        return tr("This is a copy; save it as a recording first (File > Save As).");
    if (kind_ == Command::Merge && files_.size() < 2)
        return tr("Open at least two recordings first.");
    if (kind_ == Command::Replay && choice_->currentText().trimmed().isEmpty())
        return tr("Name an op of the run.");
    if (outputFile_ != nullptr && outputFile_->text().trimmed().isEmpty())
        return tr("Name the file to write.");
    return {};
}

QStringList CommandDialog::arguments() const
{
    if (!missing().isEmpty())
        return {};
    QStringList words{verbOf(kind_)};
    const auto option = [&words](const char* name, const QString& value) {
        words << QString::fromLatin1(name) + QLatin1Char('=') + value;
    };
    switch (kind_) {
    case Command::Compile:
        words << input_->text().trimmed();
        return words;
    case Command::Merge:
        words << files_;
        break;
    default:
        words << fileOfRun();
        break;
    }
    if (kind_ == Command::Share) {
        std::set<RunId> shared;
        for (const SelectedRun& run : runs_)
            if (run.file == runs_.front().file && shared.insert(run.key.run).second)
                option("--run", QString::number(run.key.run.value));
    } else if ((kind_ == Command::Export || kind_ == Command::Replay) && !runs_.empty()) {
        option("--run", QString::number(runs_.front().key.run.value));
    }
    if (kind_ == Command::Replay) {
        option("--op", choice_->currentText().trimmed());
        if (device_->currentText() != QLatin1String("auto"))
            option("--device", device_->currentText().trimmed());
    }
    if (outputFile_ != nullptr)
        option(kind_ == Command::Export ? kFormats[std::size_t(choice_->currentIndex())].option : "--output",
               outputFile_->text().trimmed());
    if (identity_ != nullptr && identity_->isChecked())
        words << QStringLiteral("--with-identity");
    return words;
}

QString CommandDialog::command() const
{
    std::string line = "tilescope";
    for (const QString& word : arguments())
        line += " " + shellWord(word.toStdString());
    return QString::fromStdString(line);
}

void CommandDialog::follow()
{
    const QString lacks = missing();
    text_->setText(lacks.isEmpty() ? command() : QStringLiteral("tilescope %1 …").arg(verbOf(kind_)));
    state_->setText(lacks);
    folder_->hide();
    run_->setEnabled(lacks.isEmpty() && !program_.isRunning());
}

void CommandDialog::run()
{
    output_->restart();
    output_->show();
    run_->setEnabled(false);
    folder_->hide();
    state_->setText(tr("Running…"));
    program_.start(QString::fromStdString(siblingProgram("TILESCOPE_CLI", "tilescope").string()), arguments(),
                   QDir::currentPath());
}

void CommandDialog::finish(const QString& failed)
{
    run_->setEnabled(true);
    state_->setText(failed.isEmpty() ? tr("Done.") : tr("The command %1; its output says why.").arg(failed));
    folder_->setVisible(failed.isEmpty() && outputFile_ != nullptr);
    if (failed.isEmpty() && kind_ == Command::Merge)
        emit recordingWritten(outputFile_->text().trimmed());
    if (failed.isEmpty() && kind_ == Command::Compact)
        emit recordingReplaced(fileOfRun());
    emit ended(failed);
}

} // namespace tilescope::ui
