#pragma once

#include "ui/kit/table_model.h"
#include "ui/memory/memory_axis.h"

#include <QPixmap>
#include <QWidget>

#include <vector>

namespace tilescope::ui {

/// A traced step on the plots' axis.
struct MemoryStepMark {
    QString word;
    double from = 0;
    double to = 0;
};

/// A plot of memory over time: the axis of time with its steps, zooming and panning as on the timeline
/// (Ctrl+wheel, Shift+wheel, middle drag, W A S D, F, Z), a drag selects a span, a click an instant. The
/// picture is cached while only cursor and instant move. GUI thread.
class MemoryChart : public QWidget {
    Q_OBJECT
public:
    explicit MemoryChart(MemoryAxis& axis, QWidget* parent = nullptr);

    /// Draws into the logical rectangle (0, 0, size); what exports use too.
    /// \param vector  shapes must stay shapes
    void draw(QPainter& painter, const QSize& size, bool vector);
    /// The shown values as a table.
    virtual TableData table() const = 0;
    /// \param named  whether names are written beside the lines
    void setSteps(std::vector<MemoryStepMark> steps, bool named);
    /// The area of the data.
    QRect plot() const { return plotOf(size()); }
    double timeAt(double x) const;
    double xAt(double time) const { return xAt(time, plot()); }

signals:
    /// A description of the item under the cursor; empty if there is none.
    void hovered(const QString& text);
    /// An instant was chosen, by a click.
    void instantClicked(double time);

protected:
    /// The data within `plot`, and the labels to the left of it.
    /// \param names  receives where names are written in the plot; lines of instants are interrupted there
    virtual void drawData(QPainter& painter, const QRect& plot, bool vector, std::vector<QRectF>& names) = 0;
    /// Paints what changes with cursor or selection, over the data.
    virtual void drawMarks(QPainter&, const QRect&) {}
    /// Paints labels, over the lines of instant and cursor.
    virtual void drawLabels(QPainter&, const QRect&) const {}
    virtual bool isEmpty() const = 0;
    virtual QString reading(QPointF at) const = 0;
    /// A few lines about the item under the cursor, for a tooltip; empty if there is none.
    virtual QString tip(QPointF) const { return {}; }
    virtual void clicked(QPointF at);
    virtual void doubleClicked(QPointF at);
    /// Zooms and moves along the bytes; true if supported.
    virtual bool zoomBytes(double, double) { return false; }
    virtual bool scrollBytes(double) { return false; }
    virtual void zoomToSelection();
    virtual void escape();
    virtual void fit();

    MemoryAxis& axis() const { return axis_; }
    /// Discards the cached picture.
    void outdate();
    void tellCursor();
    double xAt(double time, const QRect& plot) const;
    QRect plotOf(const QSize& size) const;
    /// A line of the bytes' axis with its label.
    void drawByteLine(QPainter& painter, const QRect& plot, double y, const QString& label) const;

    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    enum class Drag { None, Pan, Span };

    void makeKeys();
    std::vector<QRectF> drawContent(QPainter& painter, const QSize& size, bool vector);
    void drawOverlay(QPainter& painter, const QRect& plot, const std::vector<QRectF>& names);
    void drawTimes(QPainter& painter, const QRect& plot) const;
    void drawSteps(QPainter& painter, const QRect& plot, std::vector<QRectF>& names) const;
    void zoom(double factor, double x);

    MemoryAxis& axis_;
    std::vector<MemoryStepMark> steps_;
    bool namesSteps_ = false;
    QPixmap picture_;
    std::vector<QRectF> names_; ///< in the picture
    bool isOutdated_ = true;
    Drag drag_ = Drag::None;
    QPointF pressedAt_;
    TimeWindow pressedWindow_;
    QPointF cursor_;
    bool isHovered_ = false; // the cursor is over the plot
};

} // namespace tilescope::ui
