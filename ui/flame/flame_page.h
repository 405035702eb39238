#pragma once

#include "core/query/calls/flame_graph.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/thread_choice.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/page.h"
#include "ui/kit/table_model.h"

#include <memory>
#include <optional>
#include <vector>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace tilescope::ui {

class ComboBox;
class DeviceBox;
class FlameCallees;
class FlameFilterLine;
class FlameView;
class KeyValueTable;
class Panel;
class MessageStack;
class TableView;

/// Where the time of the first selected run goes, by what called it: rank, Python frame, module, op and kernel as
/// boxes as wide as their time. Beside it what took the time of the selected box. Host time, allocated bytes, FLOPs or
/// moved bytes may replace GPU time, and the time filter the traced steps; of two runs the boxes are coloured by their
/// difference. Filters remove stacks that contain a call, or keep only those of one thread.
class FlamePage : public Page {
    Q_OBJECT
public:
    explicit FlamePage(Workspace& workspace, QWidget* parent = nullptr);

    FlameView& view() { return *view_; }
    const std::vector<query::CallFilter>& filters() const { return filters_; }
    /// Leaves out stacks; the user can undo it.
    void setFilters(std::vector<query::CallFilter> filters);
    TableView& shares() { return *shares_; }
    bool startFind() override;
    QString command() const override;
    QString processSentence() const override
    {
        return tr("This page shows sums: of all ranks, or of the chosen one.");
    }

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;
    bool followsTime() const override { return true; }
    bool followsProcess() const override { return true; }

private:
    struct Loaded {
        std::shared_ptr<const query::CallTreeTable> table;           ///< of one run
        std::shared_ptr<const query::CallTreeDifference> difference; ///< of two
        std::vector<query::ProcessChoice> devices;
        std::vector<query::ThreadChoice> threads;
    };

    struct LaidOut {
        std::shared_ptr<const query::FlameGraph> graph;
        std::shared_ptr<const query::FlameGraph> callees; ///< null: no callers are shown
    };

    QWidget* makeTools();
    QWidget* makeTrail();
    QWidget* makeShares();
    QWidget* makeDetails();
    void load();
    bool isOfTwo() const;               ///< two runs are compared
    query::ProcessQuery chosen() const; ///< the chosen GPU, otherwise the process that all pages show
    void fillThreads(const std::vector<query::ThreadChoice>& threads);
    std::optional<std::int64_t> thread() const; ///< the number of the chosen one; none: all
    QString chosenWords() const;                ///< "all 2 ranks", "GPU 1"
    QString whatIsShown() const;
    QString whyNothing() const;
    void loaded(Loaded loaded);
    void layOut();
    void find();
    void showTrail();
    void showSelection();
    void showDetails(query::CallTree::Node node);
    void openShare(std::int64_t row);
    void openKernels(bool roofline);
    std::optional<PageTarget> targetOf(query::CallTree::Node node, bool roofline) const;
    void openMenu(query::CallTree::Node node, QPoint at);
    void addFilter(query::CallFilter::Kind kind, query::CallTree::Node node);
    void showFilters();
    void showShares(query::CallTree::Node node, std::vector<query::FlameShare> rows);
    void showMessage(const QString& text);
    query::CallTree::Node shown() const; ///< the selected box, otherwise the box that fills the width

    JobTracker loading_{this};
    JobTracker laying_{this};
    JobTracker sharing_{this};
    JobTracker finding_{this};
    std::optional<SelectedRun> run_;
    std::optional<SelectedRun> second_; ///< of several selected runs
    std::shared_ptr<const query::CallTreeTable> table_;
    std::shared_ptr<const query::CallTreeDifference> difference_;
    std::shared_ptr<const query::FlameGraph> graph_;
    std::vector<query::FlameShare> rows_;   ///< of the table
    std::optional<std::int64_t> different_; ///< before the table was cut; none while they are counted
    std::vector<query::CallFilter> filters_;
    std::shared_ptr<const RunKey> filtered_; ///< the run that they are about
    DeviceBox* device_ = nullptr;
    ComboBox* weight_ = nullptr;
    ComboBox* threadBox_ = nullptr; ///< hidden unless there are several threads to choose from
    QCheckBox* compare_ = nullptr;
    QCheckBox* invert_ = nullptr;
    QPushButton* whole_ = nullptr;
    QLineEdit* find_ = nullptr;
    QLabel* trail_ = nullptr;
    QLabel* found_ = nullptr;
    FlameFilterLine* filterLine_ = nullptr;
    MessageStack* stack_ = nullptr;
    FlameView* view_ = nullptr;
    FlameCallees* callees_ = nullptr; ///< below the callers of a call: what it calls
    Panel* sharesPanel_ = nullptr;
    TableView* shares_ = nullptr;
    Panel* detailsPanel_ = nullptr;
    KeyValueTable* details_ = nullptr;
    QPushButton* openKernels_ = nullptr;
    QPushButton* openRoofline_ = nullptr;
};

} // namespace tilescope::ui
