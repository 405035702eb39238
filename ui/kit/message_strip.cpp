#include "ui/kit/message_strip.h"

#include "ui/kit/controls.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QStyle>

#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kBarSteps = 1000;

} // namespace

MessageStrip::MessageStrip(QWidget* parent)
    : QFrame(parent), sign_(new QLabel), words_(new SentenceLabel), bar_(new QProgressBar),
      buttons_(new QHBoxLayout)
{
    setAccessibleName(tr("Message"));
    words_->setObjectName(QStringLiteral("message"));
    words_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    bar_->setRange(0, kBarSteps);
    bar_->setTextVisible(false);
    bar_->setFixedWidth(sizes().of(200));
    bar_->setAccessibleName(tr("Progress of the import"));
    buttons_->setSpacing(sizes().of(12));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(sizes().margin, sizes().of(6), sizes().margin, sizes().of(6));
    layout->setSpacing(sizes().of(12));
    layout->addWidget(sign_);
    layout->addWidget(words_, 1);
    layout->addWidget(bar_);
    layout->addLayout(buttons_);
    connect(&Theme::instance(), &Theme::changed, this, &MessageStrip::dress);
    tell(Kind::Information, {});
    hide();
}

void MessageStrip::dress()
{
    const int side = sizes().of(14);
    const Palette& p = colours();
    const auto [icon, colour] = kind_ == Kind::Error     ? std::pair(Icon::Error, p.error)
                                : kind_ == Kind::Warning ? std::pair(Icon::Warning, p.warning)
                                                         : std::pair(Icon::Info, p.accent);
    sign_->setPixmap(makeIcon(icon, colour, side).pixmap(side, side));
    setProperty("kind", kind_ == Kind::Error ? "notice" : "information");
    style()->unpolish(this);
    style()->polish(this);
}

void MessageStrip::tell(Kind kind, const QString& sentence)
{
    kind_ = kind;
    words_->setText(sentence);
    bar_->hide();
    while (QLayoutItem* item = buttons_->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater(); // later, because its click may be in progress
        delete item;
    }
    dress();
    show();
}

void MessageStrip::conclude(Kind kind, const QString& sentence)
{
    tell(kind, sentence);
    addDismiss();
    isConcluded_ = true;
    if (parentWidget() == nullptr)
        return;
    for (auto* other : parentWidget()->findChildren<MessageStrip*>(QString(), Qt::FindDirectChildrenOnly))
        if (other != this && other->isConcluded_ && other->words_->text() == words_->text()) {
            other->hide();
            other->deleteLater();
        }
}

void MessageStrip::setProgress(const QString& sentence, double done)
{
    words_->setText(sentence);
    bar_->setValue(int(done * kBarSteps));
    bar_->show();
    show();
}

QPushButton* MessageStrip::addButton(const QString& text, const std::function<void()>& does)
{
    auto* button = new QPushButton(text);
    button->setProperty("kind", "link");
    button->setCursor(Qt::PointingHandCursor);
    button->setFocusPolicy(Qt::TabFocus); // a click that hides the strip does not move the focus elsewhere
    buttons_->addWidget(button);
    connect(button, &QPushButton::clicked, this, does);
    return button;
}

void MessageStrip::addDismiss()
{
    addButton(tr("Dismiss"), [this] {
        hide();
        deleteLater();
    });
}

} // namespace tilescope::ui
