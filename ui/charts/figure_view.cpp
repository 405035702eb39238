#include "ui/charts/figure_view.h"

#include "ui/kit/copy_menu.h"
#include "ui/kit/count_text.h"
#include "ui/kit/tool_tip.h"
#include "ui/theme/theme.h"
#include "ui/theme/unbroken_text.h"

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>

#include <algorithm>

namespace tilescope::ui {

namespace {

const QColor kRing(0x24, 0x58, 0xB8);
constexpr double kRingRadius = 8; // design pixels
constexpr double kMostZoom = 1.6;
constexpr double kReach = 10; // design pixels from the cursor to a point

} // namespace

FigureView::FigureView(ChartPlot& plot, QWidget* parent) : QWidget(parent), plot_(plot)
{
    setAccessibleName(tr("Chart"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
}

QPointF FigureView::corner() const
{
    const double scale = zoom();
    return {(width() - scale * paper_.width()) / 2, (height() - scale * paper_.height()) / 2};
}

std::optional<ChartPlot::PointRef> FigureView::pointUnder(const QPointF& cursor) const
{
    if (paper_.isEmpty())
        return {};
    return plot_.pointAt((cursor - corner()) / zoom(), sizes().of(kReach) / zoom());
}

QPoint FigureView::placeOf(std::size_t point) const
{
    return (corner() + plot_.placeOf(point) * zoom()).toPoint();
}

void FigureView::describe(const QString& words)
{
    description_ = words;
    readOut();
}

std::optional<std::size_t> FigureView::ringedIndex() const
{
    if (!ring_ || paper_.isEmpty())
        return {};
    for (std::size_t i = 0; i < plot_.pointCount(); ++i) {
        const ChartPlot::PointRef& at = plot_.point(i);
        if (at.point->uid == ring_->uid && at.series->name == ring_->series &&
            at.series->facet == ring_->facet)
            return i;
    }
    return {};
}

std::optional<ChartPlot::PointRef> FigureView::ringed() const
{
    const std::optional<std::size_t> at = ringedIndex();
    return at && hasFocus() ? std::optional(plot_.point(*at)) : std::nullopt;
}

void FigureView::setRing(std::optional<std::size_t> point)
{
    ring_.reset();
    if (point) {
        const ChartPlot::PointRef& at = plot_.point(*point);
        ring_ = Ring{at.series->name, at.series->facet, at.point->uid};
    }
    readOut();
    update();
}

// A screen reader reads the description of what has the focus when it changes.
void FigureView::readOut()
{
    const auto point = ringed();
    const QString words = point ? QStringList(tipLines(*point)).join(QStringLiteral(", ")) : QString();
    setAccessibleDescription(words.isEmpty() ? description_ : words + QLatin1Char('\n') + description_);
}

void FigureView::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    // By a click, the user points at what is wanted.
    if (event->reason() != Qt::MouseFocusReason && !ringedIndex() && !paper_.isEmpty() &&
        plot_.pointCount() > 0)
        setRing(0);
    readOut();
    update();
}

void FigureView::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    QToolTip::hideText();
    readOut();
    update();
}

void FigureView::keyPressEvent(QKeyEvent* event)
{
    const auto key = Qt::Key(event->key());
    const bool isArrow =
        key == Qt::Key_Left || key == Qt::Key_Right || key == Qt::Key_Up || key == Qt::Key_Down;
    const std::optional<std::size_t> at = ringedIndex();
    if ((key == Qt::Key_Return || key == Qt::Key_Enter) && at) {
        if (const std::string& uid = plot_.point(*at).point->uid; !uid.empty())
            emit pointChosen(QString::fromStdString(uid));
        return;
    }
    if (!isArrow || paper_.isEmpty() || plot_.pointCount() == 0)
        return QWidget::keyPressEvent(event);
    const std::size_t next = at ? plot_.neighbour(*at, key).value_or(*at) : 0;
    setRing(next);
    const QPoint place = placeOf(next);
    QToolTip::showText(mapToGlobal(place + QPoint(sizes().of(kReach), sizes().of(kReach))),
                       tipOfLines(tipLines(plot_.point(next))), this);
}

void FigureView::mouseMoveEvent(QMouseEvent* event)
{
    const auto under = pointUnder(event->position());
    setCursor(under && !under->point->uid.empty() ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void FigureView::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    if (const auto under = pointUnder(event->position()); under && !under->point->uid.empty())
        emit pointChosen(QString::fromStdString(under->point->uid));
}

// Value, spread and number of samples of the point under the cursor.
bool FigureView::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto under = pointUnder(help->pos());
    if (!under) {
        QToolTip::hideText();
        return true;
    }
    QToolTip::showText(help->globalPos(), tipOfLines(tipLines(*under)), this);
    return true;
}

// Line, x, value with its spread, and number of samples.
QStringList FigureView::tipLines(const ChartPlot::PointRef& ref) const
{
    const ChartPoint& point = *ref.point;
    QStringList lines{ref.series->name, plot_.xText(point), point.exact};
    if (!ref.isOutOfMemory)
        lines << (point.runs > 1 ? counted(point.runs, "run") : counted(point.n, "sample"));
    lines.removeAll(QString());
    return lines;
}

void FigureView::setPaper(const QSize& paper, const QString& otherwise)
{
    paper_ = paper;
    words_ = otherwise;
    update();
}

double FigureView::zoom() const
{
    if (paper_.isEmpty())
        return 1;
    return std::min({kMostZoom, double(width()) / paper_.width(), double(height()) / paper_.height()});
}

void FigureView::draw(QPainter& painter, const QSize& size)
{
    plot_.drawVectors(painter, size);
}

void FigureView::contextMenuEvent(QContextMenuEvent* event)
{
    openCopyMenu(*this, event->globalPos(), [this] { return tableOf(plot_); });
}

void FigureView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    if (paper_.isEmpty()) {
        painter.setPen(colours().dimText);
        painter.setFont(Theme::instance().body());
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, unbroken(words_));
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    const double scale = zoom();
    painter.save();
    painter.translate(corner());
    painter.scale(scale, scale);
    painter.fillRect(QRect(QPoint(0, 0), paper_), Qt::white);
    draw(painter, paper_);
    painter.restore();
    if (const std::optional<std::size_t> at = ringedIndex(); at && hasFocus()) {
        // On white paper in both themes.
        painter.setPen(QPen(kRing, sizes().of(2)));
        painter.setBrush(Qt::NoBrush);
        const double radius = sizes().of(kRingRadius);
        painter.drawEllipse(QPointF(placeOf(*at)), radius, radius);
    }
}

} // namespace tilescope::ui
