#pragma once

#include "ui/kernels/durations_panel.h"
#include "ui/kernels/kernels_reading.h"
#include "ui/kit/page.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QScrollArea;
class QStackedWidget;

namespace tilescope::ui {

class DeviceBox;
class FamiliesPanel;
class InsideView;
class MessageStack;
class SentenceLabel;
class Panel;
class RooflinePlot;
class SegmentedControl;
class TableView;
class ToolBar;

/// The kernels of the first selected run (its ops if it used no GPU), beside their totals in the second: a table by
/// name or group, the durations of the selected one's instances, the roofline, and families. Its other view shows what is
/// inside a kernel whose instructions were sampled.
///
/// The times appear first, usually from the totals that the file stores; what needs all events (work, counters)
/// follows.
class KernelsPage : public Page {
    Q_OBJECT
public:
    explicit KernelsPage(Workspace& workspace, QWidget* parent = nullptr);

    TableView& table() { return *table_; }
    RooflinePlot& roofline() { return *roofline_; }
    InsideView& inside() { return *inside_; }
    /// Shows what is inside the kernels, or their list.
    void showInside(bool isInside);
    bool isInside() const;
    bool startFind() override;
    void goTo(const PageTarget& target) override;
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
    // The choices that the run offers, and its instances.
    struct Shown {
        std::shared_ptr<const query::Timeline> timeline;
        std::vector<query::ProcessChoice> devices;
    };

    QWidget* makeTools();
    QWidget* makePanels();
    void makeInside();
    void loadInside();
    void load();
    void timelineLoaded(Shown shown);
    void timesLoaded(query::KernelsTable times);
    void fullLoaded(KernelsReading full);
    void showLines(std::vector<KernelLine> lines, const KernelTitles& titles);
    void summarize();
    void showFamilies();
    void showRoofline();
    void fillSteps();
    void fillRanges();
    std::vector<KernelLine> withOther(std::vector<KernelLine> lines) const;
    KernelTitles titles() const;
    std::optional<std::int32_t> step() const;
    DurationsPanel::Lengths lengthsOfInstances(const KernelLine& line) const;
    std::optional<query::ProcessChoice> chosen() const; ///< none: all
    QString chosenWords() const;                        ///< "all 2 ranks", "GPU 1"
    void chooseLine(std::int64_t id);
    void openLine(std::int64_t id);
    void showOnTimeline();
    void selectLine(std::int64_t id);
    void selectWantedOp();
    void followKernel();
    void showInstances(std::int64_t id);
    query::ActivityChoice instancesOf(const KernelLine& line) const;

    JobTracker loading_{this};
    JobTracker summing_{this};
    JobTracker counting_{this};
    std::optional<SelectedRun> run_;
    std::optional<SelectedRun> second_;               // of several selected runs
    std::shared_ptr<const query::Timeline> timeline_; // for steps and durations
    std::optional<query::KernelsTable> times_;        // until full_ is loaded
    std::optional<KernelsReading> full_;
    std::optional<query::Answer>
        attentionAnswer_; // of the run and chosen, whatever the grouping, step and range
    std::vector<KernelLine> lines_;
    QString wantedRange_;           // to be chosen once the ranges are known
    QString wantedOp_;              // to be selected once its shapes are known
    bool isRooflineWanted_ = false; // to be shown once it is known
    bool isInsideStale_ = true;     // the runs changed since the view showed them
    QStackedWidget* views_ = nullptr;
    InsideView* inside_ = nullptr;
    SegmentedControl* view_ = nullptr;
    SegmentedControl* grouping_;
    QLineEdit* filter_;
    DeviceBox* device_;
    QComboBox* step_;
    QComboBox* range_;
    QLabel* summary_;
    ToolBar* tools_ = nullptr;
    MessageStack* stack_;
    TableView* table_;
    QScrollArea* panels_;
    DurationsPanel* durations_;
    Panel* rooflinePanel_;
    RooflinePlot* roofline_;
    SentenceLabel* noRoofline_ = nullptr;
    FamiliesPanel* families_;
};

} // namespace tilescope::ui
