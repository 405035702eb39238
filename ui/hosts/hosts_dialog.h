#pragma once

#include "ui/jobs/job_tracker.h"

#include <QDialog>
#include <QString>

#include <functional>
#include <stop_token>

class QPushButton;

namespace tilescope::ui {

class HostDialog;
class SentenceLabel;
class TableView;

/// The user's hosts, with buttons that add, examine and remove one. GUI thread.
class HostsDialog : public QDialog {
    Q_OBJECT
public:
    /// What a host is doing, by its name; empty: nothing.
    using StateOf = std::function<QString(const QString& host)>;

    explicit HostsDialog(StateOf stateOf, QWidget* parent = nullptr);
    ~HostsDialog() override;

    /// Reads the list and the states again.
    void refresh();
    /// Opens the dialog of a new host.
    HostDialog& add();
    /// Opens the dialog of the host of the current row and examines it.
    HostDialog* examine();

signals:
    /// The list of hosts was written.
    void listChanged();
    /// A sweep is to run on this host.
    void hostChosen(const QString& host);

private:
    QString current() const;
    void open(HostDialog* dialog);
    void remove();
    void removeFrom(const QString& host, bool files);
    void forget(const QString& host, const QString& removed);
    void follow();
    void say(const QString& sentence, const char* kind);

    StateOf stateOf_;
    JobTracker removing_{this};
    std::stop_source stop_;
    TableView* table_;
    SentenceLabel* state_;
    QPushButton* use_;
    QPushButton* check_;
    QPushButton* remove_;
};

} // namespace tilescope::ui
