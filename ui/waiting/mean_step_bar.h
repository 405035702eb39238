#pragma once

#include "core/query/timeline/hue.h"
#include "ui/kit/table_model.h"

#include <QWidget>

#include <vector>

namespace tilescope::ui {

/// A mean step as a bar from top to bottom: what the GPU did, then why it was idle, each with its time. Paints itself; GUI
/// thread.
class MeanStepBar : public QWidget {
    Q_OBJECT
public:
    struct Part {
        query::Hue hue = query::Hue::Busy;
        QString title;
        double time = 0;    ///< ns of a mean step
        bool isIdle = true; ///< of the GPU
    };
    explicit MeanStepBar(QWidget* parent = nullptr);

    /// \param parts  from the top; `whole` is the sum of their times
    void show(std::vector<Part> parts, const QString& whole);
    const std::vector<Part>& parts() const { return parts_; }
    /// Draws the bar at another size.
    void draw(QPainter& painter, const QSize& size) const;
    TableData table() const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Label {
        std::size_t part = 0;
        double middle = 0; ///< of the part, pixels
        double top = 0;    ///< of the text
    };
    double whole() const;
    QRectF barOf(const QSize& size) const;
    std::vector<Label> labels(const QRectF& bar) const;
    double labelHeight() const;

    std::vector<Part> parts_;
    QString text_;
};

} // namespace tilescope::ui
