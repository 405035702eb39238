#pragma once

#include "ui/timeline/timeline_scene.h"

#include <QImage>
#include <QString>

#include <functional>
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
    /// The positions of the rows of the runs.
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
    /// The inputs of the picture other than the theme.
    struct Shown {
        struct Section {
            const query::Timeline* timeline = nullptr;
            double origin = 0; ///< on the axis
            QString letter;

            bool operator==(const Section&) const = default;
        };
        std::vector<Section> sections;
        TimeWindow whole;
        QRect area;
        int label = 0;
        double ratio = 1;

        bool operator==(const Shown&) const = default;
    };
    static Shown shownOf(const TimelineScene& scene, const Place& place, const QRect& area, double ratio);
    /// All but the window.
    void paintGround(QPainter& painter, const TimelineScene& scene, const BoxColours& boxColours,
                     const Place& place, const QRect& area, bool vector);
    static void paintWords(QPainter& painter, const TimelineScene& scene, const Place& place,
                           const QRect& area);
    static void paintSteps(QPainter& painter, const TimelineSection& first, const Place& place,
                           const QRect& area,
                           const std::function<void(double x, int top, const QString& text)>& drawCentred);

    std::vector<query::Column> columns_;
    QImage image_;
    Shown shown_; ///< in the picture
};

} // namespace tilescope::ui
