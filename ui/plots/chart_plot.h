#pragma once

#include "ui/models/chart_recipe.h"

#include <qcustomplot.h>

namespace tilescope::ui {

/// A figure for paper: white ground, thin axes, 8 pt text, labels on the lines before a legend, out-of-memory
/// points as open markers at the top. Looks the same in the window and in a file, whatever the theme. GUI
/// thread.
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
    static QColor colourOf(std::size_t series);
    static QCPScatterStyle::ScatterShape shapeOf(std::size_t series);

private:
    void setAxis(QCPAxis& axis, const QString& title, bool logarithmic);
    void addSeries(const ChartSeries& series, std::size_t at, const Chart& chart, const ChartRecipe& recipe);
    void addFit(const ChartSeries& series, const QColor& colour, const Chart& chart,
                const ChartRecipe& recipe);
    void addOutOfMemory(const Chart& chart);
    void addText(double x, double y, const QString& text, const QColor& colour, Qt::Alignment alignment,
                 bool bold);
    void setRanges(const Chart& chart, const ChartRecipe& recipe);

    QCPTextElement* title_;
};

} // namespace tilescope::ui
