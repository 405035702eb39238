#include "ui/kit/controls.h"

#include "ui/kit/elided_text.h"
#include "ui/kit/layouts.h"
#include "ui/kit/tool_tip.h"
#include "ui/kit/view_history.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/theme/unbroken_text.h"

#include <QCursor>
#include <QHBoxLayout>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPointer>
#include <QStackedWidget>
#include <QStyleOptionButton>
#include <QStylePainter>
#include <QToolButton>
#include <QToolTip>
#include <QVBoxLayout>
#include <QWheelEvent>

#include <algorithm>

namespace tilescope::ui {

namespace {

void paintChevron(QWidget& widget)
{
    QPainter painter(&widget);
    const double side = sizes().of(12);
    const QColor colour = widget.isEnabled() ? colours().dimText : colours().strongLine;
    paintIcon(painter, Icon::ChevronDown,
              QRectF(widget.width() - side - sizes().of(7), (widget.height() - side) / 2.0, side, side),
              colour);
}

} // namespace

ComboBox::ComboBox(const QString& accessibleName, QWidget* parent) : QComboBox(parent)
{
    setAccessibleName(accessibleName);
    // On Linux, the name that screen readers get of a combo box is its value.
    setAccessibleDescription(accessibleName);
    setSizeAdjustPolicy(QComboBox::AdjustToContents);
}

// Like QComboBox, but elides a choice that does not fit.
void ComboBox::paintEvent(QPaintEvent* event)
{
    QStyleOptionComboBox option;
    initStyleOption(&option);
    const int room =
        style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this).width();
    const QString words = elidedText(option.currentText, fontMetrics(), Qt::ElideRight, room);
    if (words == option.currentText) {
        QComboBox::paintEvent(event);
    } else {
        option.currentText = words;
        QStylePainter painter(this);
        painter.drawComplexControl(QStyle::CC_ComboBox, option);
        painter.drawControl(QStyle::CE_ComboBoxLabel, option);
    }
    paintChevron(*this);
}

// Scrolling the page with the wheel must not change a choice under the cursor.
void ComboBox::wheelEvent(QWheelEvent* event)
{
    if (hasFocus())
        QComboBox::wheelEvent(event);
    else
        event->ignore();
}

MenuButton::MenuButton(const QString& text, QWidget* parent) : QPushButton(text, parent)
{
    setMenu(new QMenu(this));
    setFocusPolicy(Qt::TabFocus);
    // A menu closed by Escape consumes the leave event of the button.
    connect(menu(), &QMenu::aboutToHide, this, [this] {
        setAttribute(Qt::WA_UnderMouse, rect().contains(mapFromGlobal(QCursor::pos())));
        update();
    });
}

QSize MenuButton::sizeHint() const
{
    const QSize hint = QPushButton::sizeHint();
    return {fontMetrics().horizontalAdvance(text()) + sizes().of(text().isEmpty() ? 26 : 40), hint.height()};
}

// Left-aligned, away from the chevron.
void MenuButton::paintEvent(QPaintEvent*)
{
    QStylePainter painter(this);
    QStyleOptionButton option;
    initStyleOption(&option);
    option.text.clear();
    painter.drawControl(QStyle::CE_PushButton, option);
    painter.setPen(isEnabled() ? colours().text : colours().strongLine);
    painter.drawText(rect().adjusted(sizes().of(11), 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, text());
    painter.end();
    paintChevron(*this);
}

ElidedLabel::ElidedLabel(QWidget* parent) : QLabel(parent)
{
    setProperty("kind", "dim");
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
}

ElidedLabel::Shown ElidedLabel::shown() const
{
    const QRect inside = contentsRect();
    if (fontMetrics().horizontalAdvance(text()) <= inside.width())
        return {font(), {text()}};
    const QFont small = Theme::instance().small();
    const QFontMetrics metrics(small);
    const int most = std::max(1, inside.height() / metrics.height());
    const double leastShare = most == 1 ? 0.4 : 0.8; // of a text that is worth drawing
    if (inside.width() * most < leastShare * metrics.horizontalAdvance(text()))
        return {small, {}};
    return {small, wrappedText(text(), metrics, inside.width(), most)};
}

bool ElidedLabel::isCut() const
{
    const QStringList lines = shown().lines;
    return !lines.isEmpty() && lines.join(QLatin1Char(' ')) != text();
}

void ElidedLabel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setPen(colours().dimText);
    const Shown what = shown();
    painter.setFont(what.font);
    painter.drawText(contentsRect(), int(alignment()), what.lines.join(QLatin1Char('\n')));
}

