#pragma once

#include "core/query/event_tables.h"
#include "core/query/kernel_stats.h"
#include "ui/pages/page.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QStackedWidget;

namespace tilescope::ui {

class HistogramPlot;
class Panel;
class Segments;
class TableView;

/// The kernels of the first selected run: a table, and what the selected one's instances look like.
class KernelsPage : public Page {
    Q_OBJECT
public:
    explicit KernelsPage(Workspace& workspace, QWidget* parent = nullptr);

    TableView& table() { return *table_; }
    void startFind() override;

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;

private:
    // What a job brings: the timeline and its stats, and the file's grouping where one was asked for.
    struct Loaded {
        std::shared_ptr<const query::Timeline> timeline;
        std::vector<query::KernelStat> stats;
        std::optional<query::KernelsTable> grouped;
    };

    QWidget* makeTools();
    QWidget* makePanels();
    void load();
    void loaded(Loaded loaded);
    void fillSteps();
    std::optional<query::Stretch> stretch() const;
    void chooseRow(std::int64_t id);
    void showKernel();
    void followKernel();
    void showMessage(const QString& text);

    JobTracker loading_{this};
    std::optional<SelectedRun> run_;
    Loaded shown_;
    std::vector<query::KernelStat> families_;
    Segments* grouping_;
    QLineEdit* filter_;
    QComboBox* step_;
    QLabel* summary_;
    QStackedWidget* stack_;
    QLabel* message_;
    TableView* table_;
    Panel* histogramPanel_;
    HistogramPlot* histogram_;
    QPushButton* showOnTimeline_;
    TableView* familyTable_;
};

} // namespace tilescope::ui
