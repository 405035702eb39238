#pragma once

#include "ui/compare/comparison_rows.h"
#include "ui/kit/number_text.h"

#include <QWidget>

namespace tilescope::ui {

/// The density of some samples at the centres of `columns` equal stretches of [from, to], the highest being
/// 1: Gaussian kernels of Silverman's width.
/// \pre  from < to
std::vector<double> densityOf(const std::vector<double>& samples, double from, double to,
                              std::size_t columns);

/// The unit of the axis that both runs of a phase share.
Unit unitOf(const PhaseSamples& phase);

/// How the samples of two runs are spread, phase by phase: density, a tick for each sample, median with its
/// interval; beside them B over A on one axis for all phases. Paints itself; GUI thread.
class DistributionPlot : public QWidget {
    Q_OBJECT
public:
    explicit DistributionPlot(QWidget* parent = nullptr);

    void show(std::vector<PhaseSamples> phases);
    const std::vector<PhaseSamples>& phases() const { return phases_; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    /// Draws into the logical rectangle (0, 0, size); what exports use too.
    void draw(QPainter& painter, const QSize& size) const;
    /// The shown values as a table.
    TableData table() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void drawPhase(QPainter& painter, const PhaseSamples& phase, const QRectF& rect) const;
    void drawRun(QPainter& painter, const std::vector<double>& samples,
                 const analysis::Statistics& statistics, const QRectF& rect, double from, double to,
                 const QColor& colour) const;
    void drawRatio(QPainter& painter, const PhaseSamples& phase, const QRectF& rect) const;

    std::vector<PhaseSamples> phases_;
    double leastRatio_ = 0.9; ///< of the axis that all phases share
    double greatestRatio_ = 1.1;
};

} // namespace tilescope::ui