bool ElidedLabel::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && (isCut() || shown().lines.isEmpty())) {
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), text(), this);
        return true;
    }
    return QLabel::event(event);
}

SentenceLabel::SentenceLabel(const QString& text, QWidget* parent) : QLabel(parent)
{
    setTextFormat(Qt::PlainText);
    setWordWrap(true);
    setText(text);
}

void SentenceLabel::setText(const QString& text)
{
    QLabel::setText(unbroken(text));
}

TitleLabel::TitleLabel(const QString& text, QWidget* parent) : QLabel(text, parent)
{
    setTextFormat(Qt::PlainText);
}

QString TitleLabel::shown() const
{
    return elidedText(text(), fontMetrics(), Qt::ElideMiddle, contentsRect().width());
}

QSize TitleLabel::minimumSizeHint() const
{
    constexpr int kCharacters = 24; // a shorter one is never elided
    const QSize whole = QLabel::minimumSizeHint();
    return {std::min(whole.width(), fontMetrics().horizontalAdvance(QString(kCharacters, QLatin1Char('n')))),
            whole.height()};
}

void TitleLabel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setPen(colours().text);
    painter.drawText(contentsRect(), int(alignment()), shown());
}

bool TitleLabel::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && toolTip().isEmpty() && shown() != text()) {
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), tipOfLines({text()}), this);
        return true;
    }
    return QLabel::event(event);
}

QLineEdit* makeFindField(const QString& placeholder, const QString& accessibleName)
{
    auto* field = new QLineEdit;
    field->setPlaceholderText(placeholder);
    field->setClearButtonEnabled(true);
    field->setAccessibleName(accessibleName);
    QAction* glass = field->addAction(QIcon(), QLineEdit::LeadingPosition);
    QAction* clear = nullptr;
    for (QToolButton* button : field->findChildren<QToolButton*>()) {
        const bool isGlass = button->defaultAction() == glass;
        button->setAccessibleName(isGlass ? QObject::tr("Search sign") : QObject::tr("Clear the text"));
        if (!isGlass)
            clear = button->defaultAction();
    }
    const auto dress = [glass, clear] {
        glass->setIcon(makeIcon(Icon::Search, colours().dimText, sizes().of(14)));
        if (clear != nullptr)
            clear->setIcon(makeIcon(Icon::Close, colours().dimText, sizes().of(14)));
    };
    dress();
    QObject::connect(&Theme::instance(), &Theme::changed, glass, dress);
    noteFilter(*field);
    return field;
}

namespace {

class LeadsOut : public QObject {
public:
    LeadsOut(QLineEdit& field, QWidget& content) : QObject(&field), content_(&content)
    {
        field.installEventFilter(this);
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() != QEvent::KeyPress || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape ||
            content_ == nullptr)
            return QObject::eventFilter(watched, event);
        content_->setFocus();
        return true;
    }

private:
    QPointer<QWidget> content_;
};

} // namespace

void leadOut(QLineEdit& field, QWidget& content)
{
    new LeadsOut(field, content);
}

SentenceLabel* makeMessage()
{
    auto* message = new SentenceLabel;
    message->setAlignment(Qt::AlignCenter);
    message->setProperty("kind", "dim");
    return message;
}

QVBoxLayout* makePlainColumn(QWidget* parent)
{
    auto* column = newLayout<QVBoxLayout>(parent, 0, 0);
    return column;
}

SegmentedControl::SegmentedControl(const QStringList& words, QWidget* parent)
    : QWidget(parent), list_(new ComboBox(QString()))
{
    auto* layout = newLayout<QHBoxLayout>(this, 0, 0);
    for (int i = 0; i < int(words.size()); ++i) {
        auto* button = new QPushButton(words[i]);
        button->setCheckable(true);
        button->setAutoExclusive(true); // arrow keys move within the row
        button->setAutoDefault(false);  // Enter is for the button of the dialog
        button->setProperty("segment", i == 0 ? "first" : i + 1 == int(words.size()) ? "last" : "middle");
        button->setFocusPolicy(Qt::TabFocus);
        connect(button, &QPushButton::clicked, this, [this, i] { choose(i); });
        layout->addWidget(button);
        buttons_.push_back(button);
        list_->addItem(words[i]);
        setWord(i, words[i]);
    }
    list_->hide();
    layout->addWidget(list_);
    connect(list_, &QComboBox::activated, this, &SegmentedControl::choose);
    setCurrent(0);
}

