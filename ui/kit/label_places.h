#pragma once

#include <QPointF>
#include <QPolygonF>
#include <QRectF>
#include <QSizeF>

#include <optional>
#include <span>
#include <vector>

class QPainter;

namespace tilescope::ui {

/// Places labels beside the points that they name: within the area, over no marker and no other label, and off
/// the lines if there is such a place.
class LabelPlaces {
public:
    struct Place {
        QRectF rect;
        bool isOnLine = false; ///< no place was free of lines
    };

    /// \param area  no label leaves it
    explicit LabelPlaces(const QRectF& area) : area_(area) {}
    /// Nothing is placed over this rectangle.
    void take(const QRectF& rect) { taken_.push_back(rect); }
    /// A line that labels avoid.
    void avoid(const QPolygonF& line);
    bool isFree(const QRectF& rect) const;
    bool isOnLine(const QRectF& rect) const;
    /// The first free rectangle, otherwise the first that is only on a line; takes it. None if all are taken
    /// or outside.
    /// \param wanted  the best first
    std::optional<Place> place(std::span<const QRectF> wanted);
    /// Rectangles for a label around a point, the nearest first: above, to the right and left, below. Those above
    /// and below are moved sideways into the area.
    /// \param away  distance from the point
    std::vector<QRectF> around(QPointF point, const QSizeF& size, double away) const;

private:
    QRectF area_;
    std::vector<QRectF> taken_;
    std::vector<QPolygonF> lines_;
};

/// A vertical line that is interrupted where a label is, so that the label stays readable.
void drawBehind(QPainter& painter, double x, double top, double bottom, std::span<const QRectF> labels);

} // namespace tilescope::ui
