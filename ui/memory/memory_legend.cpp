#include "ui/memory/memory_legend.h"

#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QPainter>

#include <algorithm>

namespace tilescope::ui {

MemoryLegend::MemoryLegend(QWidget* parent) : QWidget(parent)
{
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setAccessibleName(tr("Legend of the memory plot"));
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void MemoryLegend::show(std::vector<Entry> entries)
{
    const bool same = entries.size() == entries_.size() &&
                      std::equal(entries.begin(), entries.end(), entries_.begin(),
                                 [](const Entry& a, const Entry& b) { return a.name == b.name; });
    entries_ = std::move(entries);
    QStringList words;
    for (const Entry& entry : entries_)
        words << entry.name + QLatin1Char(' ') + entry.value;
    setAccessibleDescription(words.join(QStringLiteral(", ")));
    if (!same)
        updateGeometry();
    update();
}

int MemoryLegend::rowHeight() const
{
    return QFontMetrics(Theme::instance().small()).height() + sizes().of(5);
}

int MemoryLegend::cellWidth(const Entry& entry) const
{
    const QFontMetrics metrics(Theme::instance().small());
    return sizes().of(15) + metrics.horizontalAdvance(entry.name) + sizes().of(6) +
           metrics.horizontalAdvance(QStringLiteral("1 000 MiB")) + sizes().of(10);
}

std::vector<QRect> MemoryLegend::cells(int width) const
{
    std::vector<QRect> cells;
    int x = 0;
    int y = 0;
    for (const Entry& entry : entries_) {
        const int needed = cellWidth(entry);
        if (x > 0 && x + needed > width) {
            x = 0;
            y += rowHeight();
        }
        cells.emplace_back(x, y, needed, rowHeight());
        x += needed;
    }
    return cells;
}

int MemoryLegend::heightForWidth(int width) const
{
    const std::vector<QRect> laid = cells(width);
    return laid.empty() ? rowHeight() : laid.back().bottom() + 1;
}

QSize MemoryLegend::sizeHint() const
{
    return {sizes().of(400), heightForWidth(std::max(width(), sizes().of(400)))};
}

void MemoryLegend::paintEvent(QPaintEvent*)
{
    const Palette& p = colours();
    QPainter painter(this);
    painter.setFont(Theme::instance().small());
    const QFontMetrics metrics = painter.fontMetrics();
    const std::vector<QRect> laid = cells(width());
    const int side = sizes().of(9);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const Entry& entry = entries_[i];
        const QRect box(laid[i].left(), laid[i].top() + (laid[i].height() - side) / 2, side, side);
        const QColor colour = colourOf(entry.swatch, p);
        if (entry.outline) {
            painter.setPen(QPen(colour, 2));
            painter.drawLine(box.left(), box.center().y(), box.right(), box.center().y());
        } else if (entry.hatched) {
            painter.fillRect(box, QBrush(colour, Qt::BDiagPattern));
            painter.setPen(p.strongLine);
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(box.adjusted(0, 0, -1, -1));
        } else {
            painter.fillRect(box, colour);
        }
        const int y = laid[i].top() + (laid[i].height() - metrics.height()) / 2 + metrics.ascent();
        const int x = box.right() + sizes().of(6);
        painter.setPen(p.dimText);
        painter.drawText(x, y, entry.name);
        painter.setPen(p.text);
        painter.drawText(x + metrics.horizontalAdvance(entry.name) + sizes().of(6), y, entry.value);
    }
}

} // namespace tilescope::ui
