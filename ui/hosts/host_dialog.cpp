#include "ui/hosts/host_dialog.h"

#include "core/base/error.h"
#include "core/base/shell_word.h"
#include "ui/hosts/host_steps.h"
#include "ui/kit/controls.h"
#include "ui/kit/label_kind.h"
#include "ui/kit/layouts.h"
#include "ui/theme/theme.h"

#include <QCheckBox>
#include <QCompleter>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

using hosts::Host;
using hosts::HostKind;

/// The command that stores a host.
std::string commandOf(const Host& host)
{
    std::string line = "tilescope hosts add " + shellWord(host.name);
    const auto add = [&line](const std::string& option, const std::string& value) {
        line += " " + shellWord(option + "=" + value);
    };
    if (host.isLocal)
        line += " --local";
    else if (host.address != host.name)
        add("--address", host.address);
    if (host.kind == HostKind::Slurm)
        line += " --kind slurm";
    for (const std::string& each : host.setUp)
        add("--set-up", each);
    for (const std::string& each : host.sbatch)
        add("--sbatch", each);
    if (host.tasks != Host::kUsualTasks)
        add("--tasks", std::to_string(host.tasks));
    return line;
}

QStringList sshNames()
{
    QStringList names;
    try {
        const hosts::HostList list = hosts::HostList::ofUser();
        for (const std::string& name : list.sshNames())
            names << QString::fromStdString(name);
    } catch (const Error&) { // store() says it
    }
    return names;
}

} // namespace

HostDialog::HostDialog(const Host& host, QWidget* parent)
    : QDialog(parent), isNew_(host.name.empty()), checking_(new HostCheck(this)), name_(new QLineEdit),
      address_(new QLineEdit), kind_(new ComboBox(tr("Kind"))), setUp_(new QPlainTextEdit),
      local_(new QCheckBox(tr("This machine is the login node: without ssh"))),
      sbatchWord_(new QLabel(tr("Options of sbatch"))), sbatch_(new QLineEdit),
      tasksWord_(new QLabel(tr("Tasks at most"))), tasks_(new QSpinBox), command_(new QLabel),
      steps_(new HostSteps), state_(new SentenceLabel), check_(new QPushButton(tr("Check"))),
      store_(new QPushButton(isNew_ ? tr("Add host") : tr("Save")))
{
    setObjectName(QStringLiteral("hostDialog"));
    setWindowTitle(isNew_ ? tr("Add a host") : tr("Host %1").arg(QString::fromStdString(host.name)));
    name_->setText(QString::fromStdString(host.name));
    name_->setReadOnly(!isNew_);
    if (host.address != host.name)
        address_->setText(QString::fromStdString(host.address));
    kind_->addItems({tr("ssh: work starts at once"), tr("Slurm: work is submitted with sbatch")});
    kind_->setCurrentIndex(host.kind == HostKind::Slurm ? 1 : 0);
    QStringList lines;
    for (const std::string& line : host.setUp)
        lines << QString::fromStdString(line);
    setUp_->setPlainText(lines.join(QLatin1Char('\n')));
    std::string options;
    for (const std::string& option : host.sbatch)
        options += (options.empty() ? "" : " ") + shellWord(option);
    sbatch_->setText(QString::fromStdString(options));
    local_->setChecked(host.isLocal);
    tasks_->setRange(1, Host::kMostTasks);
    tasks_->setValue(host.tasks);

    command_->setWordWrap(true);
    command_->setTextFormat(Qt::PlainText);
    command_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    command_->setFont(Theme::instance().mono());
    command_->setProperty("kind", "dim");
    command_->setAccessibleName(tr("Command"));
    state_->setTextFormat(Qt::PlainText);
    state_->setAccessibleName(tr("State"));
    auto* layout = newLayout<QVBoxLayout>(this, sizes().margin, sizes().padding);
    layout->addWidget(makeFields());
    layout->addWidget(command_);
    layout->addWidget(steps_, 1);
    layout->addWidget(state_);
    layout->addWidget(makeButtons());
    setMinimumWidth(sizes().of(560));
    resize(sizes().of(640), sizes().of(600));

    for (QLineEdit* field : {name_, address_, sbatch_})
        connect(field, &QLineEdit::textChanged, this, &HostDialog::follow);
    connect(setUp_, &QPlainTextEdit::textChanged, this, &HostDialog::follow);
    connect(kind_, &QComboBox::currentIndexChanged, this, &HostDialog::follow);
    connect(local_, &QCheckBox::toggled, this, &HostDialog::follow);
    connect(tasks_, &QSpinBox::valueChanged, this, &HostDialog::follow);
    connect(check_, &QPushButton::clicked, this, [this] {
        if (!isChecking())
            return check();
        checking_->stop();
        steps_->finish();
        follow();
    });
    connect(store_, &QPushButton::clicked, this, &HostDialog::store);
    connect(checking_, &HostCheck::stepped, steps_, &HostSteps::add);
    connect(checking_, &HostCheck::ended, this, [this](const QString& failure) {
        steps_->finish();
        follow();
        if (failure.isEmpty())
            return;
        state_->setText(failure);
        setKind(state_, "error");
    });
    follow();
}

HostDialog::~HostDialog() = default;

