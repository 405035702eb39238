#include "ui/hosts/hosts_dialog.h"

#include "core/base/error.h"
#include "core/hosts/install.h"
#include "ui/hosts/host_dialog.h"
#include "ui/kit/controls.h"
#include "ui/kit/label_kind.h"
#include "ui/kit/layouts.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QMessageBox>
#include <QPushButton>
#include <QTimer>
#include <QVBoxLayout>

#include <utility>

namespace tilescope::ui {

namespace {

TableCell cell(const QString& text, Tone tone = Tone::Plain)
{
    TableCell made;
    made.text = text;
    made.tone = tone;
    return made;
}

TableColumn column(const QString& title, double width)
{
    TableColumn made;
    made.title = title;
    made.width = width;
    return made;
}

TableRow rowOf(const hosts::Host& host, const QString& state)
{
    TableRow row;
    const QString kind =
        host.kind == hosts::HostKind::Slurm ? HostsDialog::tr("Slurm") : HostsDialog::tr("ssh");
    row.cells = {cell(QString::fromStdString(host.name)), cell(kind),
                 cell(QString::fromStdString(host.address), Tone::Dim),
                 cell(host.isStored ? HostsDialog::tr("added") : HostsDialog::tr("~/.ssh/config"), Tone::Dim),
                 cell(state)};
    return row;
}

} // namespace

HostsDialog::HostsDialog(StateOf stateOf, QWidget* parent)
    : QDialog(parent), stateOf_(std::move(stateOf)), table_(new TableView), state_(new SentenceLabel),
      use_(new QPushButton(tr("Run there"))), check_(new QPushButton(tr("Check…"))),
      remove_(new QPushButton(tr("Remove…")))
{
    setObjectName(QStringLiteral("hostsDialog"));
    setWindowTitle(tr("Hosts"));
    auto* intro = new SentenceLabel(tr("Other machines that run sweeps and hold files. One ssh connection to "
                                       "each is shared by sweeps and files."));
    intro->setProperty("kind", "dim");
    table_->setAccessibleName(tr("Hosts"));
    auto* add = new QPushButton(tr("Add a host…"));
    add->setObjectName(QStringLiteral("addHost"));
    auto* close = new QPushButton(tr("Close"));
    connect(add, &QPushButton::clicked, this, [this] { this->add(); });
    connect(check_, &QPushButton::clicked, this, [this] { examine(); });
    connect(remove_, &QPushButton::clicked, this, &HostsDialog::remove);
    connect(use_, &QPushButton::clicked, this, [this] {
        emit hostChosen(current());
        accept();
    });
    connect(close, &QPushButton::clicked, this, &QDialog::reject);
    connect(table_, &TableView::chosen, this, &HostsDialog::follow);
    connect(table_, &TableView::activatedRow, this, [this] { examine(); });
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(sizes().gap);
    buttons->addWidget(add);
    buttons->addWidget(check_);
    buttons->addWidget(remove_);
    buttons->addStretch(1);
    buttons->addWidget(use_);
    buttons->addWidget(close);
    for (QPushButton* button : {add, check_, remove_, use_, close})
        button->setAutoDefault(false);
    auto* layout = newLayout<QVBoxLayout>(this, sizes().margin, sizes().padding);
    layout->addWidget(intro);
    layout->addWidget(table_, 1);
    layout->addWidget(state_);
    layout->addLayout(buttons);
    state_->hide();
    constexpr int kRefreshMs = 1000;
    auto* timer = new QTimer(this);
    connect(timer, &QTimer::timeout, this, &HostsDialog::refresh);
    timer->start(kRefreshMs);
    resize(sizes().of(680), sizes().of(340));
    refresh();
}

HostsDialog::~HostsDialog()
{
    stop_.request_stop();
}

void HostsDialog::refresh()
{
    TableData rows;
    rows.columns = {column(tr("Host"), 120), column(tr("Kind"), 70), column(tr("Address"), 0),
                    column(tr("From"), 100), column(tr("State"), 150)};
    const QString before = current();
    std::optional<std::int64_t> chosen;
    try {
        const hosts::HostList list = hosts::HostList::ofUser();
        std::vector<hosts::Host> shown = list.hosts();
        for (const std::string& name : list.sshNames())
            shown.push_back(*list.find(name));
        for (const hosts::Host& host : shown) {
            const QString name = QString::fromStdString(host.name);
            rows.rows.push_back(rowOf(host, stateOf_(name)));
            rows.rows.back().id = std::int64_t(rows.rows.size());
            if (name == before || !chosen)
                chosen = rows.rows.back().id;
        }
        if (shown.empty())
            say(tr("There are no hosts yet. Add one, or a Host to ~/.ssh/config."), "dim");
    } catch (const Error& error) {
        say(QString::fromStdString(error.sentence()), "error");
    }
    table_->show(std::move(rows));
    table_->setCurrentId(chosen);
    follow();
}

QString HostsDialog::current() const
{
    const std::optional<std::int64_t> id = table_->currentId();
    for (const TableRow& row : table_->table().rows)
        if (id && row.id == *id)
            return row.cells.front().text;
    return {};
}

void HostsDialog::follow()
{
    const QString host = current();
    bool isStored = false;
    try {
        const auto found = hosts::HostList::ofUser().find(host.toStdString());
        isStored = found && found->isStored;
    } catch (const Error&) { // refresh() has said it
    }
    for (QPushButton* button : {use_, check_})
        button->setEnabled(!host.isEmpty());
    remove_->setEnabled(isStored);
    remove_->setToolTip(isStored || host.isEmpty() ? QString()
                                                   : tr("%1 is a name of ~/.ssh/config").arg(host));
}

void HostsDialog::say(const QString& sentence, const char* kind)
{
    state_->setText(sentence);
    setKind(state_, kind);
    state_->setVisible(!sentence.isEmpty());
}

void HostsDialog::open(HostDialog* dialog)
{
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &HostDialog::stored, this, [this] {
        say({}, "dim");
        refresh();
        emit listChanged();
    });
    dialog->setModal(true);
    dialog->show();
}

