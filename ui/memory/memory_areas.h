#pragma once

#include "ui/memory/memory_chart.h"
#include "ui/memory/memory_rows.h"

namespace tilescope::ui {

/// Memory over time: the groups of the first run as stacked areas, the reserved memory above them hatched,
/// and its peak marked; other runs as outlines with their peaks. GUI thread.
class MemoryAreas : public MemoryChart {
    Q_OBJECT
public:
    explicit MemoryAreas(MemoryAxis& axis, QWidget* parent = nullptr);

    /// \param groups  of the first run; null while it has only an outline
    void show(std::vector<MemoryRun> runs, std::shared_ptr<const query::MemoryGroups> groups);
    const std::vector<MemoryRun>& runs() const { return runs_; }
    const query::MemoryGroups* groups() const { return groups_.get(); }
    /// The bytes at the top of the chart: the allocated peak, or the reserved peak unless it is more than twice that.
    std::int64_t scale() const { return most_; }
    TableData table() const override;

    /// The colour of a run's outline.
    static QColor outlineOf(std::size_t run);

protected:
    void drawData(QPainter& painter, const QRect& plot, bool vector, std::vector<QRectF>& names) override;
    void drawMarks(QPainter& painter, const QRect& plot) override;
    void drawLabels(QPainter& painter, const QRect& plot) const override;
    bool isEmpty() const override { return runs_.empty(); }
    QString reading(QPointF at) const override;
    QString tip(QPointF at) const override;

private:
    struct Columns {
        std::vector<query::MemoryStack> stacks;
        std::vector<std::int64_t> bytes;
        std::size_t groups = 0;
        int first = 0; ///< column with the run's first event
        int last = 0;  ///< and one past that with its last
    };

    Columns columnsOf(const MemoryRun& run, const query::MemoryGroups& groups, int width) const;
    double yOf(double bytes, const QRect& plot) const;
    void drawScale(QPainter& painter, const QRect& plot) const;
    void drawAreas(QPainter& painter, const QRect& plot) const;
    void drawReserved(QPainter& painter, const QRect& plot, const Columns& columns) const;
    void drawOutline(QPainter& painter, const QRect& plot, std::size_t run) const;

    std::vector<MemoryRun> runs_;
    std::shared_ptr<const query::MemoryGroups> groups_;
    std::int64_t most_ = 1;
};

} // namespace tilescope::ui
