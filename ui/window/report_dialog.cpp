#include "ui/window/report_dialog.h"

#include "core/base/paths.h"
#include "core/base/shell_word.h"
#include "core/query/file_session.h"
#include "core/report/report.h"
#include "ui/kit/controls.h"
#include "ui/kit/file_dialog.h"
#include "ui/kit/layouts.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QDesktopServices>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QUrl>

namespace tilescope::ui {

namespace {

constexpr const char* kAuthorKey = "report/author";

/// The program's last sentence; earlier lines are warnings.
QString lastLine(const QByteArray& output)
{
    return QString::fromUtf8(output).trimmed().section(QLatin1Char('\n'), -1);
}

} // namespace

ReportDialog::ReportDialog(QString recording, QWidget* parent)
    : QDialog(parent), recording_(std::move(recording)), title_(new QLineEdit), author_(new QLineEdit),
      study_(new ComboBox(tr("Studies"))), folder_(new QLineEdit),
      anonymous_(new QCheckBox(tr("without host, user and folders"))), command_(new QLabel),
      state_(new QLabel), write_(new QPushButton(tr("Write"))), show_(new QPushButton(tr("Show report")))
{
    setWindowTitle(tr("Write report"));
    const QFileInfo file(recording_);
    author_->setText(QSettings().value(QLatin1String(kAuthorKey)).toString());
    folder_->setText(file.dir().filePath(file.completeBaseName() + QStringLiteral("-report")));
    title_->setPlaceholderText(tr("the study's title, or the machine"));
    for (const auto& [field, name] :
         {std::pair(title_, tr("Title")), std::pair(author_, tr("Author")), std::pair(folder_, tr("Folder"))})
        field->setAccessibleName(name);
    study_->addItem(tr("All studies"));
    makeLayout();
    for (QLineEdit* field : {title_, author_, folder_})
        connect(field, &QLineEdit::textChanged, this, &ReportDialog::follow);
    connect(study_, &QComboBox::currentIndexChanged, this, &ReportDialog::follow);
    connect(anonymous_, &QCheckBox::toggled, this, &ReportDialog::follow);
    connect(write_, &QPushButton::clicked, this, &ReportDialog::write);
    connect(show_, &QPushButton::clicked, this, [this] {
        QDesktopServices::openUrl(
            QUrl::fromLocalFile(QDir(folder_->text()).filePath(QStringLiteral("index.html"))));
    });
    connect(&program_, &QProcess::finished, this, &ReportDialog::finish);
    connect(&program_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            finish(-1, QProcess::CrashExit);
    });
    show_->hide();
    follow();
    readStudies();
}

ReportDialog::~ReportDialog()
{
    program_.disconnect(this); // the destructor of QProcess ends the program
}

void ReportDialog::makeLayout()
{
    command_->setWordWrap(true);
    command_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    command_->setTextFormat(Qt::PlainText);
    command_->setProperty("kind", "dim");
    command_->setAccessibleName(tr("Command"));
    state_->setWordWrap(true);
    state_->setTextFormat(Qt::PlainText);
    auto* choose = new QPushButton(tr("Choose…"));
    choose->setAutoDefault(false);
    connect(choose, &QPushButton::clicked, this, &ReportDialog::chooseFolder);
    auto* folder = new QHBoxLayout;
    folder->setSpacing(sizes().of(8));
    folder->addWidget(folder_, 1);
    folder->addWidget(choose);
    auto* form = new QFormLayout;
    form->setHorizontalSpacing(sizes().margin);
    form->addRow(tr("Title"), title_);
    form->addRow(tr("Author"), author_);
    form->addRow(tr("Studies"), study_);
    form->addRow(tr("Folder"), folder);
    form->addRow(QString(), anonymous_);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QPushButton* copy = buttons->addButton(tr("Copy command"), QDialogButtonBox::ActionRole);
    buttons->addButton(show_, QDialogButtonBox::ActionRole);
    buttons->addButton(write_, QDialogButtonBox::ActionRole);
    write_->setDefault(true);
    connect(copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(command()); });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* layout = newLayout<QVBoxLayout>(this, sizes().margin, sizes().padding);
    layout->addLayout(form);
    layout->addWidget(command_);
    layout->addWidget(state_);
    layout->addWidget(buttons);
    setMinimumWidth(sizes().of(560));
}

void ReportDialog::readStudies()
{
    state_->setText(tr("Reading the studies…"));
    reading_.start(
        [path = recording_.toStdString()](const query::Cancelled&) {
            return std::make_shared<const report::Document>(report::studiesOf(path));
        },
        [this](const std::shared_ptr<const report::Document>& document) {
            for (const report::Section& section : document->sections)
                study_->addItem(QString::fromStdString(section.title), QString::fromStdString(section.study));
            state_->setText(document->sections.empty() ? tr("The file has no run of a study.") : QString());
            follow();
        },
        [this](const QString& reason) { state_->setText(reason); });
}

QStringList ReportDialog::arguments() const
{
    QStringList words{QStringLiteral("report"), recording_, QStringLiteral("-o"), folder_->text()};
    const std::pair<QString, QString> options[] = {
        {QStringLiteral("--title="), title_->text()},
        {QStringLiteral("--author="), author_->text()},
        {QStringLiteral("--study="), study_->currentData().toString()}};
    for (const auto& [option, value] : options)
        if (!value.isEmpty())
            words << option + value;
    if (anonymous_->isChecked())
        words << QStringLiteral("--anonymous");
    return words;
}

QString ReportDialog::command() const
{
    std::string line = "tilescope";
    for (const QString& word : arguments())
        line += " " + shellWord(word.toStdString());
    return QString::fromStdString(line);
}

void ReportDialog::follow()
{
    command_->setText(command());
    write_->setEnabled(study_->count() > 1 && !folder_->text().isEmpty() &&
                       program_.state() == QProcess::NotRunning);
}

void ReportDialog::chooseFolder()
{
    const QString folder = folderToOpen(this, tr("Folder of the report"), QFileInfo(folder_->text()).path());
    if (!folder.isEmpty())
        folder_->setText(folder);
}

void ReportDialog::write()
{
    QSettings().setValue(QLatin1String(kAuthorKey), author_->text());
    show_->hide();
    state_->setText(tr("Writing and drawing figures…"));
    program_.start(QString::fromStdString(siblingProgram("TILESCOPE_CLI", "tilescope").string()),
                   arguments());
    follow();
}

void ReportDialog::finish(int exitCode, QProcess::ExitStatus status)
{
    const bool written = status == QProcess::NormalExit && exitCode == 0;
    const QString last = lastLine(program_.readAllStandardError());
    if (written)
        state_->setText(tr("Written to %1. %2").arg(folder_->text(), last).trimmed());
    else
        state_->setText(last.isEmpty() ? program_.errorString() : last);
    show_->setVisible(written);
    follow();
    emit ended(written);
}

} // namespace tilescope::ui