HostDialog& HostsDialog::add()
{
    auto* dialog = new HostDialog({}, this);
    open(dialog);
    return *dialog;
}

HostDialog* HostsDialog::examine()
{
    try {
        auto* dialog = new HostDialog(hosts::HostList::ofUser().get(current().toStdString()), this);
        open(dialog);
        dialog->check();
        return dialog;
    } catch (const Error& error) {
        say(QString::fromStdString(error.sentence()), "error");
        return nullptr;
    }
}

void HostsDialog::remove()
{
    const QString host = current();
    QMessageBox question(QMessageBox::Question, tr("Remove a host"), tr("Remove %1 from the list?").arg(host),
                         QMessageBox::Yes | QMessageBox::Cancel, this);
    question.setInformativeText(
        stateOf_(host).isEmpty() ? QString() : tr("A sweep of this window is there: it goes on."));
    auto* files = new QCheckBox(tr("Also remove Tilescope's programs and finished work in its cache there"));
    question.setCheckBox(files);
    if (question.exec() == QMessageBox::Yes)
        removeFrom(host, files->isChecked());
}

void HostsDialog::removeFrom(const QString& host, bool files)
{
    if (!files)
        return forget(host, {});
    say(tr("Removing Tilescope's files on %1…").arg(host), "dim");
    stop_ = std::stop_source();
    removing_.start(
        [name = host.toStdString(), stop = stop_.get_token()](const auto&) {
            hosts::SshLink link(hosts::HostList::ofUser().get(name));
            link.open(stop);
            std::string folder = removeFiles(link, stop);
            link.close();
            return QString::fromStdString(folder);
        },
        [this, host](const QString& folder) { forget(host, folder); },
        [this](const QString& failure) { say(failure, "error"); });
}

void HostsDialog::forget(const QString& host, const QString& removed)
{
    try {
        hosts::HostList list = hosts::HostList::ofUser();
        list.remove(host.toStdString());
        list.save();
        say(removed.isEmpty() ? tr("%1 is no longer in the list.").arg(host)
                              : tr("%1 is no longer in the list; removed from %2 there.").arg(host, removed),
            "dim");
    } catch (const Error& error) {
        say(QString::fromStdString(error.sentence()), "error");
    }
    refresh();
    emit listChanged();
}

} // namespace tilescope::ui
