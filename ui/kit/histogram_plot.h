#pragma once

#include "core/query/timeline/hue.h"
#include "ui/kit/histogram.h"
#include "ui/kit/themed_plot.h"

namespace tilescope::ui {

/// A histogram of the times of one kernel's instances: bars, with mean and median as lines.
class HistogramPlot : public ThemedPlot {
    Q_OBJECT
public:
    explicit HistogramPlot(QWidget* parent = nullptr);
    void show(const Durations& durations, query::Hue hue);

private:
    void dress();

    QCPBars* bars_;
    QCPItemStraightLine* mean_;
    QCPItemStraightLine* median_;
    QCPItemText* legend_;
    query::Hue hue_ = query::Hue::Other;
};

} // namespace tilescope::ui
