#include "ui/hosts/host_box.h"

#include "core/base/error.h"
#include "core/hosts/host_list.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QSignalBlocker>

namespace tilescope::ui {

namespace {

constexpr int kName = Qt::UserRole;

QString kindOf(const hosts::Host& host)
{
    return host.kind == hosts::HostKind::Slurm ? HostBox::tr("Slurm") : HostBox::tr("ssh");
}

} // namespace

HostBox::HostBox(const QString& accessibleName, QWidget* parent) : ComboBox(accessibleName, parent)
{
    setSizeAdjustPolicy(QComboBox::AdjustToContents);
    connect(this, &QComboBox::activated, this, &HostBox::take);
    connect(&Theme::instance(), &Theme::changed, this, &HostBox::dress);
    reload();
}

QString HostBox::host() const
{
    return host_;
}

void HostBox::setHost(const QString& host)
{
    host_ = host;
    const QSignalBlocker quiet(this);
    int index = findData(host, kName);
    if (index < 0) {
        index = showsLocal_ ? count() - 2 : count(); // before the line and the last entry
        insertItem(index, tr("%1  not in the list").arg(host), host);
    }
    setCurrentIndex(index);
}

void HostBox::setLocalShown(bool shown)
{
    showsLocal_ = shown;
    reload();
}

void HostBox::reload()
{
    const QSignalBlocker quiet(this);
    clear();
    addItem(showsLocal_ ? tr("This machine") : tr("Host"), QString());
    QString problem;
    try {
        const hosts::HostList list = hosts::HostList::ofUser();
        for (const hosts::Host& host : list.hosts()) {
            const QString name = QString::fromStdString(host.name);
            addItem(QStringLiteral("%1  %2").arg(name, kindOf(host)), name);
        }
        for (const std::string& name : list.sshNames())
            addItem(tr("%1  of ~/.ssh/config").arg(QString::fromStdString(name)),
                    QString::fromStdString(name));
    } catch (const Error& error) {
        problem = QString::fromStdString(error.sentence());
    }
    setToolTip(problem.isEmpty() ? tr("Where the sweep runs: this machine, or another one over ssh")
                                 : problem);
    if (showsLocal_) {
        insertSeparator(count());
        addItem(tr("Hosts…"), QVariant());
    }
    dress();
    setHost(host_);
}

void HostBox::dress()
{
    for (int i = 0; i < count(); ++i)
        if (itemData(i, kName).isValid())
            setItemIcon(i, makeIcon(itemData(i, kName).toString().isEmpty() ? Icon::Machine : Icon::Swap,
                                    colours().dimText, sizes().of(14)));
}

void HostBox::showPopup()
{
    reload(); // the command line may have changed it
    ComboBox::showPopup();
}

void HostBox::take(int index)
{
    if (showsLocal_ && index == count() - 1) {
        setHost(host_);
        emit hostsWanted();
        return;
    }
    const QString host = itemData(index, kName).toString();
    if (host == host_)
        return;
    host_ = host;
    emit hostChosen(host);
}

} // namespace tilescope::ui
