#pragma once

#include "ui/kit/workspace.h"
#include "ui/timeline/timeline_rows.h"
#include "ui/timeline/timeline_scene.h"

#include <QWidget>

class QAction;
class QLabel;
class QPushButton;

namespace tilescope::ui {

class KeyValueTable;
class TableView;

/// A link from the selected box to a related one.
struct TimelineLink {
    QString text;
    QString tip;
    QAction* does = nullptr;
};

/// The panel below a timeline: on the left the kernels of the selected span, the results of a search, or the
/// notes; on the right details of the selected box. Owned by the page; GUI thread.
class TimelinePanel : public QWidget {
    Q_OBJECT
public:
    explicit TimelinePanel(Workspace& workspace, QWidget* parent = nullptr);

    void setRuns(std::vector<SelectedRun> runs);
    /// The activity of this process counts in spans: "rank 1"; empty, or one that a run lacks: that of all.
    void setProcess(const QString& title) { process_ = title.toStdString(); }
    /// Follows the selection in the scene: the table shows its span, the details its box.
    void follow(const TimelineScene& scene);
    /// Shows the results of a search in place of the span, until something is selected.
    void showFound(const QString& words, const std::vector<FoundInRun>& runs,
                   const std::vector<FoundBox>& boxes);
    /// Shows notes in place of the span, until something is selected.
    void showNotes(const std::vector<NoteRow>& notes);
    /// Shows the segments of a critical path in place of the span, until showSpan(). Their ids are their numbers.
    void showPath(const QString& title, const QString& words, const TableData& segments);
    bool showsNotes() const { return shows_ == Shows::Notes; }
    /// The table shows the span again, from the next follow() on.
    void showSpan() { shows_ = Shows::Span; }
    /// Keeps the content of the table through the following changes of the selection.
    void keep(bool keeps) { keeps_ = keeps; }
    /// Links from the selected box to other boxes.
    void setLinks(const std::vector<TimelineLink>& links);
    /// The row of a found box becomes the current one.
    void setCurrentFound(std::size_t box);

signals:
    /// A found box was chosen in the table.
    void foundChosen(std::size_t box);
    /// A segment of the critical path was chosen.
    void segmentChosen(std::size_t segment);
    /// A note was chosen, is to be edited, is to be removed.
    void noteChosen(std::size_t note);
    void noteEdited(std::size_t note);
    void noteRemoved(std::size_t note);
    /// The position of the selected range in each run, on the axis; empty if no range is selected.
    void rangesFound(const std::vector<std::optional<TimeWindow>>& ranges);
    /// The selection in words, for the status bar.
    void selectionText(const QString& text);
    /// The pages are to show only the span.
    void filterWanted();
    /// The same, beginning with the flame graph.
    void flameWanted();

private:
    enum class Shows { Span, Found, Notes, Path };

    void fillTable(QWidget& half);
    void fillDetails(QWidget& half);
    void followSpan(const TimelineScene& scene);
    void followItem(const TimelineScene& scene);
    void showSpans(const QString& title, const std::vector<SpanOfRun>& spans);
    void showOther(Shows shows, const QString& title, const QString& words, const QString& name,
                   const TableData& rows);
    void showDetails(const query::ItemDetails& details);

    Workspace& workspace_;
    JobTracker describing_{this};
    JobTracker adding_{this};
    std::vector<SelectedRun> runs_;
    std::string process_;
    Shows shows_ = Shows::Span;
    bool keeps_ = false;
    QLabel* tableTitle_ = nullptr;
    QLabel* tableWords_ = nullptr;
    // Shown beside a span.
    QPushButton* filter_ = nullptr;
    QPushButton* flame_ = nullptr;
    TableView* table_ = nullptr;
    QLabel* detailsTitle_ = nullptr;
    QLabel* detailsSwatch_ = nullptr;
    KeyValueTable* details_ = nullptr;
    QWidget* links_ = nullptr;
};

} // namespace tilescope::ui
