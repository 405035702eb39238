#include "ui/kit/panel.h"

#include "ui/kit/controls.h"
#include "ui/theme/theme.h"

#include <QFontMetrics>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace tilescope::ui {

Panel::Panel(const QString& title, QWidget* parent)
    : QFrame(parent), title_(new TitleLabel(title)), subtitle_(new ElidedLabel), header_(new QHBoxLayout),
      layout_(new QVBoxLayout(this))
{
    setProperty("kind", "panel");
    layout_->setContentsMargins(1, 1, 1, 1);
    layout_->setSpacing(0);
    auto* bar = new QFrame;
    bar->setProperty("kind", "panelHeader");
    bar->setFixedHeight(sizes().panelHeader);
    layout_->addWidget(bar);
    bar->setLayout(header_);
    header_->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    header_->setSpacing(sizes().of(8));
    title_->setProperty("kind", "title");
    header_->addWidget(title_);
    header_->addWidget(subtitle_, 1);
}

void Panel::setTitle(const QString& title)
{
    title_->setText(title);
}

void Panel::setSubtitle(const QString& subtitle)
{
    // Few words stay on one line, and a long title gives way; not beside the page's widgets, which must not move.
    constexpr qsizetype kFew = 14;
    const bool isAlone = header_->count() == 2; // title and subtitle
    const bool staysWhole = isAlone && subtitle.size() <= kFew;
    subtitle_->setMinimumWidth(
        staysWhole ? QFontMetrics(Theme::instance().small()).horizontalAdvance(subtitle) : 0);
    subtitle_->setText(subtitle);
}

void Panel::addToHeader(QWidget* widget)
{
    header_->addWidget(widget);
}

QPushButton* Panel::addLink(const QString& text)
{
    auto* link = new QPushButton(text);
    link->setProperty("kind", "link");
    link->setCursor(Qt::PointingHandCursor);
    header_->addWidget(link);
    return link;
}

void Panel::setContent(QWidget* content)
{
    layout_->addWidget(content, 1);
}

void Panel::setContent(QLayout* content)
{
    layout_->addLayout(content, 1);
}

} // namespace tilescope::ui
