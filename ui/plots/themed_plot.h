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

signals:
    /// Colours changed: whoever set pens and brushes sets them again.
    void rethemed();

protected:
    void paintEvent(QPaintEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    virtual void retheme();
};

/// Labels of ticks: three digits, thin spaces between thousands.
class NumberTicker : public QCPAxisTicker {
public:
    QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;
};

/// Ticks of a logarithmic axis at whole powers of its base, written out: 0.01, 1, 4096.
class PowerTicker : public QCPAxisTickerLog {
public:
    explicit PowerTicker(double base);
    QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;
};

} // namespace tilescope::ui
