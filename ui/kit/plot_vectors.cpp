#include "ui/kit/plot_vectors.h"

#include <QPicture>
#include <qcustomplot.h>

namespace tilescope::ui {

void drawPlot(QCustomPlot& plot, QPainter& painter, const QSize& size)
{
    // QCustomPlot draws only through its own painter class, so its drawing is recorded and replayed.
    QPicture picture;
    QCPPainter recorder(&picture);
    recorder.setMode(QCPPainter::pmVectorized);
    recorder.setMode(QCPPainter::pmNoCaching);
    plot.toPainter(&recorder, size.width(), size.height());
    recorder.end();
    painter.save();
    // A QPicture is replayed in inches: scale it back to pixels.
    painter.scale(double(picture.logicalDpiX()) / painter.device()->logicalDpiX(),
                  double(picture.logicalDpiY()) / painter.device()->logicalDpiY());
    painter.drawPicture(0, 0, picture);
    painter.restore();
}

} // namespace tilescope::ui
