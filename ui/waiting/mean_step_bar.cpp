#include "ui/waiting/mean_step_bar.h"

#include "ui/kit/elided_text.h"
#include "ui/kit/hatch.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/theme/theme.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <numeric>

namespace tilescope::ui {

namespace {

// In design pixels.
constexpr double kBar = 44;
constexpr double kLead = 14; ///< between the bar and a text
constexpr double kFoot = 18; ///< below the bar
constexpr double kTop = 4;
constexpr double kLeast = 150; ///< height

QString figures(const MeanStepBar::Part& part, double whole)
{
    return timeText(part.time) + QStringLiteral("   ") + percentText(whole > 0 ? part.time / whole : 0);
}

void fillPart(QPainter& painter, const QRectF& box, query::Hue hue)
{
    const Palette& p = colours();
    if (hue != query::hueOfCause(analysis::HostCause::Unexplained))
        return painter.fillRect(box, p.hue(hue));
    fillHatched(painter, box, p.strongLine, p.surface);
}

} // namespace

MeanStepBar::MeanStepBar(QWidget* parent) : QWidget(parent)
{
    setAccessibleName(tr("Mean step"));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Expanding);
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        updateGeometry();
        update();
    });
}

void MeanStepBar::show(std::vector<Part> parts, const QString& whole)
{
    parts_ = std::move(parts);
    text_ = whole;
    QStringList words;
    for (const Part& part : parts_)
        words << part.title + QLatin1Char(' ') + figures(part, this->whole());
    setAccessibleDescription(words.join(QStringLiteral(", ")));
    update();
}

double MeanStepBar::whole() const
{
    return std::accumulate(parts_.begin(), parts_.end(), 0.0,
                           [](double sum, const Part& part) { return sum + part.time; });
}

QSize MeanStepBar::sizeHint() const
{
    return {sizes().of(230), sizes().of(400)};
}

QSize MeanStepBar::minimumSizeHint() const
{
    return {sizes().of(190), sizes().of(kLeast)};
}

double MeanStepBar::labelHeight() const
{
    return 2.0 * QFontMetrics(Theme::instance().small()).height() + sizes().of(3);
}

QRectF MeanStepBar::barOf(const QSize& size) const
{
    return {double(sizes().padding), double(sizes().of(kTop)), double(sizes().of(kBar)),
            std::max(1.0, double(size.height() - sizes().of(kTop) - sizes().of(kFoot)))};
}

// The largest parts that have room for a text, each as near to its part as the others allow.
std::vector<MeanStepBar::Label> MeanStepBar::labels(const QRectF& bar) const
{
    const double all = whole();
    if (all <= 0)
        return {};
    const double height = labelHeight();
    std::vector<std::size_t> order(parts_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater{}, [this](std::size_t i) { return parts_[i].time; });
    const auto room = std::max<std::size_t>(1, std::size_t(bar.height() / height));
    order.resize(std::min(order.size(), room));
    std::ranges::sort(order);
    std::vector<double> middles(parts_.size());
    double at = bar.top();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const double length = bar.height() * parts_[i].time / all;
        middles[i] = at + length / 2;
        at += length;
    }
    std::vector<Label> made;
    for (const std::size_t part : order) {
        const double least = made.empty() ? bar.top() : made.back().top + height;
        made.push_back({part, middles[part], std::max(least, middles[part] - height / 2)});
    }
    // Those at the bottom push the others up.
    double limit = bar.bottom();
    for (auto label = made.rbegin(); label != made.rend(); ++label) {
        label->top = std::min(label->top, limit - height);
        limit = label->top;
    }
    return made;
}

void MeanStepBar::draw(QPainter& painter, const QSize& size) const
{
    const Palette& p = colours();
    painter.fillRect(QRect({0, 0}, size), p.surface);
    const double all = whole();
    if (all <= 0)
        return;
    const QRectF bar = barOf(size);
    double at = bar.top();
    for (const Part& part : parts_) {
        const double length = bar.height() * part.time / all;
        fillPart(painter, QRectF(bar.left(), at, bar.width(), std::max(length - (length > 3 ? 1 : 0), 0.5)),
                 part.hue);
        at += length;
    }
    const QFont small = Theme::instance().small();
    QFont strong = small;
    strong.setWeight(QFont::DemiBold);
    const QFontMetrics metrics(small);
    const double lead = sizes().of(kLead);
    const double left = bar.right() + lead;
    const int room = size.width() - int(left) - sizes().of(6);
    double largest = 0;
    for (const Part& part : parts_)
        largest = std::max(largest, part.isIdle ? part.time : 0);
    painter.setRenderHint(QPainter::Antialiasing);
    for (const Label& label : labels(bar)) {
        const Part& part = parts_[label.part];
        painter.setPen(p.strongLine);
        painter.drawLine(QPointF(bar.right() + 1, label.middle),
                         QPointF(left - 4, label.top + metrics.height() / 2.0 + 1));
        const bool isStrong = !part.isIdle || part.time == largest;
        painter.setFont(isStrong ? strong : small);
        painter.setPen(p.text);
        painter.drawText(QPointF(left, label.top + metrics.ascent()),
                         elidedText(part.title, QFontMetrics(painter.font()), Qt::ElideRight, room));
        painter.setFont(small);
        painter.setPen(p.dimText);
        painter.drawText(QPointF(left, label.top + metrics.height() + metrics.ascent()),
                         elidedText(figures(part, all), metrics, Qt::ElideRight, room));
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setFont(small);
    painter.setPen(p.dimText);
    painter.drawText(QPointF(bar.left(), bar.bottom() + sizes().of(2) + metrics.ascent()), text_);
}

void MeanStepBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    draw(painter, size());
}

bool MeanStepBar::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    auto& help = static_cast<QHelpEvent&>(*event);
    const QRectF bar = barOf(size());
    const double all = whole();
    QString tip;
    if (all > 0 && bar.contains(help.pos())) {
        double at = bar.top();
        for (const Part& part : parts_) {
            at += bar.height() * part.time / all;
            if (help.pos().y() < at) {
                tip = part.title + QStringLiteral(": ") + figures(part, all);
                break;
            }
        }
    }
    QToolTip::showText(help.globalPos(), tip, this);
    return true;
}

TableData MeanStepBar::table() const
{
    TableData table;
    using Kind = TableColumn::Kind;
    table.columns = {makeColumn(tr("Part of the step"), Kind::Text, 0),
                     makeColumn(tr("Time, ns"), Kind::Number, 120)};
    for (const Part& part : parts_) {
        TableRow& row = table.rows.emplace_back();
        row.id = std::int64_t(table.rows.size()) - 1;
        row.swatch = Swatch::of(part.hue);
        row.cells = {makeWords(part.title), makeNumber(part.time, Unit{})};
    }
    return table;
}

} // namespace tilescope::ui
