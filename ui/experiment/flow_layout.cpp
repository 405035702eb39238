#include "ui/experiment/flow_layout.h"

#include <QWidget>

#include <algorithm>

namespace tilescope::ui {

FlowLayout::FlowLayout(QWidget* parent, int horizontalGap, int verticalGap)
    : QLayout(parent), horizontalGap_(horizontalGap), verticalGap_(verticalGap)
{
    setContentsMargins(0, 0, 0, 0);
}

FlowLayout::~FlowLayout()
{
    qDeleteAll(items_);
}

void FlowLayout::insertWidget(int index, QWidget* widget)
{
    addWidget(widget); // which makes it a child and appends its item
    items_.move(items_.size() - 1, std::clamp(qsizetype(index), qsizetype(0), items_.size() - 1));
    invalidate();
}

QLayoutItem* FlowLayout::takeAt(int index)
{
    return index >= 0 && index < items_.size() ? items_.takeAt(index) : nullptr;
}

void FlowLayout::setGeometry(const QRect& rect)
{
    QLayout::setGeometry(rect);
    lay(rect, true);
}

// The width of all items on one line.
QSize FlowLayout::sizeHint() const
{
    QSize size;
    for (const QLayoutItem* item : items_)
        if (!item->isEmpty())
            size = {size.width() + (size.width() > 0 ? horizontalGap_ : 0) + item->sizeHint().width(),
                    std::max(size.height(), item->sizeHint().height())};
    const QMargins margins = contentsMargins();
    return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom());
}

QSize FlowLayout::minimumSize() const
{
    QSize size;
    for (const QLayoutItem* item : items_)
        if (!item->isEmpty())
            size = size.expandedTo(item->minimumSize());
    const QMargins margins = contentsMargins();
    return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom());
}

int FlowLayout::lay(const QRect& rect, bool apply) const
{
    const QRect inside = rect.marginsRemoved(contentsMargins());
    int x = inside.x();
    int y = inside.y();
    int line = 0;
    for (QLayoutItem* item : items_) {
        if (item->isEmpty())
            continue;
        QSize size = item->sizeHint();
        if (x > inside.x() && x + size.width() > inside.right() + 1) {
            x = inside.x();
            y += line + verticalGap_;
            line = 0;
        }
        const int left = inside.right() + 1 - x;
        const bool stretches = (item->expandingDirections() & Qt::Horizontal) != 0;
        size.setWidth(stretches ? std::max(left, item->minimumSize().width()) : std::min(size.width(), left));
        if (apply)
            item->setGeometry({QPoint(x, y), size});
        x += size.width() + horizontalGap_;
        line = std::max(line, size.height());
    }
    const QMargins margins = contentsMargins();
    return y + line - rect.y() + margins.bottom();
}

} // namespace tilescope::ui
