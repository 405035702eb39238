#pragma once

#include "ui/models/timeline_rows.h"
#include "ui/pages/workspace.h"
#include "ui/plots/timeline_painter.h"

#include <QWidget>

class QLabel;

namespace tilescope::ui {

class KeyValueTable;
class TableView;

/// What lies below a timeline: on the left the kernels of the selected span or what a search found, on the
/// right everything known about the selected box. Owned by the page; GUI thread.
class TimelinePanel : public QWidget {
    Q_OBJECT
public:
    explicit TimelinePanel(Workspace& workspace, QWidget* parent = nullptr);

    void setRuns(std::vector<SelectedRun> runs);
    /// Follows what is selected in the scene: the table shows its span, the details its box.
    void follow(const TimelineScene& scene);
    /// Shows what a search found in place of the span, until something is selected.
    void showFound(const QString& words, const std::vector<FoundInRun>& runs,
                   const std::vector<FoundBox>& boxes);
    /// Whether the table keeps showing what was found.
    void setShowsFound(bool shows) { showsFound_ = shows; }
    /// The row of a found box becomes the current one.
    void setCurrentFound(std::size_t box);

signals:
    /// A found box was chosen in the table.
    void foundChosen(std::size_t box);
    /// In words, for the status bar.
    void selectionText(const QString& text);

private:
    QWidget* makeTable();
    QWidget* makeDetails();
    void followSpan(const TimelineScene& scene);
    void followItem(const TimelineScene& scene);
    void showSpans(const QString& title, const std::vector<SpanOfRun>& spans);
    void showDetails(const query::ItemDetails& details);

    Workspace& workspace_;
    JobTracker describing_{this};
    JobTracker adding_{this};
    std::vector<SelectedRun> runs_;
    bool showsFound_ = false;
    QLabel* tableTitle_ = nullptr;
    QLabel* tableWords_ = nullptr;
    TableView* table_ = nullptr;
    QLabel* detailsTitle_ = nullptr;
    KeyValueTable* details_ = nullptr;
};

} // namespace tilescope::ui
