#pragma once

#include "core/machine/machine.h"
#include "ui/kit/page.h"
#include "ui/kit/table_model.h"

class QGridLayout;
class QLabel;
class QWidget;

namespace tilescope::ui {

class Panel;
class TableView;

/// What this machine offers, with a remedy for everything that is missing, and the machine of the selected
/// runs.
class MachinePage : public Page {
    Q_OBJECT
public:
    explicit MachinePage(Workspace& workspace, QWidget* parent = nullptr);

    /// The findings as a table: verdict, topic, finding, remedy.
    TableData findingsTable() const;
    QString command() const override { return QStringLiteral("tilescope doctor"); }

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;
    void showEvent(QShowEvent* event) override;

private:
    QWidget* makeTools();
    void examine();
    void showFindings(const std::vector<machine::Finding>& findings);

    JobTracker examining_{this};
    JobTracker loading_{this};
    QLabel* summary_ = nullptr;
    Panel* recorded_ = nullptr;
    QWidget* findings_ = nullptr;
    TableView* facts_;
    std::vector<machine::Finding> shown_;
    bool asked_ = false;
};

} // namespace tilescope::ui
