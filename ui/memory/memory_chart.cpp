#include "ui/memory/memory_chart.h"

#include "ui/kit/key_actions.h"
#include "ui/kit/label_places.h"
#include "ui/kit/number_text.h"
#include "ui/kit/vector_drawing.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

MemoryChart::MemoryChart(MemoryAxis& axis, QWidget* parent) : QWidget(parent), axis_(axis)
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(sizes().of(240), sizes().of(140));
    setAttribute(Qt::WA_OpaquePaintEvent);
    makeKeys();
    connect(&axis_, &MemoryAxis::windowChanged, this, &MemoryChart::outdate);
    connect(&axis_, &MemoryAxis::windowChanged, this, [this] {
        if (isHovered_ && drag_ == Drag::None) // the box under the cursor has changed
            tellCursor();
    });
    for (auto signal : {&MemoryAxis::cursorChanged, &MemoryAxis::instantChanged, &MemoryAxis::spanChanged})
        connect(&axis_, signal, this, qOverload<>(&QWidget::update));
    connect(&Theme::instance(), &Theme::changed, this, &MemoryChart::outdate);
}

void MemoryChart::setSteps(std::vector<MemoryStepMark> steps, bool named)
{
    steps_ = std::move(steps);
    namesSteps_ = named;
    outdate();
}

void MemoryChart::outdate()
{
    isOutdated_ = true;
    update();
}

// Geometry and drawing
// ----------------------------------------------------------------------------------------------------------

QRect MemoryChart::plotOf(const QSize& size) const
{
    const QFontMetrics metrics(Theme::instance().small());
    const int left = metrics.horizontalAdvance(QStringLiteral("1 000 MiB")) + sizes().of(14);
    const int top = sizes().of(6);
    const int bottom = metrics.height() + sizes().of(10);
    return QRect(left, top, std::max(1, size.width() - left - sizes().of(10)),
                 std::max(1, size.height() - top - bottom));
}

double MemoryChart::xAt(double time, const QRect& plot) const
{
    const TimeWindow& window = axis_.window();
    return plot.left() + (time - window.from) / window.length() * plot.width();
}

double MemoryChart::timeAt(double x) const
{
    const QRect area = plot();
    const TimeWindow& window = axis_.window();
    return window.from + (x - area.left()) / area.width() * window.length();
}

void MemoryChart::drawByteLine(QPainter& painter, const QRect& plot, double y, const QString& label) const
{
    const Palette& p = colours();
    painter.setPen(p.grid);
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    const int height = painter.fontMetrics().height();
    painter.setPen(p.dimText);
    painter.drawText(QRectF(0, y - height / 2.0, plot.left() - sizes().of(7), height),
                     Qt::AlignRight | Qt::AlignVCenter, label);
}

void MemoryChart::drawTimes(QPainter& painter, const QRect& plot) const
{
    const Palette& p = colours();
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics = painter.fontMetrics();
    const int y = plot.bottom() + 1;
    painter.setPen(p.strongLine);
    painter.drawLine(plot.left(), y, plot.right(), y);
    for (const Tick& tick : timeTicks(axis_.window(), plot.width(), sizes().of(110))) {
        const double x = xAt(tick.at, plot);
        painter.setPen(p.strongLine);
        painter.drawLine(QPointF(x, y), QPointF(x, y + 4));
        if (tick.label.isEmpty())
            continue;
        const int width = metrics.horizontalAdvance(tick.label) + 2;
        const double left = std::min(x - width / 2.0, double(plot.right() + sizes().of(8) - width));
        painter.setPen(p.dimText);
        painter.drawText(QRectF(left, y + 5, width, metrics.height()), Qt::AlignCenter, tick.label);
    }
}

void MemoryChart::drawSteps(QPainter& painter, const QRect& plot, std::vector<QRectF>& names) const
{
    const Palette& p = colours();
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics = painter.fontMetrics();
    double free = plot.left();
    for (const MemoryStepMark& step : steps_) {
        const double x = xAt(step.from, plot);
        // Bounds the number of step lines, so that they do not cover the data.
        if (x < free || x > plot.right())
            continue;
        painter.setPen(p.strongLine);
        drawBehind(painter, x, plot.top(), plot.bottom(), names);
        const bool isNarrow = xAt(step.to, plot) - x < sizes().of(8);
        if (!namesSteps_ && !isNarrow)
            continue;
        const int width = metrics.horizontalAdvance(step.word);
        if (namesSteps_ && x + width + sizes().of(8) < plot.right()) {
            painter.setPen(p.dimText);
            painter.drawText(QPointF(x + sizes().of(4), plot.top() + metrics.ascent() + 1), step.word);
            names.emplace_back(x + sizes().of(4), plot.top(), width, metrics.height() + 1);
        }
        free = x + width + sizes().of(12);
    }
}

