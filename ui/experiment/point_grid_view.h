#pragma once

#include "ui/experiment/point_grid.h"

#include <QAbstractScrollArea>

namespace tilescope::ui {

/// The points of a sweep as a grid that fills with times: darker is slower; points that ran out of memory,
/// failed or run have an icon and a word. Arrow keys move the marked cell; its details are in the tooltip.
class PointGridView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit PointGridView(QWidget* parent = nullptr);

    void setGrid(PointGrid grid);
    void show(const SweepProgress& progress);
    const std::vector<GridCell>& cells() const { return cells_; }
    const PointGrid& grid() const { return grid_; }
    /// The height that shows all rows.
    int wantedHeight() const;

signals:
    /// Describes the cell under the cursor or the marked one; empty if there is none.
    void cellText(const QString& text);
    /// A cell was marked by mouse or keyboard; `opens` on a double click or Enter.
    void chosen(std::size_t position);
    void activated(std::size_t position);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    void describe();
    struct Layout {
        int label, header, row, cell;
    };
    Layout measure() const;
    QRect cellRect(const Layout& layout, std::size_t row, std::size_t column) const;
    std::ptrdiff_t cellAt(const QPoint& at) const;
    void paintHeader(QPainter& painter, const Layout& layout) const;
    void paintCell(QPainter& painter, const QRect& rect, const GridCell& cell, bool marked) const;
    void setScrollRanges();
    QString words(std::ptrdiff_t cell) const;
    std::optional<std::size_t> markedPoint() const;

    PointGrid grid_;
    std::vector<GridCell> cells_;
    std::vector<QString> tips_; ///< by cell
    std::ptrdiff_t marked_ = -1;
};

} // namespace tilescope::ui
