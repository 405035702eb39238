#pragma once

#include "core/query/advice/advice_table.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_model.h"
#include "ui/kit/workspace.h"

#include <memory>
#include <vector>

namespace tilescope::ui {

class SentenceLabel;
class TableView;

/// A row a finding; the id is its index.
TableData adviceRows(const query::AdviceTable& advice);

/// Shows advice to make the steps of a run faster. GUI thread; reads the run in a job.
class AdvicePanel : public Panel {
    Q_OBJECT
public:
    explicit AdvicePanel(QWidget* parent = nullptr);

    /// Says that advice follows; whatever it showed or read before is dropped.
    void expect();
    /// Reads the advice for the first run.
    void showRuns(const std::vector<SelectedRun>& runs);

signals:
    /// The page that shows what a finding is about, and what costs most there.
    void targetWanted(const QString& page, const PageTarget& target);

private:
    /// \param letter  of the run, of several; empty: one is selected
    void show(std::shared_ptr<const query::AdviceTable> advice, const QString& letter);
    /// \param height  of a row
    void fitRows();
    void say(const QString& text);

    JobTracker loading_{this};
    std::shared_ptr<const query::AdviceTable> advice_;
    TableView* table_;
    SentenceLabel* message_;
    SentenceLabel* notes_; ///< the rules that were not judged, and why
};

} // namespace tilescope::ui
