#include "ui/theme/style.h"

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QFileDialog>
#include <QHeaderView>
#include <QPainter>
#include <QStyleFactory>
#include <QStyleOption>
#include <QTimer>
#include <QTreeView>

#include <algorithm>

namespace tilescope::ui {

Style::Style() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion")))
{
    setObjectName(QStringLiteral("tilescope"));
}

void Style::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                          const QWidget* widget) const
{
    const bool isBox = element == PE_IndicatorCheckBox;
    if (!isBox && element != PE_IndicatorRadioButton)
        return QProxyStyle::drawPrimitive(element, option, painter, widget);
    const Palette& p = colours();
    const bool enabled = (option->state & State_Enabled) != 0;
    const bool on = (option->state & State_On) != 0;
    const bool partly = (option->state & State_NoChange) != 0;
    const bool focused = (option->state & State_HasFocus) != 0;
    const QColor ink = enabled ? p.text : p.strongLine;
    const double side =
        std::min({double(option->rect.width()), double(option->rect.height()), double(sizes().of(13))});
    QRectF box(0, 0, side - 1, side - 1);
    box.moveCenter(QRectF(option->rect).center());
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(focused ? p.accent : on ? ink : p.strongLine, focused ? 1.6 : 1));
    painter->setBrush(on && isBox ? ink : p.surface);
    if (isBox)
        painter->drawRoundedRect(box, 2.5, 2.5);
    else
        painter->drawEllipse(box);
    painter->setPen(Qt::NoPen);
    const double inset = 0.28 * side;
    if (on && isBox)
        paintIcon(*painter, Icon::Check, box.adjusted(1, 1, -1, -1), p.surface);
    else if (on || (partly && !isBox)) {
        painter->setBrush(on ? ink : p.strongLine);
        painter->drawEllipse(box.adjusted(inset, inset, -inset, -inset));
    } else if (partly) {
        painter->setBrush(p.strongLine);
        painter->drawRoundedRect(box.adjusted(inset, inset, -inset, -inset), 1, 1);
    }
    painter->restore();
}

int Style::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                     QStyleHintReturn* value) const
{
    return hint == SH_DialogButtonBox_ButtonsHaveIcons ? 0
                                                       : QProxyStyle::styleHint(hint, option, widget, value);
}

void Style::polish(QWidget* widget)
{
    QProxyStyle::polish(widget);
    const auto* files = qobject_cast<QTreeView*>(widget);
    if (files == nullptr || qobject_cast<QFileDialog*>(files->window()) == nullptr)
        return;
    // The name takes what size, type and date leave. The dialog restores their widths when it is shown.
    QTimer::singleShot(0, files, [header = files->header()] {
        header->setSectionResizeMode(0, QHeaderView::Stretch);
        for (int column = 1; column < header->count(); ++column)
            header->setSectionResizeMode(column, QHeaderView::ResizeToContents);
    });
}

// Qt loads its own icon from several image files, which slows the start.
QIcon Style::standardIcon(StandardPixmap pixmap, const QStyleOption* option, const QWidget* widget) const
{
    return pixmap == SP_LineEditClearButton ? makeIcon(Icon::Close, colours().dimText, sizes().of(14))
                                            : QProxyStyle::standardIcon(pixmap, option, widget);
}

} // namespace tilescope::ui
