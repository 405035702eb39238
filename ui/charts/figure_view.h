#pragma once

#include "ui/charts/chart_plot.h"

#include <QWidget>

#include <optional>
#include <utility>

namespace tilescope::ui {

/// Shows a ChartPlot at the proportions of its paper, as large as there is room. With the focus, arrow keys move a ring
/// over its points, whose value is shown and read out; a click on a point and Enter choose its run. GUI thread.
class FigureView : public QWidget {
    Q_OBJECT
public:
    explicit FigureView(ChartPlot& plot, QWidget* parent = nullptr);

    /// Shows the figure of that size on paper; an empty size shows the words instead.
    void setPaper(const QSize& paper, const QString& otherwise);
    const QSize& paper() const { return paper_; }
    /// Draws it as shapes into the logical rectangle (0, 0, size).
    void draw(QPainter& painter, const QSize& size);
    double zoom() const;
    const ChartPlot& plot() const { return plot_; }
    /// What the figure shows, for screen readers, which read it behind the point that the ring is on.
    void describe(const QString& words);
    /// The point that the ring is on, while the figure has the focus.
    std::optional<ChartPlot::PointRef> ringed() const;

signals:
    /// The user clicked a point.
    void pointChosen(const QString& runUid);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    /// A point that stays the same when the figure is drawn anew.
    struct Ring {
        QString series, facet;
        std::string uid;
    };
    std::optional<ChartPlot::PointRef> pointUnder(const QPointF& cursor) const;
    std::optional<std::size_t> ringedIndex() const;
    void setRing(std::optional<std::size_t> point);
    void readOut();
    QPointF corner() const;
    QPoint placeOf(std::size_t point) const;
    QStringList tipLines(const ChartPlot::PointRef& point) const;

    ChartPlot& plot_;
    QSize paper_;
    QString words_;
    QString description_;
    std::optional<Ring> ring_;
};

} // namespace tilescope::ui
