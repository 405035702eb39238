#pragma once

#include "ui/ranks/lateness_grid.h"

#include <QWidget>

namespace tilescope::ui {

/// A heat map of a LatenessGrid: darker is later, on a logarithmic scale, with its legend below. Where a column has less
/// than three pixels, neighbours share one, which shows the latest of them. Cells have their numbers where all fit; else
/// each row ends with its median. Rows of many ranks are low, down to a pixel,
/// and some of them are named. Arrow keys move the marked cell. Paints
/// itself; GUI thread.
class LatenessPlot : public QWidget {
    Q_OBJECT
public:
    explicit LatenessPlot(QWidget* parent = nullptr);

    void show(LatenessGrid grid);
    const LatenessGrid& grid() const { return grid_; }
    /// Frames the column of a collective, an index into RanksTable::collectives.
    void mark(std::optional<std::size_t> collective);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    /// Draws into the logical rectangle (0, 0, size); what exports use too.
    void draw(QPainter& painter, const QSize& size) const;
    TableData table() const { return grid_.table(); }
    /// The rectangle of the cell of a rank and a collective.
    QRect cellRect(std::size_t rank, std::size_t column) const;

signals:
    /// The cell under the cursor in words; empty if there is none.
    void cellText(const QString& text);
    /// A cell was marked by the keyboard.
    void marked(std::size_t collective);
    /// A cell was clicked, or Enter was pressed on it.
    void chosen(std::size_t collective, ProcessIndex process);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Frame;
    struct Cell {
        std::size_t rank = 0;
        std::size_t column = 0;
    };

    Frame frameOf(const QSize& size) const;
    std::optional<Cell> cellAt(const QPoint& at) const;
    QString words(const Cell& cell) const;
    QColor colourOf(double late) const;
    void drawCells(QPainter& painter, const Frame& frame) const;
    void drawTitles(QPainter& painter, const Frame& frame) const;
    void drawNumbers(QPainter& painter, const Frame& frame) const;
    void drawMark(QPainter& painter, const Frame& frame) const;
    void drawMedians(QPainter& painter, const Frame& frame) const;
    void drawLegend(QPainter& painter, const Frame& frame) const;
    int widestNumber() const;
    void describe();

    LatenessGrid grid_;
    int widest_ = 0;              ///< pixels of a number in a cell
    std::optional<Cell> current_; ///< of the keyboard
};

} // namespace tilescope::ui
