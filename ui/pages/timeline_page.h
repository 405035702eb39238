#pragma once

#include "ui/pages/page.h"
#include "ui/plots/timeline_view.h"

class QComboBox;
class QLabel;
class QPushButton;
class QSplitter;
class QStackedWidget;

namespace tilescope::ui {

class KeyValueTable;

/// The timelines of the selected runs, one above the other, with what is known about the selection below.
class TimelinePage : public Page {
    Q_OBJECT
public:
    explicit TimelinePage(Workspace& workspace, QWidget* parent = nullptr);

    TimelineView& view() { return *view_; }

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;

private:
    using Timelines = std::vector<std::shared_ptr<const query::Timeline>>;

    QWidget* makeTools();
    void loaded(const std::vector<SelectedRun>& runs, const Timelines& timelines);
    void align();
    void fillAlignments();
    void describeSelection();
    void showDetails(const query::ItemDetails& details);
    void showMessage(const QString& text);

    JobTracker loading_{this};
    JobTracker describing_{this};
    std::vector<SelectedRun> runs_;
    QComboBox* alignment_;
    QPushButton* back_;
    QPushButton* forward_;
    QStackedWidget* stack_;
    QLabel* message_;
    TimelineView* view_;
    QSplitter* splitter_;
    QLabel* detailsTitle_;
    KeyValueTable* details_;
};

} // namespace tilescope::ui
