#pragma once

#include "ui/kit/controls.h"

#include <QString>

namespace tilescope::ui {

/// The place where something runs: this machine or a host of the user. Its last entry leads to the list of hosts.
class HostBox : public ComboBox {
    Q_OBJECT
public:
    explicit HostBox(const QString& accessibleName, QWidget* parent = nullptr);

    /// The chosen host by its name; empty: this machine.
    QString host() const;
    /// Chooses a host; one that is not in the list any more is added until the next reload.
    void setHost(const QString& host);
    /// Whether this machine can be chosen; it can by default.
    void setLocalShown(bool shown);
    /// Reads the list of hosts again.
    void reload();

signals:
    void hostChosen(const QString& host);
    /// The list of hosts is to be shown.
    void hostsWanted();

protected:
    void showPopup() override;

private:
    void take(int index);
    void dress();

    QString host_;
    bool showsLocal_ = true;
};

} // namespace tilescope::ui
