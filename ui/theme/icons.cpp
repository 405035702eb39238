#include "ui/theme/icons.h"

#include <QGuiApplication>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPixmap>
#include <QPixmapCache>
#include <QTransform>

#include <array>
#include <cmath>
#include <sstream>

namespace tilescope::ui {

namespace {

// Path commands: M x y, L x y, Q cx cy x y, Z, R x y w h radius (rectangle), O cx cy r (circle); a leading F
// fills.
constexpr std::array<const char*, 30> kShapes = {
    "R 3 3 7.5 9 1.5 R 13.5 3 7.5 5 1.5 R 13.5 11.5 7.5 9.5 1.5 R 3 15.5 7.5 5.5 1.5", // Overview
    "M 8.5 3 L 15.5 3 M 10 3 L 10 9 L 4.6 18.4 Q 3.6 21 6.4 21 L 17.6 21 Q 20.4 21 19.4 18.4 L 14 9 L 14 3 "
    "M 7.2 14.5 L 16.8 14.5",                                                              // Experiment
    "M 3 3 L 3 21 M 6 5 L 14 5 M 9 10 L 18 10 M 8 15 L 13 15 M 14 20 L 21 20 M 6 5 L 6 5", // Timeline
    "R 3 4 18 4.5 0.5 R 3 9.8 11 4.5 0.5 R 16 9.8 5 4.5 0.5 R 5 15.6 5.5 4.5 0.5",         // Flame
    "M 3 4 L 21 4 M 3 9.5 L 16 9.5 M 3 15 L 11 15 M 3 20.5 L 7 20.5",                      // Kernels
    "M 3 20 L 3 14 L 8 9 L 12.5 12 L 17 6 L 21 9 L 21 20 Z M 3 17.5 L 8 14 L 12.5 16.5 L 17 12.5 L 21 14", // Memory
    "M 7.5 20 L 7.5 4 M 3.5 8 L 7.5 4 L 11.5 8 M 16.5 4 L 16.5 20 M 12.5 16 L 16.5 20 L 20.5 16", // Compare
    "M 3.5 3 L 3.5 20.5 L 21 20.5 M 7 15.5 L 11.5 10 L 15 13 L 20.5 6",                           // Charts
    "R 3 4 18 16 1.5 M 3 9 L 21 9 M 9.5 9 L 9.5 20 M 12.5 13 L 18 13 M 12.5 16.5 L 16 16.5",      // Query
    "R 6 6 12 12 1.5 R 10 10 4 4 0.5 M 9 3 L 9 6 M 15 3 L 15 6 M 9 18 L 9 21 M 15 18 L 15 21 "
    "M 3 9 L 6 9 M 3 15 L 6 15 M 18 9 L 21 9 M 18 15 L 21 15", // Machine
    "M 6 3 L 18 3 M 6 21 L 18 21 M 7.5 3 L 7.5 6.5 Q 7.5 9 12 12 Q 16.5 15 16.5 17.5 L 16.5 21 "
    "M 16.5 3 L 16.5 6.5 Q 16.5 9 12 12 Q 7.5 15 7.5 17.5 L 7.5 21", // Waiting
    "O 12 12 9 M 9.3 9.4 Q 9.5 6.8 12 6.8 Q 14.7 6.9 14.7 9.3 Q 14.6 10.9 12 12.2 L 12 13.6 M 12 17 L 12 "
    "17.2",                                                                   // Help
    "O 10.5 10.5 6.5 M 15.3 15.3 L 20.5 20.5",                                // Search
    "M 6 9 L 12 15 L 18 9",                                                   // ChevronDown
    "M 9 6 L 15 12 L 9 18",                                                   // ChevronRight
    "M 15 6 L 9 12 L 15 18",                                                  // ChevronLeft
    "M 20 12 L 4 12 M 10 6 L 4 12 L 10 18",                                   // Back
    "M 4 12 L 20 12 M 14 6 L 20 12 L 14 18",                                  // Forward
    "M 4 8 L 20 8 M 16 4 L 20 8 L 16 12 M 20 16 L 4 16 M 8 12 L 4 16 L 8 20", // Swap
    "M 4.5 12.5 L 9.5 17.5 L 19.5 6.5",                                       // Check
    "M 12 4 L 21.5 20 L 2.5 20 Z M 12 10 L 12 14.2 M 12 17 L 12 17.2",        // Warning
    "M 6 6 L 18 18 M 18 6 L 6 18",                                            // Error
    "O 12 12 9 M 12 11 L 12 16.5 M 12 7.6 L 12 7.8",                          // Info
    "F M 6 4 L 20 12 L 6 20 Z",                                               // Running
    "M 5 12 L 19 12",                                                         // Skipped
    "R 6 6 12 12 1",                                                          // Cancelled
    "M 7 7 L 17 17 M 17 7 L 7 17",                                            // Close
    "M 12 5 L 12 19 M 5 12 L 19 12",                                          // Plus
    "F M 4 6 L 20 6 L 12 20 Z",                                               // Down
    "F M 4 18 L 20 18 L 12 4 Z",                                              // Up
};

struct Shape {
    QPainterPath path;
    bool filled = false;
};

Shape parse(const char* text)
{
    Shape shape;
    std::istringstream in(text);
    char command = 0;
    double a = 0, b = 0, c = 0, d = 0, e = 0;
    while (in >> command) {
        switch (command) {
        case 'F':
            shape.filled = true;
            break;
        case 'M':
            in >> a >> b;
            shape.path.moveTo(a, b);
            break;
        case 'L':
            in >> a >> b;
            shape.path.lineTo(a, b);
            break;
        case 'Q':
            in >> a >> b >> c >> d;
            shape.path.quadTo(a, b, c, d);
            break;
        case 'R':
            in >> a >> b >> c >> d >> e;
            shape.path.addRoundedRect(a, b, c, d, e, e);
            break;
        case 'O':
            in >> a >> b >> c;
            shape.path.addEllipse(QPointF(a, b), c, c);
            break;
        case 'Z':
            shape.path.closeSubpath();
            break;
        default:
            Q_ASSERT_X(false, "icons", "unknown path command");
        }
    }
    return shape;
}

const Shape& shapeOf(Icon icon)
{
    static std::array<Shape, kShapes.size()> shapes;
    Shape& shape = shapes[std::size_t(icon)];
    if (shape.path.isEmpty())
        shape = parse(kShapes[std::size_t(icon)]);
    return shape;
}

void strokeIcon(QPainter& painter, Icon icon, const QRectF& rect, const QColor& colour)
{
    const Shape& shape = shapeOf(icon);
    const double scale = rect.width() / 24;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(rect.topLeft());
    painter.scale(scale, scale);
    if (shape.filled) {
        painter.fillPath(shape.path, colour);
    } else {
        QPen pen(colour, std::max(1.8, 1.25 / scale));
        pen.setCapStyle(Qt::RoundCap);
        pen.setJoinStyle(Qt::RoundJoin);
        painter.strokePath(shape.path, pen);
    }
    painter.restore();
}

// The icon as it looks at `place` among the pixels of a device, with a pixel around it.
QPixmap iconPicture(Icon icon, const QRectF& place, double ratio, const QColor& colour)
{
    const QString key = QStringLiteral("icon %1 %2 %3 %4 %5 %6")
                            .arg(int(icon))
                            .arg(colour.rgba())
                            .arg(ratio)
                            .arg(place.width())
                            .arg(place.x())
                            .arg(place.y());
    QPixmap picture;
    if (!QPixmapCache::find(key, &picture)) {
        const int side = int(std::ceil(place.width())) + 3;
        picture = QPixmap(side, side);
        picture.fill(Qt::transparent);
        QPainter painter(&picture);
        painter.translate(place.topLeft() + QPointF(1, 1));
        painter.scale(ratio, ratio);
        strokeIcon(painter, icon, QRectF(QPointF(), place.size() / ratio), colour);
        painter.end();
        QPixmapCache::insert(key, picture);
    }
    return picture;
}

} // namespace

void paintIcon(QPainter& painter, Icon icon, const QRectF& rect, const QColor& colour)
{
    const QTransform device = painter.deviceTransform();
    if (painter.paintEngine()->type() != QPaintEngine::Raster || device.type() > QTransform::TxScale)
        return strokeIcon(painter, icon, rect, colour); // in PDF and SVG it stays a shape
    const QRectF place = device.mapRect(rect);
    const QPointF pixel(std::floor(place.x()), std::floor(place.y()));
    painter.save();
    painter.setWorldTransform(device.inverted() * painter.worldTransform()); // to the pixels of the device
    painter.drawPixmap(pixel - QPointF(1, 1),
                       iconPicture(icon, place.translated(-pixel), device.m11(), colour));
    painter.restore();
}

QIcon makeIcon(Icon icon, const QColor& colour, int size)
{
    const double ratio = qApp->devicePixelRatio();
    QPixmap pixmap(int(std::lround(size * ratio)), int(std::lround(size * ratio)));
    pixmap.setDevicePixelRatio(ratio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paintIcon(painter, icon, QRectF(0, 0, size, size), colour);
    return QIcon(pixmap);
}

} // namespace tilescope::ui