QWidget* HostDialog::makeFields()
{
    auto* part = new QWidget;
    auto* grid = new QGridLayout(part);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(sizes().of(10));
    grid->setVerticalSpacing(sizes().of(6));
    grid->setColumnStretch(1, 1);
    name_->setObjectName(QStringLiteral("hostName"));
    name_->setAccessibleName(tr("Name"));
    name_->setPlaceholderText(tr("gpubox, or a name of ~/.ssh/config"));
    if (isNew_) {
        auto* completer = new QCompleter(sshNames(), this);
        completer->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
        name_->setCompleter(completer);
    }
    address_->setObjectName(QStringLiteral("hostAddress"));
    address_->setAccessibleName(tr("Address"));
    address_->setPlaceholderText(tr("USER@HOST; empty: the name"));
    setUp_->setAccessibleName(tr("Set-up lines"));
    setUp_->setPlaceholderText(QStringLiteral("module load cuda\nsource ~/venv/bin/activate"));
    setUp_->setTabChangesFocus(true);
    setUp_->setFont(Theme::instance().mono());
    setUp_->setFixedHeight(sizes().of(58));
    sbatch_->setAccessibleName(tr("Options of sbatch"));
    sbatch_->setPlaceholderText(QStringLiteral("--partition=gpu --gres=gpu:1 --time=60"));
    local_->setObjectName(QStringLiteral("hostIsLocal"));
    tasks_->setObjectName(QStringLiteral("hostTasks"));
    tasks_->setAccessibleName(tr("Tasks at most"));
    tasks_->setToolTip(tr("Tasks of Slurm among which the points of a sweep are divided at most"));
    tasks_->setButtonSymbols(QAbstractSpinBox::NoButtons); // arrow keys and the wheel do
    tasks_->setFixedWidth(sizes().of(80));
    int row = 0;
    const auto add = [&](QLabel* word, QWidget* field) {
        grid->addWidget(word, row, 0, field == setUp_ ? Qt::AlignTop : Qt::AlignVCenter);
        grid->addWidget(field, row, 1);
        ++row;
    };
    add(new QLabel(tr("Name")), name_);
    add(new QLabel(tr("Address")), address_);
    add(new QLabel(tr("Kind")), kind_);
    grid->addWidget(local_, row++, 1);
    auto* lines = new QLabel(tr("Set-up lines"));
    lines->setToolTip(tr("Lines for bash before anything runs there"));
    add(lines, setUp_);
    add(sbatchWord_, sbatch_);
    add(tasksWord_, tasks_);
    return part;
}

QWidget* HostDialog::makeButtons()
{
    auto* part = new QWidget;
    auto* row = newLayout<QHBoxLayout>(part, 0, sizes().gap);
    auto* note = new ElidedLabel;
    note->setText(tr("No passwords are stored: ssh asks for them."));
    note->setProperty("kind", "dim");
    auto* close = new QPushButton(tr("Cancel"));
    connect(close, &QPushButton::clicked, this, &QDialog::reject);
    store_->setProperty("kind", "primary");
    store_->setObjectName(QStringLiteral("storeHost"));
    check_->setObjectName(QStringLiteral("checkHost"));
    row->addWidget(note, 1);
    for (QPushButton* button : {check_, close, store_}) {
        button->setAutoDefault(button == store_);
        row->addWidget(button);
    }
    return part;
}

Host HostDialog::asked() const
{
    Host host{.name = name_->text().trimmed().toStdString()};
    host.kind = kind_->currentIndex() == 1 ? HostKind::Slurm : HostKind::Ssh;
    host.isLocal = host.kind == HostKind::Slurm && local_->isChecked();
    const QString address = address_->text().trimmed();
    host.address = address.isEmpty() || host.isLocal ? host.name : address.toStdString();
    for (const QString& line : setUp_->toPlainText().split(QLatin1Char('\n'), Qt::SkipEmptyParts))
        if (!line.trimmed().isEmpty())
            host.setUp.push_back(line.trimmed().toStdString());
    if (host.kind == HostKind::Slurm) {
        host.sbatch = splitShellWords(sbatch_->text().toStdString());
        host.tasks = tasks_->value();
    }
    return host;
}

// The command that stores the host, or what is wrong with it.
void HostDialog::follow()
{
    const bool isSlurm = kind_->currentIndex() == 1;
    for (QWidget* part :
         {static_cast<QWidget*>(sbatchWord_), static_cast<QWidget*>(sbatch_),
          static_cast<QWidget*>(tasksWord_), static_cast<QWidget*>(tasks_), static_cast<QWidget*>(local_)})
        part->setVisible(isSlurm);
    address_->setEnabled(!isSlurm || !local_->isChecked());
    QString problem;
    command_->setText(QStringLiteral("tilescope hosts add …"));
    try {
        const Host host = asked();
        if (!host.name.empty()) {
            hosts::HostList list = hosts::HostList::ofUser();
            list.add(host); // checks it; only store() saves
            command_->setText(QString::fromStdString(commandOf(host)));
        }
    } catch (const Error& error) {
        problem = QString::fromStdString(error.sentence()) + QLatin1Char('.');
    }
    const bool isUsable = problem.isEmpty() && !name_->text().trimmed().isEmpty();
    check_->setText(isChecking() ? tr("Stop") : steps_->findings().empty() ? tr("Check") : tr("Check again"));
    check_->setEnabled(isUsable || isChecking());
    store_->setEnabled(isUsable);
    state_->setText(problem);
    setKind(state_, "error");
    state_->setVisible(!problem.isEmpty() || state_->isVisible());
}

void HostDialog::check()
{
    steps_->restart();
    checking_->start(asked());
    follow();
}

void HostDialog::store()
{
    try {
        const Host host = asked();
        hosts::HostList list = hosts::HostList::ofUser();
        list.add(host);
        list.save();
        emit stored(QString::fromStdString(host.name));
        accept();
    } catch (const Error& error) {
        state_->setText(QString::fromStdString(error.sentence()));
        state_->show();
    }
}

} // namespace tilescope::ui
