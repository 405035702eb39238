#include "ui/pages/panel.h"

#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QLabel>
#include <QPainter>
#include <QToolTip>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

/// Dim words of one line that end in an ellipsis where there is no room for all of them; a hover then has
/// them whole.
class Subtitle : public QLabel {
protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        painter.setPen(colours().dimText);
        painter.drawText(rect(), Qt::AlignVCenter | Qt::AlignLeft,
                         fontMetrics().elidedText(text(), Qt::ElideRight, width()));
    }
    bool event(QEvent* event) override
    {
        if (event->type() == QEvent::ToolTip && toolTip().isEmpty() &&
            fontMetrics().horizontalAdvance(text()) > width()) {
            QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), text(), this);
            return true;
        }
        return QLabel::event(event);
    }
};

} // namespace

Panel::Panel(const QString& title, QWidget* parent)
    : QFrame(parent), title_(new QLabel(title)), subtitle_(new Subtitle), header_(new QHBoxLayout),
      layout_(new QVBoxLayout(this))
{
    setProperty("kind", "panel");
    layout_->setContentsMargins(1, 1, 1, 1);
    layout_->setSpacing(0);
    auto* bar = new QFrame;
    bar->setProperty("kind", "panelHeader");
    bar->setFixedHeight(sizes().panelHeader);
    bar->setLayout(header_);
    header_->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    header_->setSpacing(sizes().of(8));
    title_->setProperty("kind", "title");
    subtitle_->setProperty("kind", "dim");
    subtitle_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    header_->addWidget(title_);
    header_->addWidget(subtitle_, 1);
    layout_->addWidget(bar);
}

void Panel::setTitle(const QString& title)
{
    title_->setText(title);
}

void Panel::setSubtitle(const QString& subtitle)
{
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
