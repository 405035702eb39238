#include "ui/experiment/values_field.h"

#include "ui/experiment/flow_layout.h"
#include "ui/experiment/spec_form.h"
#include "ui/theme/theme.h"

#include <QCompleter>
#include <QEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QStyle>

namespace tilescope::ui {

namespace {

void setFlag(QWidget* widget, const char* name, bool value)
{
    if (widget->property(name).toBool() == value)
        return;
    widget->setProperty(name, value);
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
}

} // namespace

ValuesField::ValuesField(const config::KeyInfo& key, QWidget* parent)
    : QFrame(parent), key_(key), flow_(new FlowLayout(nullptr, sizes().of(4), sizes().of(3))),
      edit_(new QLineEdit), more_(new QPushButton(QStringLiteral("+")))
{
    setProperty("kind", "values");
    flow_->setContentsMargins(sizes().of(3), sizes().of(2), sizes().of(2), sizes().of(2));
    edit_->setProperty("kind", "bare");
    edit_->setAccessibleName(QString::fromUtf8(key.label));
    edit_->setMinimumWidth(sizes().of(48));
    edit_->installEventFilter(this);
    if (!key.choices.empty()) {
        QStringList words;
        for (const std::string& word : key.choices)
            words << QString::fromStdString(word);
        edit_->setCompleter(new QCompleter(words, edit_));
    }
    connect(edit_, &QLineEdit::textEdited, this, &ValuesField::typed);
    more_->setProperty("kind", "more");
    more_->setFocusPolicy(Qt::NoFocus);
    more_->setAccessibleName(tr("Sweep %1").arg(QString::fromUtf8(key.name)));
    more_->setToolTip(tr("Sweep over several values; typing a comma does the same"));
    connect(more_, &QPushButton::clicked, this, [this] {
        toList();
        edit_->setFocus();
    });
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, sizes().of(2), 0);
    row->setSpacing(0);
    row->addLayout(flow_, 1);
    flow_->addWidget(edit_);
    row->addWidget(more_);
    more_->setVisible(key.sweepable); // not before it has a parent
}

void ValuesField::setValues(const QStringList& values, bool swept)
{
    const bool list = swept || (list_ && edit_->hasFocus() && values == values_);
    if (values == values_ && list == list_)
        return;
    values_ = values;
    list_ = list;
    rebuild();
}

void ValuesField::setDefault(const QString& text)
{
    edit_->setPlaceholderText(text);
}

void ValuesField::setReadOnly(bool readOnly)
{
    edit_->setReadOnly(readOnly);
    for (QPushButton* chip : chips_)
        chip->setEnabled(!readOnly);
    more_->setVisible(!readOnly && !list_ && key_.sweepable);
}

void ValuesField::setInvalid(bool invalid)
{
    setFlag(this, "invalid", invalid);
}

bool ValuesField::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::FocusIn)
        setFlag(this, "focused", true);
    if (event->type() == QEvent::FocusOut) {
        setFlag(this, "focused", false);
        commit();
        if (list_ && values_.size() < 2 && !edit_->isReadOnly())
            setValues(values_, false);
    }
    if (event->type() == QEvent::KeyPress && list_ && !edit_->isReadOnly()) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            commit();
            return true;
        }
        if (key->key() == Qt::Key_Backspace && edit_->text().isEmpty()) {
            takeBack();
            return true;
        }
    }
    return QFrame::eventFilter(watched, event);
}

void ValuesField::typed(const QString& text)
{
    const bool ends =
        text.endsWith(QLatin1Char(',')) || text.endsWith(QLatin1Char(';')) || text.endsWith(QLatin1Char(' '));
    QStringList parts = splitValues(key_, text);
    const bool separated =
        parts.size() > 1 || (ends && splitValues(key_, text + QLatin1Char('1')).size() > 1);
    if (key_.sweepable && separated) {
        // All but the text being typed are values.
        const QString rest = ends || parts.isEmpty() ? QString() : parts.takeLast();
        QStringList all = list_ ? values_ : QStringList();
        for (const QString& part : parts)
            if (!all.contains(part))
                all << part;
        list_ = true;
        const bool others = all != values_;
        values_ = all;
        rebuild();
        edit_->setText(rest);
        if (others)
            emit edited(values_);
    } else if (!list_) {
        put(text.trimmed().isEmpty() ? QStringList() : QStringList(text.trimmed()));
    }
}

// Accepts the text typed in list mode as a value.
void ValuesField::commit()
{
    if (!list_)
        return;
    const QStringList parts = splitValues(key_, edit_->text());
    edit_->clear();
    QStringList all = values_;
    for (const QString& part : parts)
        if (!all.contains(part))
            all << part;
    if (all == values_)
        return;
    values_ = all;
    rebuild();
    emit edited(values_);
}

void ValuesField::takeBack()
{
    if (values_.isEmpty())
        return;
    const QString last = values_.takeLast();
    rebuild();
    edit_->setText(last);
    edit_->selectAll();
    emit edited(values_);
}

void ValuesField::toList()
{
    list_ = true;
    rebuild();
}

void ValuesField::put(const QStringList& values)
{
    if (values == values_)
        return;
    values_ = values;
    emit edited(values_);
}

// The chips of the values, or the value as text.
void ValuesField::rebuild()
{
    for (QPushButton* chip : chips_) {
        flow_->removeWidget(chip);
        chip->hide();
        chip->deleteLater();
    }
    chips_.clear();
    more_->setVisible(!list_ && key_.sweepable && !edit_->isReadOnly());
    if (!list_) {
        const QString text = values_.join(QLatin1String(", "));
        if (edit_->text().trimmed() != text)
            edit_->setText(text);
        return;
    }
    edit_->clear();
    for (const QString& value : values_) {
        auto* chip = new QPushButton(value + QStringLiteral("  ×"));
        chip->setProperty("kind", "chip");
        chip->setFocusPolicy(Qt::NoFocus);
        chip->setEnabled(!edit_->isReadOnly());
        chip->setAccessibleName(tr("Remove %1 from %2").arg(value, QString::fromUtf8(key_.name)));
        chip->setToolTip(tr("Remove %1").arg(value));
        connect(chip, &QPushButton::clicked, this, [this, value] {
            values_.removeAll(value);
            rebuild();
            emit edited(values_);
        });
        flow_->insertWidget(int(chips_.size()), chip);
        chip->show();
        chips_ << chip;
    }
    updateGeometry();
}

} // namespace tilescope::ui
