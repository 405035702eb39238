#pragma once

#include "ui/overview/overview_figures.h"

#include <QWidget>

namespace tilescope::ui {

/// A surface with a key number for each run, its unit smaller, and words below. A click, Enter or Space leads
/// to the page that says more. Paints itself; GUI thread.
class KeyFigureCard : public QWidget {
    Q_OBJECT
public:
    explicit KeyFigureCard(QWidget* parent = nullptr);

    void show(KeyFigure figure);
    const KeyFigure& figure() const { return figure_; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void pageWanted(const QString& page);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void paintLine(QPainter& painter, const KeyFigure::Line& line, const QRect& rect) const;

    KeyFigure figure_;
};

} // namespace tilescope::ui
