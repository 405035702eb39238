#pragma once

#include "core/query/kernels/inside_difference.h"
#include "core/query/waiting/waiting_table.h"
#include "ui/compare/comparison_rows.h"
#include "ui/kit/page.h"
#include "ui/memory/memory_plot.h"

#include <array>

class QLabel;

namespace tilescope::ui {

class BaselinePanel;
class ComboBox;
class DistributionPlot;
class MessageStack;
class Panel;
class SegmentedControl;
class SentenceLabel;
class TableView;

/// Two runs, the first of those selected, against each other: the verdict with its interval, samples by
/// phase, families and kernels by difference, memory. Above them, if more runs are selected, A against each.
class ComparePage : public Page {
    Q_OBJECT
public:
    explicit ComparePage(Workspace& workspace, QWidget* parent = nullptr);

    QString command() const override;
    QString timeFilterWords() const override;

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;
    bool followsTime() const override { return true; }
    bool followsProcess() const override { return true; }

private:
    struct Loaded {
        ComparisonData compared;
        std::array<query::WaitingTable, 2> lines;           ///< of A and B: idle time of the GPU by line
        std::optional<query::InsideDifference> insideLines; ///< if the kernels of both were sampled
        std::optional<query::InsideDifference> insideStates;
        QString process; ///< whose traced steps are compared: "mean of 2 ranks"
        std::vector<MemorySeries> memory;
        std::array<bool, 2> traced = {};  ///< A and B have traced steps
        std::array<QString, 2> ended;     ///< whyTraceIsMissing()
        std::array<bool, 2> held = {};    ///< A and B have memory over time
        std::size_t selected = 0;         ///< runs, of which these are the first two
        std::optional<TimeWindow> looked; ///< the memory that the time filter is about

        void look(const TimeWindow& window);
    };

    QWidget* makeTools();
    QWidget* makeVerdict();
    Panel* makeSamples();
    QWidget* makeFamilies();
    QWidget* makeKernels();
    QWidget* makeMemory();
    void fillChoices();
    void choose(std::size_t which, const RunKey& chosen);
    void loaded(Loaded loaded);
    void showMemory();
    void showVerdict();
    void showKernels();
    /// What changed inside kernels, by line or state of the warps.
    void showInside(const query::InsideDifference& difference);
    void showGroups();
    void showLines();
    void openGroup(std::int64_t id);
    void openKernel(std::int64_t id);
    /// Of both runs; null: the table is about whole kernels.
    const query::InsideDifference* shownInside() const;
    void showComparing(const std::vector<SelectedRun>& runs);

    JobTracker loading_{this};
    Loaded shown_;
    ComboBox* a_;
    ComboBox* b_;
    QAction* swap_ = nullptr;
    std::vector<QWidget*> ofBoth_; ///< tools that act on two runs
    MessageStack* stack_;
    BaselinePanel* baseline_ = nullptr;
    QWidget* pair_ = nullptr; ///< what is about A and B, below the verdict
    QLabel* verdict_ = nullptr;
    QLabel* sentence_ = nullptr;
    QLabel* memoryFact_ = nullptr;
    QLabel* kernelFact_ = nullptr;
    Panel* samplePanel_ = nullptr; ///< of whole runs only
    DistributionPlot* samples_ = nullptr;
    Panel* familyPanel_ = nullptr;
    SegmentedControl* groups_ = nullptr; // causes, families or ranges
    bool leftCauses_ = false;            // the runs before had none
    TableView* families_ = nullptr;
    SentenceLabel* noGroups_ = nullptr; // why there is nothing to compare
    Panel* kernelPanel_ = nullptr;
    SegmentedControl* level_ = nullptr; // kernels, or their lines or states of warps
    SegmentedControl* which_ = nullptr;
    TableView* kernels_ = nullptr;
    SentenceLabel* noKernels_ = nullptr;
    QString missing_; // why there are no kernels, families and ranges
    Panel* memoryPanel_ = nullptr;
    SentenceLabel* noMemory_ = nullptr;
    MemoryPlot* memory_ = nullptr;
    TableView* memoryTable_ = nullptr;
};

} // namespace tilescope::ui
