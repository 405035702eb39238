#pragma once

#include "ui/timeline/timeline_scene.h"

#include <QImage>

#include <vector>

class QPainter;

namespace tilescope::ui {

/// The strip above the lanes that shows the whole run and the window in it. Keeps its picture until the runs
/// or their sizes change; GUI thread.
class OverviewStrip {
public:
    /// Discards the picture: the theme or the runs have changed.
    void reset() { image_ = {}; }
    /// \param vector  true where boxes must stay shapes
    void paint(QPainter& painter, const TimelineScene& scene, const BoxColours& boxColours, const QRect& area,
               bool vector);

private:
    /// Where the rows of the runs are.
    struct Place {
        TimeWindow whole;
        QRect area;
        int rowHeight = 0;

        double xOf(double axis) const
        {
            return area.left() + (axis - whole.from) / whole.length() * area.width();
        }
    };
    void fill(BoxTarget& target, const TimelineScene& scene, const BoxColours& boxColours, const Place& place,
              double ratio);
    void paintImage(QPainter& painter, const TimelineScene& scene, const BoxColours& boxColours,
                    const Place& place);

    std::vector<query::Column> columns_;
    QImage image_;
    std::vector<const query::Timeline*> shown_; ///< in the picture
};

} // namespace tilescope::ui
