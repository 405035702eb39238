#pragma once

#include "core/query/generation/generation_table.h"

#include <QWidget>

#include <memory>

namespace tilescope::ui {

/// The iterations of a program that generates text as bars in their order: as high as their wall time, coloured by type, with the part in
/// which the GPU works at the foot, and lines at the percentiles of decode. Times far above the others are cut. GUI thread.
class IterationsPlot : public QWidget {
    Q_OBJECT
public:
    explicit IterationsPlot(QWidget* parent = nullptr);

    /// \param generation  with rows
    void show(std::shared_ptr<const query::GenerationTable> generation);
    QSize sizeHint() const override;
    /// "Iteration 36, decode: 80.8 ms; batch 4, context 164, GPU 763 µs"
    static QString describe(const query::GenerationRow& row);

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Scale;
    Scale scale() const;
    /// The longest of the iterations that a column of pixels shows; null: none is there.
    const query::GenerationRow* rowAt(double x) const;
    void drawBars(QPainter& painter, const Scale& scale) const;
    void drawPercentiles(QPainter& painter, const Scale& scale) const;
    void drawAxes(QPainter& painter, const Scale& scale) const;
    void drawLegend(QPainter& painter) const;

    std::shared_ptr<const query::GenerationTable> generation_;
};

} // namespace tilescope::ui
