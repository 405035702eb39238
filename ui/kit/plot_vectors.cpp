#include "ui/kit/plot_vectors.h"

#include <QPicture>
#include <qcustomplot.h>

namespace tilescope::ui {

void drawPlot(QCustomPlot& plot, QPainter& painter, const QSize& size)
{
    // QCustomPlot draws through a painter of its own kind only: recorded, what it draws fits any.
    QPicture picture;
    QCPPainter recorder(&picture);
    recorder.setMode(QCPPainter::pmVectorized);
    recorder.setMode(QCPPainter::pmNoCaching);
    plot.toPainter(&recorder, size.width(), size.height());
    recorder.end();
    painter.save();
    // A picture is played in inches; what we draw is in pixels, whatever the device calls an inch.
    painter.scale(double(picture.logicalDpiX()) / painter.device()->logicalDpiX(),
                  double(picture.logicalDpiY()) / painter.device()->logicalDpiY());
    painter.drawPicture(0, 0, picture);
    painter.restore();
}

} // namespace tilescope::ui
