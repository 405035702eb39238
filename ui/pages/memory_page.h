#pragma once

#include "core/query/event_tables.h"
#include "core/query/timeline.h"
#include "ui/pages/page.h"
#include "ui/plots/memory_plot.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QStackedWidget;

namespace tilescope::ui {

class Panel;
class TableView;

/// The memory of the selected runs over time, and the blocks that one of them has at its peak.
class MemoryPage : public Page {
    Q_OBJECT
public:
    explicit MemoryPage(Workspace& workspace, QWidget* parent = nullptr);

    MemoryPlot& plot() { return *plot_; }
    TableView& table() { return *table_; }
    void startFind() override;

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;

private:
    // One run with memory events.
    struct Loaded {
        SelectedRun run;
        MemorySeries series;
        std::shared_ptr<const query::LiveMemoryTable> live;
    };

    QWidget* makeTools();
    QWidget* makePanels();
    void loaded(std::vector<Loaded> loaded);
    void showBlocks();
    void chooseBlock(std::int64_t id);
    void fillLegend();
    const Loaded* current() const;
    void showMessage(const QString& text);

    JobTracker loading_{this};
    std::vector<Loaded> shown_;
    QComboBox* run_;
    QLineEdit* filter_;
    QLabel* summary_;
    QStackedWidget* stack_;
    QLabel* message_;
    MemoryPlot* plot_;
    QLabel* legend_;
    Panel* blocks_;
    TableView* table_;
};

} // namespace tilescope::ui
