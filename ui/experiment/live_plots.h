#pragma once

#include "ui/experiment/sweep_progress.h"
#include "ui/kit/themed_plot.h"

#include <vector>

namespace tilescope::ui {

/// Times of the steps of the point that runs: a dot a step, the warm-up on a shaded ground, the mean of the
/// timed ones dashed. Steps far above or below the timed ones are triangles at the edge, pointing to where they are.
class StepsPlot : public ThemedPlot {
    Q_OBJECT
public:
    explicit StepsPlot(QWidget* parent = nullptr);
    /// \param stepsToDo  timed steps of the point: the axis has room for all of them
    /// \param nothing    what is said if there are no steps
    void show(const std::vector<SweepProgress::Step>& steps, std::int64_t stepsToDo,
              const QString& nothing = tr("No step was timed."));
    /// "12.7 ms, 12.6 to 12.9 (62)": the median of the timed steps and its 95 % interval; empty while there
    /// are none.
    const QString& summary() const { return summary_; }
    /// Number of dots and triangles in the plot.
    int dots() const { return dots_->dataCount() + triangles(); }
    /// Those outside of the visible range.
    int triangles() const { return above_->dataCount() + below_->dataCount(); }

private:
    void dress();

    QCPGraph* dots_;
    QCPGraph* above_;
    QCPGraph* below_;
    QCPItemRect* warmup_;
    QCPItemText* warmupWord_;
    QCPItemStraightLine* median_;
    QString summary_;
};

/// Memory after each step of the point that runs: allocated as a filled line, reserved above it.
class HeldMemoryPlot : public ThemedPlot {
    Q_OBJECT
public:
    explicit HeldMemoryPlot(QWidget* parent = nullptr);
    /// \param nothing  what is said if there are no readings
    void show(const std::vector<SweepProgress::Memory>& memory, std::int64_t stepsToDo,
              const QString& nothing = tr("No step has ended."));
    /// "after each step; peak allocated 199 MiB"
    const QString& summary() const { return summary_; }
    int points() const { return allocated_->dataCount(); }

private:
    void dress();

    QCPGraph* allocated_;
    QCPGraph* reserved_;
    QCPGraph* peak_;
    QString summary_;
};

} // namespace tilescope::ui
