#pragma once

#include "ui/kit/panel.h"
#include "ui/kit/table_model.h"
#include "ui/overview/overview_figures.h"

#include <vector>

namespace tilescope::ui {

class ElidedLabel;
class IterationsPlot;
class TableView;

/// A table of the iterations by type and batch, with their figures.
TableData batchRows(const query::GenerationTable& generation);

/// The iterations of one or two runs that generate text: a plot for each, and a table by type and batch of the first. GUI thread.
class GenerationPanel : public Panel {
    Q_OBJECT
public:
    explicit GenerationPanel(QWidget* parent = nullptr);

    /// \pre showsGeneration()
    void show(const OverviewData& data);

private:
    std::vector<IterationsPlot*> plots_;
    std::vector<ElidedLabel*> titles_;
    TableView* batches_;
};

} // namespace tilescope::ui
