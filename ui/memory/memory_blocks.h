#pragma once

#include "core/query/memory/memory_drawing.h"
#include "ui/memory/memory_chart.h"
#include "ui/memory/memory_rows.h"

#include <QImage>

namespace tilescope::ui {

/// The blocks of a run over time, by address or stacked: the largest as boxes, small ones merged, the rest
/// as one band. Alt+wheel zooms in bytes, the wheel then scrolls. GUI thread.
class MemoryBlocks : public MemoryChart {
    Q_OBJECT
public:
    explicit MemoryBlocks(MemoryAxis& axis, QWidget* parent = nullptr);

    /// Keeps the byte range if the placing is the same. A null layout shows nothing.
    /// \param levels  of this layout and these groups; null: every frame visits every box that it shows
    void show(const MemoryRun& run, std::shared_ptr<const query::MemoryGroups> groups,
              std::shared_ptr<const query::MemoryLayout> layout,
              std::shared_ptr<const query::MemoryLevels> levels);
    void clear();
    /// Names of ops came later.
    void setOps(std::shared_ptr<const query::MemoryOps> ops);
    const query::MemoryLayout* layout() const { return layout_.get(); }
    /// Index into the history's blocks; none: nothing.
    void select(std::optional<std::uint32_t> block);
    std::optional<std::uint32_t> selected() const { return selected_; }
    /// Marks a segment by its address if blocks are placed by address, and no block.
    void selectSegment(std::optional<std::uint64_t> address);
    std::optional<std::uint64_t> selectedSegment() const { return segment_; }
    /// The visible byte range, from 0 at the bottom to the layout's height.
    std::pair<double, double> bytes() const { return {low_, high_}; }
    TableData table() const override;

signals:
    /// A block was clicked; negative: none.
    void blockClicked(std::int64_t block);

protected:
    void drawData(QPainter& painter, const QRect& plot, bool vector, std::vector<QRectF>& names) override;
    void drawMarks(QPainter& painter, const QRect& plot) override;
    bool isEmpty() const override { return !layout_ || !run_; }
    QString reading(QPointF at) const override;
    QString tip(QPointF at) const override;
    void clicked(QPointF at) override;
    void doubleClicked(QPointF at) override;
    bool zoomBytes(double factor, double y) override;
    bool scrollBytes(double part) override;
    void zoomToSelection() override;
    void escape() override;
    void fit() override;

private:
    query::MemoryFrame frameOf(const QRect& plot) const;
    double yOf(double bytes, const QRect& plot) const;
    double bytesAt(double y) const;
    void setBytes(double low, double high);
    void fitBytes();
    QColor colourOfGroup(std::size_t group) const;
    std::optional<std::size_t> boxAt(QPointF at) const;
    void zoomTo(const query::MemoryBox& box);
    void drawScale(QPainter& painter, const QRect& plot) const;
    void drawRest(QPainter& painter, const QRect& plot) const;
    void drawShapes(QPainter& painter, const QRect& plot, const query::MemoryDrawing& drawing) const;
    void drawPixels(QPainter& painter, const QRect& plot, const query::MemoryDrawing& drawing);
    void drawSegmentMark(QPainter& painter, const QRect& plot) const;
    void drawNames(QPainter& painter, const QRect& plot, const query::MemoryDrawing& drawing,
                   std::vector<QRectF>& names) const;

    std::optional<MemoryRun> run_;
    std::shared_ptr<const query::MemoryGroups> groups_;
    std::vector<Swatch> swatches_; ///< of the groups
    std::shared_ptr<const query::MemoryLayout> layout_;
    std::shared_ptr<const query::MemoryLevels> levels_;
    query::MemoryDrawer drawer_;
    QImage image_; // its space is used again by every frame
    std::optional<std::uint32_t> selected_;
    std::optional<std::uint64_t> segment_;
    double low_ = 0;
    double high_ = 1;
};

} // namespace tilescope::ui
