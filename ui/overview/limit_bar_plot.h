#pragma once

#include "ui/overview/oom_rows.h"

#include <QWidget>

namespace tilescope::ui {

/// Memory in use at a failed request as one bar: its parts, the request on top of them, the limit, and what the
/// step would have needed. GUI thread.
class LimitBarPlot : public QWidget {
    Q_OBJECT
public:
    explicit LimitBarPlot(QWidget* parent = nullptr);

    void show(LimitBar bar);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Scale;
    Scale scale() const;
    void drawParts(QPainter& painter, const Scale& scale) const;
    void drawRequest(QPainter& painter, const Scale& scale) const;
    void drawLimit(QPainter& painter, const Scale& scale) const;
    void drawAxis(QPainter& painter, const Scale& scale) const;

    LimitBar bar_;
};

} // namespace tilescope::ui
