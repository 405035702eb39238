#pragma once

#include <qcustomplot.h>

namespace tilescope::ui {

/// A QCustomPlot in the window's colours and type: thin axes, faint grid, nothing at the top and the right.
class ThemedPlot : public QCustomPlot {
    Q_OBJECT
public:
    explicit ThemedPlot(QWidget* parent = nullptr);

    /// Draws it as shapes into the logical rectangle (0, 0, size).
    void drawVectors(QPainter& painter, const QSize& size);
    /// Ticks of this axis are at whole numbers only: it counts steps, instances or ranks.
    static void useCounts(QCPAxis& axis);
    /// Why there is nothing to draw: a sentence in place of axes, whose numbers would be made up. Empty if there is
    /// something. Takes effect with the next replot.
    void setNothing(const QString& sentence);
    QString nothing() const;

signals:
    /// The theme has changed: set pens and brushes again.
    void rethemed();

protected:
    void paintEvent(QPaintEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void updateLayout() override;
    virtual void retheme();

private:
    QCPItemText* nothing_ = nullptr; // null until the plot is empty for the first time
};

/// Ticks of a linear axis, labelled by tickText().
class NumberTicker : public QCPAxisTicker {
public:
    /// The quantity of an axis: counts have ticks at whole numbers only.
    enum class Scale { Continuous, Counts };

    /// \param axis  a horizontal one gets fewer ticks than tickCount() if their labels would touch
    explicit NumberTicker(const QCPAxis& axis, Scale scale = Scale::Continuous) : axis_(&axis), scale_(scale)
    {
    }

    void generate(const QCPRange& range, const QLocale& locale, QChar format, int precision,
                  QVector<double>& ticks, QVector<double>* subTicks, QVector<QString>* labels) override;
    QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

protected:
    double getTickStep(const QCPRange& range) override;

private:
    bool areApart(const QVector<double>& ticks, const QVector<QString>& labels) const;

    const QCPAxis* axis_;
    Scale scale_;
};

/// Ticks of a logarithmic axis, labelled by tickText(): at whole powers of its base, such as 0.01, 1, 4096.
/// If base 10 has too few powers in the range, at 1, 2 and 5 times a power; if those are still too few, or
/// base 2 has too few powers, at the round numbers of a linear axis.
class PowerTicker : public QCPAxisTickerLog {
public:
    explicit PowerTicker(double base);
    QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

protected:
    QVector<double> createTickVector(double tickStep, const QCPRange& range) override;
    QVector<double> createSubTickVector(int count, const QVector<double>& ticks) override;
};

} // namespace tilescope::ui