void SegmentedControl::choose(int index)
{
    const bool other = index != current_;
    setCurrent(index);
    if (other)
        emit changed(index);
}

void SegmentedControl::setCompact(bool compact)
{
    if (compact_ == compact)
        return;
    compact_ = compact;
    QStringList words;
    for (const QPushButton* button : buttons_)
        words << button->text();
    list_->setAccessibleName(accessibleName().isEmpty() ? words.join(QStringLiteral(", "))
                                                        : accessibleName());
    list_->setAccessibleDescription(list_->accessibleName());
    for (QPushButton* button : buttons_)
        button->setVisible(!compact);
    list_->setVisible(compact);
}

int SegmentedControl::savedByCompact() const
{
    int full = 0;
    for (const QPushButton* button : buttons_)
        full += std::max(button->minimumWidth(), button->minimumSizeHint().width());
    return std::max(0, full - list_->minimumSizeHint().width());
}

void SegmentedControl::setCurrent(int index)
{
    current_ = index;
    for (int i = 0; i < int(buttons_.size()); ++i)
        buttons_[std::size_t(i)]->setChecked(i == index);
    list_->setCurrentIndex(index);
}

void SegmentedControl::setWord(int index, const QString& word)
{
    QPushButton& button = *buttons_[std::size_t(index)];
    button.setText(word);
    list_->setItemText(index, word);
    // The checked button is bold: each has the width of bold text.
    button.setMinimumWidth(QFontMetrics(Theme::instance().bold()).horizontalAdvance(word) + sizes().of(24));
}

ToolBar::ToolBar(QWidget* parent) : QFrame(parent), layout_(new QHBoxLayout(this))
{
    setProperty("kind", "bar");
    setFixedHeight(sizes().tools);
    layout_->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    layout_->setSpacing(sizes().of(8));
}

void ToolBar::add(QWidget* widget)
{
    layout_->addWidget(widget);
    if (auto* segmented = qobject_cast<SegmentedControl*>(widget))
        segmented_.push_back(segmented);
}

void ToolBar::addWide(QWidget* widget)
{
    layout_->addWidget(widget, 1);
}

void ToolBar::addWord(const QString& text)
{
    auto* label = new QLabel(text);
    label->setProperty("kind", "dim");
    layout_->addWidget(label);
    words_.push_back(label);
}

void ToolBar::mayGo(QWidget* widget)
{
    mayGo_.push_back(widget);
}

void ToolBar::actOn(const QStackedWidget& content)
{
    const auto follow = [this, &content] { setEnabled(content.currentIndex() > 0); };
    connect(&content, &QStackedWidget::currentChanged, this, follow);
    follow();
}

// A tool bar never sets the minimum width of its page.
QSize ToolBar::minimumSizeHint() const
{
    return {0, sizes().tools};
}

void ToolBar::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    fit();
}

// The size of a tool has changed.
bool ToolBar::event(QEvent* event)
{
    const bool done = QFrame::event(event);
    if (event->type() == QEvent::LayoutRequest)
        fit();
    return done;
}

void ToolBar::fit()
{
    std::vector<QWidget*> order = words_;
    order.insert(order.end(), mayGo_.begin(), mayGo_.end());
    const auto widthOf = [this](const QWidget& widget) {
        return std::max(widget.minimumSizeHint().width(), widget.minimumWidth()) + layout_->spacing();
    };
    int needed = layout_->totalMinimumSize().width();
    for (const QWidget* widget : order)
        needed += widget->isHidden() ? widthOf(*widget) : 0;
    for (const SegmentedControl* control : segmented_)
        needed += control->isCompact() && !control->isHidden() ? control->savedByCompact() : 0;
    for (QWidget* widget : order) {
        const bool goes = needed > width();
        if (goes)
            needed -= widthOf(*widget);
        if (widget->isHidden() != goes)
            widget->setVisible(!goes);
    }
    for (SegmentedControl* control : segmented_) {
        if (control->isHidden())
            continue;
        const bool isTooWide = needed > width();
        if (isTooWide)
            needed -= control->savedByCompact();
        control->setCompact(isTooWide);
    }
}

void ToolBar::addStretch()
{
    layout_->addStretch(1);
}

void ToolBar::addGap()
{
    layout_->addSpacing(sizes().of(8));
}

QPushButton* ToolBar::addButton(const QString& text, const QString& tip)
{
    auto* button = new QPushButton(text);
    button->setToolTip(tip);
    button->setFocusPolicy(Qt::TabFocus);
    layout_->addWidget(button);
    return button;
}

} // namespace tilescope::ui
