#include "ui/experiment/choice_field.h"

#include "ui/experiment/flow_layout.h"
#include "ui/theme/theme.h"

#include <QCheckBox>
#include <QRadioButton>

#include <algorithm>

namespace tilescope::ui {

ChoiceField::ChoiceField(const config::KeyInfo& key, QWidget* parent)
    : QWidget(parent), exclusive_(!key.sweepable), default_(QString::fromUtf8(key.defaultText))
{
    auto* flow = new FlowLayout(this, sizes().of(10), sizes().of(3));
    for (const std::string& word : key.choices)
        words_ << QString::fromStdString(word);
    for (std::size_t i = 0; i < std::size_t(words_.size()); ++i) {
        const QString& word = words_[int(i)];
        auto* box = exclusive_ ? static_cast<QAbstractButton*>(new QRadioButton(word)) : new QCheckBox(word);
        box->setAccessibleName(QStringLiteral("%1 %2").arg(QString::fromUtf8(key.label), word));
        box->setMinimumHeight(sizes().field);
        connect(box, &QAbstractButton::clicked, this, [this, i](bool on) { clicked(i, on); });
        flow->addWidget(box);
        boxes_.push_back(box);
    }
}

void ChoiceField::setValues(const QStringList& values)
{
    values_ = values;
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
        const QString& word = words_[int(i)];
        if (auto* box = qobject_cast<QCheckBox*>(boxes_[i])) {
            // The default is half set while nothing is written.
            const bool holds = values.isEmpty() && word == default_;
            box->setTristate(holds);
            box->setCheckState(values.contains(word) ? Qt::Checked
                               : holds               ? Qt::PartiallyChecked
                                                     : Qt::Unchecked);
            continue;
        }
        // A radio button of a group cannot be cleared while the group is exclusive.
        boxes_[i]->setAutoExclusive(false);
        boxes_[i]->setChecked(values.isEmpty() ? word == default_ : values.contains(word));
        boxes_[i]->setAutoExclusive(true);
    }
}

void ChoiceField::setReadOnly(bool readOnly)
{
    for (QAbstractButton* box : boxes_)
        box->setEnabled(!readOnly);
}

// Values keep their order; a new one goes before the first that the schema names after it.
void ChoiceField::clicked(std::size_t index, bool on)
{
    const QString& word = words_[int(index)];
    QStringList values;
    for (const QString& value : values_)
        if (words_.contains(value) && value != word && !exclusive_)
            values << value;
    if (on) {
        const auto before = std::ranges::find_if(
            values, [&](const QString& value) { return words_.indexOf(value) > qsizetype(index); });
        values.insert(before - values.begin(), word);
    }
    setValues(values);
    emit edited(values);
}

} // namespace tilescope::ui
