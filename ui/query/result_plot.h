#pragma once

#include "ui/kit/themed_plot.h"
#include "ui/query/result_rows.h"

namespace tilescope::ui {

/// One column of a result against another: bars for texts, points for numbers.
class ResultPlot : public ThemedPlot {
    Q_OBJECT
public:
    explicit ResultPlot(QWidget* parent = nullptr);

    /// \param key, value  the names of the columns
    void show(const ResultSeries& series, const QString& key, const QString& value);
    void clear();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void dress();
    void nameBars();

    QCPBars* bars_;
    QCPGraph* points_;
    QStringList labels_; ///< of the bars
};

} // namespace tilescope::ui
