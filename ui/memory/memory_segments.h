#pragma once

#include "core/query/memory/memory_strips.h"
#include "ui/memory/memory_rows.h"

#include <QAbstractScrollArea>

namespace tilescope::ui {

/// The segments of an allocator at an instant, one per row: blocks in their groups' colours, free memory
/// hatched. Every row has the width of the view; the size of the segment is to its left. GUI thread.
class MemorySegments : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit MemorySegments(QWidget* parent = nullptr);

    void show(const MemoryRun& run, std::shared_ptr<const query::MemoryGroups> groups,
              std::vector<query::MemoryStrip> strips);
    /// The message shown instead of segments.
    void showMessage(const QString& text);
    /// Marks a block and its segment.
    void select(std::optional<std::uint32_t> block);
    /// Marks a segment by its address, and no block.
    void selectSegment(std::optional<std::uint64_t> address);
    /// The marked segment, or that of the marked block; none if it is not shown.
    std::optional<std::uint64_t> selectedSegment() const;
    const std::vector<query::MemoryStrip>& strips() const { return strips_; }
    /// The rectangle of a part of a segment on the viewport.
    QRectF rectOf(std::size_t strip, std::size_t part) const;

signals:
    /// A block was clicked; negative: none.
    void blockClicked(std::int64_t block);
    /// A segment was clicked outside its blocks.
    void segmentClicked(std::uint64_t address);
    /// A description of the item under the cursor.
    void hovered(const QString& text);

protected:
    bool viewportEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    struct Place {
        std::size_t strip = 0;
        std::size_t part = 0;
    };
    int rowHeight() const;
    QRect rowRect(std::size_t strip) const;
    std::optional<Place> placeAt(QPoint at) const;
    QString words(const Place& place) const;
    void drawStrip(QPainter& painter, std::size_t strip) const;
    void fitScrollBar();
    std::optional<std::size_t> stripSelected() const;
    void revealSelected();

    std::optional<MemoryRun> run_;
    std::shared_ptr<const query::MemoryGroups> groups_;
    std::vector<Swatch> swatches_; ///< of the groups
    std::vector<query::MemoryStrip> strips_;
    std::optional<std::uint32_t> selected_;
    std::optional<std::uint64_t> segment_;
    QString message_;
};

} // namespace tilescope::ui
