#pragma once

#include "ui/charts/chart_recipe.h"

#include <qcustomplot.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::ui {

class LabelPlaces;

/// A figure for paper: white ground, thin axes, names at the lines or, where lines leave no room, a legend,
/// out-of-memory points as open markers at the top, a panel for each facet with shared scales. It is laid out
/// at its size on paper whatever the size of the widget, and so looks the same in the window and in a file,
/// whatever the theme. GUI thread.
class ChartPlot : public QCustomPlot {
    Q_OBJECT
public:
    explicit ChartPlot(QWidget* parent = nullptr);

    void show(const Chart& chart, const ChartRecipe& recipe);
    /// The size that the figure has on paper, in pixels of 1/96 inch.
    static QSize paperSize(const ChartRecipe& recipe);
    /// Draws it as shapes into the logical rectangle (0, 0, size).
    void drawVectors(QPainter& painter, const QSize& size);
    /// The colour of a series of that place.
    static QColor colourOf(ChartRecipe::Palette palette, std::size_t series);
    static QCPScatterStyle::ScatterShape shapeOf(std::size_t series);
    /// The point nearest to a place of the figure, in pixels of the size at which it was drawn last; none within
    /// `reach` pixels.
    struct PointRef {
        const ChartSeries* series = nullptr; ///< valid until show()
        const ChartPoint* point = nullptr;
        bool isOutOfMemory = false; ///< a marker at the top
    };
    std::optional<PointRef> pointAt(const QPointF& place, double reach) const;

    /// The points of the figure, of one series after the other, each by x. An index is valid until show().
    std::size_t pointCount() const { return points_.size(); }
    const PointRef& point(std::size_t index) const { return points_[index].ref; }
    /// `sequence length N: 2048`
    QString xText(const ChartPoint& point) const;
    /// Where a point is, in pixels of the size at which the figure was drawn last.
    QPointF placeOf(std::size_t point) const;
    /// The point beside one: in its series to the left or right, beyond its ends in the panel beside; otherwise that
    /// of the series above or below at the nearest x. None at the end of the figure.
    std::optional<std::size_t> neighbour(std::size_t point, Qt::Key arrow) const;
    /// Panels of the figure, a facet each.
    const std::vector<QCPAxisRect*>& panels() const { return panels_; }
    /// Whether the first `series` lines of a palette all differ in grey.
    static bool staysApartInGrey(ChartRecipe::Palette palette, std::size_t series);

private:
    struct Label {
        QCPItemText* item;
        QCPAxisRect* panel;
        double x, y;
    };

    struct Formula {
        QCPItemText* item;
        QCPAxisRect* panel;
        double x[2], y[2]; // both ends of the line that it is written along
    };

    bool draw();
    void moveApart();
    void layOut();
    void takePlaces(LabelPlaces& places) const;
    QCPAxisRect* addPanel(QCPLayoutGrid& grid, int row, int column, bool lowest, const QString& facet);
    void setAxis(QCPAxis& axis, const QString& title, ChartRecipe::Axis scale) const;
    void setRanges(QCPAxisRect& panel) const;
    void setFewTicks(QCPAxis& axis) const;
    bool setWordTicks(QCPAxis& axis) const;
    void addSeries(const ChartSeries& series, QCPAxisRect& panel);
    void addFit(const ChartSeries& series, QCPAxisRect& panel, const QPen& pen);
    void addOutOfMemory(QCPAxisRect& panel, const QString& facet);
    void addLegend();
    void turnFormulas();
    bool placeNames(LabelPlaces& places);
    void partPointLabels(const LabelPlaces& places);
    QCPItemText* addText(QCPAxisRect& panel, double x, double y, const QString& text, const QColor& colour,
                         Qt::Alignment alignment, bool bold);
    QPen penOf(std::size_t place) const;
    std::size_t placeOf(const ChartSeries& series) const;
    QFont font(bool bold = false) const;
    double points(double at8) const; ///< lengths that grow with the text

    Chart chart_;
    ChartRecipe recipe_;
    bool hasLegend_ = false; // instead of names at the lines
    std::vector<QCPAxisRect*> panels_;
    std::vector<Label> names_; // of the lines, at their last points
    std::vector<Label> pointLabels_;
    std::vector<Formula> formulas_;
    struct Placed {
        PointRef ref;
        QCPAxisRect* panel;
        double y; // of a marker at the top: where it is
    };
    std::vector<Placed> points_;
};

} // namespace tilescope::ui
