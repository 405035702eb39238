#pragma once

#include "ui/overview/oom_rows.h"

#include <QWidget>

namespace tilescope::ui {

/// Memory in use at a failed request as one bar: its parts, the request on top of them, the limit, and what the
/// step would have needed. Below it, on the same scale, the peaks of changes that fit: solid if measured, dashed if
/// predicted. GUI thread.
class LimitBarPlot : public QWidget {
    Q_OBJECT
public:
    explicit LimitBarPlot(QWidget* parent = nullptr);

    void show(LimitBar bar);
    void showVariants(std::vector<LimitVariant> variants);
    QSize sizeHint() const override;
    /// The bar of a variant; empty if there is none.
    QRectF variantBox(std::size_t variant) const;

signals:
    /// A click on the bar of a variant.
    void variantClicked(std::size_t suggestion);

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;

private:
    struct Scale;
    Scale scale() const;
    void drawParts(QPainter& painter, const Scale& scale) const;
    void drawRequest(QPainter& painter, const Scale& scale) const;
    void drawLimit(QPainter& painter, const Scale& scale) const;
    void drawVariants(QPainter& painter, const Scale& scale) const;
    void drawAxis(QPainter& painter, const Scale& scale) const;
    const LimitVariant* variantAt(QPointF at) const;
    void describe();

    LimitBar bar_;
    std::vector<LimitVariant> variants_;
};

} // namespace tilescope::ui
