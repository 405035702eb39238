#include "ui/experiment/switch_field.h"

#include "ui/kit/layouts.h"
#include "ui/theme/theme.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QPushButton>

namespace tilescope::ui {

namespace {

const QString kTrue = QStringLiteral("true");
const QString kFalse = QStringLiteral("false");

} // namespace

SwitchField::SwitchField(const config::KeyInfo& key, QWidget* parent)
    : QWidget(parent), default_(key.defaultText == "true"), box_(new QCheckBox),
      both_(new QPushButton(tr("both")))
{
    const QString label = QString::fromUtf8(key.label);
    box_->setAccessibleName(label);
    box_->setMinimumHeight(sizes().field);
    both_->setProperty("kind", "more");
    both_->setCheckable(true);
    both_->setAccessibleName(tr("Sweep %1 over true and false").arg(QString::fromUtf8(key.name)));
    both_->setToolTip(tr("Sweep over true and false"));
    auto* row = newLayout<QHBoxLayout>(this, 0, sizes().of(6));
    row->addWidget(box_);
    row->addWidget(both_);
    row->addStretch(1);
    both_->setVisible(key.sweepable); // not before it has a parent
    // The default needs no line in the spec.
    connect(box_, &QCheckBox::clicked, this,
            [this](bool on) { change(on == default_ ? QStringList() : QStringList(on ? kTrue : kFalse)); });
    connect(both_, &QPushButton::clicked, this, [this](bool on) {
        change(on ? QStringList{kTrue, kFalse} : QStringList());
    });
}

void SwitchField::change(const QStringList& values)
{
    setValues(values);
    emit edited(values);
}

void SwitchField::setValues(const QStringList& values)
{
    values_ = values;
    const bool isBoth = values.contains(kTrue) && values.contains(kFalse);
    const bool isOn = values.isEmpty() ? default_ : values.contains(kTrue);
    box_->setTristate(isBoth);
    box_->setCheckState(isBoth ? Qt::PartiallyChecked : isOn ? Qt::Checked : Qt::Unchecked);
    both_->setChecked(isBoth);
}

void SwitchField::setReadOnly(bool readOnly)
{
    box_->setEnabled(!readOnly);
    both_->setEnabled(!readOnly);
}

} // namespace tilescope::ui