std::vector<QRectF> MemoryChart::drawContent(QPainter& painter, const QSize& size, bool vector)
{
    std::vector<QRectF> names;
    const QRect area = plotOf(size);
    painter.fillRect(QRect(QPoint(0, 0), size), colours().surface);
    painter.setFont(Theme::instance().small());
    if (!isEmpty())
        drawData(painter, area, vector, names);
    drawSteps(painter, area, names);
    drawTimes(painter, area);
    return names;
}

void MemoryChart::drawOverlay(QPainter& painter, const QRect& plot, const std::vector<QRectF>& names)
{
    const Palette& p = colours();
    const auto drawLine = [&](double x) { drawBehind(painter, x, plot.top(), plot.bottom(), names); };
    if (isEmpty())
        return;
    painter.save();
    painter.setClipRect(plot.adjusted(-1, 0, 1, 1));
    if (const auto& span = axis_.span()) {
        const QRectF rect(QPointF(xAt(span->from, plot), plot.top()),
                          QPointF(xAt(span->to, plot), plot.bottom() + 1));
        QColor fill = p.accent;
        fill.setAlphaF(0.14F);
        painter.fillRect(rect, fill);
        painter.setPen(p.accent);
        drawLine(rect.left());
        drawLine(rect.right());
    }
    painter.setPen(QPen(p.text, 1, Qt::DashLine));
    drawLine(std::round(xAt(axis_.instant(), plot)));
    drawMarks(painter, plot);
    if (const auto& cursor = axis_.cursor()) {
        painter.setPen(p.dimText);
        drawLine(std::round(xAt(*cursor, plot)));
    }
    painter.restore();
    drawLabels(painter, plot);
}

void MemoryChart::draw(QPainter& painter, const QSize& size, bool vector)
{
    painter.save();
    painter.setClipRect(QRect(QPoint(0, 0), size), Qt::IntersectClip);
    const std::vector<QRectF> names = drawContent(painter, size, vector);
    drawOverlay(painter, plotOf(size), names);
    painter.restore();
}

void MemoryChart::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    if (VectorDrawing::isOn())
        return draw(painter, size(), true);
    const double ratio = devicePixelRatioF();
    if (isOutdated_ || picture_.size() != size() * ratio) {
        if (picture_.size() != size() * ratio) {
            picture_ = QPixmap(size() * ratio);
            picture_.setDevicePixelRatio(ratio);
        }
        QPainter content(&picture_);
        names_ = drawContent(content, size(), false);
        isOutdated_ = false;
    }
    painter.drawPixmap(0, 0, picture_);
    drawOverlay(painter, plot(), names_);
}

void MemoryChart::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    outdate();
}

void MemoryChart::contextMenuEvent(QContextMenuEvent* event)
{
    // With many blocks the table is long, so it is made on demand.
    QMenu menu(this);
    menu.addAction(tr("Copy as image"), this, [this] { QApplication::clipboard()->setPixmap(grab()); });
    menu.addAction(tr("Copy data as table"), this,
                   [this] { QApplication::clipboard()->setText(tableText(table(), QLatin1Char('\t'))); })
        ->setEnabled(!isEmpty());
    menu.exec(event->globalPos());
}

// Mouse and keyboard
// ----------------------------------------------------------------------------------------------------------

void MemoryChart::zoom(double factor, double x)
{
    axis_.setWindow(axis_.window().zoomed(factor, timeAt(x)));
}

void MemoryChart::fit()
{
    axis_.fit();
}

void MemoryChart::zoomToSelection()
{
    if (const auto span = axis_.span())
        axis_.setWindow(*span);
}

void MemoryChart::escape()
{
    axis_.setSpan({});
}

void MemoryChart::clicked(QPointF at)
{
    axis_.setSpan({});
    emit instantClicked(timeAt(at.x()));
}

void MemoryChart::doubleClicked(QPointF)
{
    fit();
}

void MemoryChart::wheelEvent(QWheelEvent* event)
{
    const QPoint delta = event->angleDelta();
    const double turns = (delta.y() != 0 ? delta.y() : delta.x()) / 120.0;
    const Qt::KeyboardModifiers keys = event->modifiers();
    event->accept();
    if (isEmpty())
        return;
    if (keys & Qt::ShiftModifier || (delta.y() == 0 && !(keys & Qt::AltModifier)))
        axis_.setWindow(axis_.window().panned(-turns * axis_.window().length() * 0.1), false);
    else if (keys & Qt::AltModifier)
        zoomBytes(std::pow(0.8, turns), event->position().y());
    else if (keys & Qt::ControlModifier || !scrollBytes(turns * 0.1))
        zoom(std::pow(0.8, turns), event->position().x());
}

