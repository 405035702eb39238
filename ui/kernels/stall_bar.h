#pragma once

#include "core/query/kernels/inside_table.h"
#include "core/query/timeline/hue.h"

#include <QWidget>

#include <optional>
#include <vector>

namespace tilescope::ui {

/// The issue slots of a kernel as a bar: those that are used, then the empty ones by the state of the sampled warp. Paints
/// itself; GUI thread.
class StallBar : public QWidget {
    Q_OBJECT
public:
    explicit StallBar(QWidget* parent = nullptr);

    /// \param issued  share of the slots that are used
    /// \param empty   the samples by state, of which the unissued count; the most first
    /// \param before  `issued` of the run before; none: there is none
    void show(double issued, std::vector<query::InsidePart> empty, std::optional<double> before);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Box {
        QRectF rect;
        QString title;
        double share = 0;
        query::Hue hue = query::Hue::Busy;
    };
    std::vector<Box> boxes() const;

    double issued_ = 0;
    std::vector<query::InsidePart> empty_;
    std::optional<double> before_;
};

} // namespace tilescope::ui
