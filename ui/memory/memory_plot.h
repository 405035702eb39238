#pragma once

#include "core/query/timeline/timeline.h"
#include "ui/kit/themed_plot.h"
#include "ui/kit/time_axis.h"

#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

class LabelPlaces;

/// The memory of one run as MemoryPlot draws it.
struct MemorySeries {
    QString letter; ///< A, B; empty if one run is shown
    std::shared_ptr<const query::Timeline> timeline;
    const query::Lane* lane = nullptr; ///< a memory lane of `timeline`
    std::int64_t zero = 0; ///< the zero of its axis: the first traced step, otherwise the first event

    /// Whether an allocator keeps memory in reserve: not on a CPU.
    bool hasReserved() const { return bool(lane->device); }
    /// The memory lane of that device, counted from the first traced step; none if there is no such lane.
    static std::optional<MemorySeries> of(std::shared_ptr<const query::Timeline> timeline,
                                          DeviceIndex device);
};

/// Memory over time: allocated as a filled step line, reserved as an outline above it, the peak marked.
/// The wheel zooms in time about the cursor, dragging pans, W A S D and F do so by keyboard. GUI thread.
class MemoryPlot : public ThemedPlot {
    Q_OBJECT
public:
    explicit MemoryPlot(QWidget* parent = nullptr);

    /// Shows these runs, fitted.
    void show(std::vector<MemorySeries> series);
    const std::vector<MemorySeries>& series() const { return series_; }
    /// Shows everything.
    void fit();
    /// The visible interval, in nanoseconds from the first traced step.
    TimeWindow window() const;
    void setWindow(const TimeWindow& window);
    /// The colour of a run among this number of runs.
    static QColor colourOf(std::size_t run, std::size_t runs);

signals:
    /// Time and bytes under the cursor, in words; empty if it left.
    void cursorMoved(const QString& text);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    struct Drawn {
        QCPGraph* allocated;
        QCPGraph* reserved;
        QCPGraph* peak;
        QCPItemText* label;
    };
    struct StepMark {
        QCPItemStraightLine* line;
        QCPItemText* label;
        double at;
    };

    void addSteps();
    void keepWithinBounds(const QCPRange& range);
    void refill();
    void placeLabels();
    void placeStepNames(LabelPlaces& places);
    void placePeakNames(LabelPlaces& places);
    void dress();
    void placeCursor(std::optional<double> time);
    void followCursor();
    QString reading(double time) const;
    QCPItemStraightLine* addLine(double milliseconds);

    std::vector<MemorySeries> series_;
    std::vector<Drawn> drawn_;
    std::vector<StepMark> steps_;
    TimeWindow bounds_;
    double unit_ = 1;
    double most_ = 1; ///< bytes; the highest of the curves
    QCPItemStraightLine* cursor_;
    std::optional<int> hoverX_; // position of the mouse in pixels
};

} // namespace tilescope::ui