void MemoryChart::mousePressEvent(QMouseEvent* event)
{
    pressedAt_ = event->position();
    pressedWindow_ = axis_.window();
    if (isEmpty())
        return;
    if (event->button() == Qt::MiddleButton) {
        drag_ = Drag::Pan;
        setCursor(Qt::ClosedHandCursor);
    } else if (event->button() == Qt::LeftButton) {
        drag_ = Drag::Span;
    }
}

void MemoryChart::mouseMoveEvent(QMouseEvent* event)
{
    cursor_ = event->position();
    if (isEmpty())
        return;
    if (drag_ == Drag::Pan) {
        const double perPixel = axis_.window().length() / plot().width();
        axis_.setWindow(pressedWindow_.panned((pressedAt_.x() - cursor_.x()) * perPixel), false);
        return;
    }
    if (drag_ == Drag::Span &&
        std::abs(cursor_.x() - pressedAt_.x()) >= QApplication::startDragDistance() / 2.0) {
        const double a = timeAt(pressedAt_.x());
        const double b = timeAt(cursor_.x());
        axis_.setSpan(TimeWindow{std::min(a, b), std::max(a, b)});
    }
    tellCursor();
}

void MemoryChart::tellCursor()
{
    isHovered_ = !isEmpty() && plot().contains(cursor_.toPoint());
    axis_.setCursor(isHovered_ ? std::optional(timeAt(cursor_.x())) : std::nullopt);
    emit hovered(isHovered_ ? reading(cursor_) : QString());
}

void MemoryChart::mouseReleaseEvent(QMouseEvent* event)
{
    const Drag was = drag_;
    drag_ = Drag::None;
    unsetCursor();
    if (was == Drag::Span &&
        (event->position() - pressedAt_).manhattanLength() < QApplication::startDragDistance() / 2.0)
        clicked(event->position());
}

void MemoryChart::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (!isEmpty() && event->button() == Qt::LeftButton)
        doubleClicked(event->position());
}

void MemoryChart::leaveEvent(QEvent* event)
{
    QWidget::leaveEvent(event);
    cursor_ = {};
    isHovered_ = false;
    axis_.setCursor({});
    emit hovered({});
}

bool MemoryChart::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip || isEmpty())
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString words = plot().contains(help->pos()) ? tip(help->pos()) : QString();
    if (words.isEmpty())
        QToolTip::hideText();
    else
        QToolTip::showText(help->globalPos(), words, this);
    return true;
}

void MemoryChart::makeKeys()
{
    const auto centre = [this] { return cursor_.x() > plot().left() ? cursor_.x() : plot().center().x(); };
    const auto pan = [this](double part) {
        axis_.setWindow(axis_.window().panned(part * axis_.window().length()));
    };
    addKey(*this, tr("Zoom in"), {Qt::Key_W, Qt::Key_Plus}, [=, this] { zoom(0.7, centre()); });
    addKey(*this, tr("Zoom out"), {Qt::Key_S, Qt::Key_Minus}, [=, this] { zoom(1 / 0.7, centre()); });
    addKey(*this, tr("Move left"), {Qt::Key_A, Qt::Key_Left}, [=] { pan(-0.15); });
    addKey(*this, tr("Move right"), {Qt::Key_D, Qt::Key_Right}, [=] { pan(0.15); });
    addKey(*this, tr("Higher bytes"), {Qt::Key_Up}, [this] { scrollBytes(0.15); });
    addKey(*this, tr("Lower bytes"), {Qt::Key_Down}, [this] { scrollBytes(-0.15); });
    addKey(*this, tr("Show everything"), {Qt::Key_F}, [this] { fit(); });
    addKey(*this, tr("Zoom to the selection"), {Qt::Key_Z}, [this] { zoomToSelection(); });
    addKey(*this, tr("Zoom back"), {Qt::ALT | Qt::Key_Left}, [this] { axis_.back(); });
    addKey(*this, tr("Forward again"), {Qt::ALT | Qt::Key_Right}, [this] { axis_.forward(); });
    addKey(*this, tr("Clear the selection"), {Qt::Key_Escape}, [this] { escape(); });
}

} // namespace tilescope::ui
