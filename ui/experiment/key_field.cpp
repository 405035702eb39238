#include "ui/experiment/key_field.h"

#include "ui/experiment/choice_field.h"
#include "ui/experiment/switch_field.h"
#include "ui/experiment/values_field.h"
#include "ui/kit/layouts.h"
#include "ui/theme/theme.h"

#include <QAbstractButton>
#include <QCheckBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kNameWidth = 112;
constexpr int kFieldWidth = 108;

// The words for a key and, below them, its name in the spec if it differs.
QWidget* heading(const config::KeyInfo& key, QLabel* label)
{
    auto* box = new QWidget;
    auto* column = newLayout<QVBoxLayout>(box, 0, 0);
    box->setFixedWidth(sizes().of(kNameWidth));
    label->setText(QString::fromUtf8(key.label));
    label->setMinimumHeight(sizes().field);
    column->addWidget(label);
    const QString name = QString::fromUtf8(key.name);
    if (label->text().compare(name, Qt::CaseInsensitive) != 0) {
        label->setMinimumHeight(0);
        label->setContentsMargins(0, sizes().of(2), 0, 0);
        auto* below = new QLabel(name);
        below->setProperty("kind", "dim");
        below->setFont(Theme::instance().small());
        column->addWidget(below);
    }
    column->addStretch(1);
    return box;
}

} // namespace

KeyField::KeyField(const config::KeyInfo& key, QWidget* parent)
    : QWidget(parent), key_(key), label_(new QLabel), times_(new QLabel), problem_(new QLabel)
{
    const QString help = QStringLiteral("<p><b>%1</b>: %2.</p><p>%3</p>")
                             .arg(QString::fromUtf8(key.name), QString::fromUtf8(key.help).toHtmlEscaped(),
                                  rangeText(key).toHtmlEscaped());
    times_->setProperty("kind", "dim");
    times_->setFixedHeight(sizes().field);
    problem_->setProperty("kind", "error");
    problem_->setWordWrap(true);
    problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    problem_->hide();
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, sizes().of(2), 0, sizes().of(2));
    grid->setHorizontalSpacing(sizes().of(8));
    grid->setVerticalSpacing(sizes().of(2));
    grid->addWidget(heading(key, label_), 0, 0, Qt::AlignTop);
    if (key.type == config::ValueType::Boolean) {
        switch_ = new SwitchField(key);
        grid->addWidget(switch_, 0, 1, Qt::AlignTop);
        connect(switch_, &SwitchField::edited, this, [this](const QStringList& v) { emit edited(key_, v); });
    } else if (key.type == config::ValueType::Choice) {
        choices_ = new ChoiceField(key);
        grid->addWidget(choices_, 0, 1);
        connect(choices_, &ChoiceField::edited, this, [this](const QStringList& v) { emit edited(key_, v); });
    } else {
        values_ = new ValuesField(key);
        grid->addWidget(values_, 0, 1, Qt::AlignTop);
        connect(values_, &ValuesField::edited, this, [this](const QStringList& v) { emit edited(key_, v); });
    }
    grid->addWidget(times_, 0, 2, Qt::AlignTop | Qt::AlignRight);
    grid->addWidget(problem_, 1, 1, 1, 2);
    grid->setColumnStretch(1, 1);
    setToolTip(help);
    field()->setAccessibleDescription(QString::fromUtf8(key.help) + QStringLiteral("; ") + rangeText(key));
}

QWidget* KeyField::field() const
{
    if (switch_ != nullptr)
        return switch_->box();
    if (choices_ != nullptr)
        return choices_->boxes().front();
    return values_->edit();
}

QStringList KeyField::values() const
{
    if (switch_ != nullptr)
        return switch_->values();
    return choices_ != nullptr ? choices_->values() : values_->values();
}

void KeyField::show(const SpecForm& form, const QString& problem)
{
    const SpecForm::Given given = form.given(key_);
    const QStringList values = form.values(key_);
    const bool swept = given == SpecForm::Given::Swept || given == SpecForm::Given::InPoints;
    const bool readOnly = given == SpecForm::Given::InPoints;
    if (switch_ != nullptr) {
        switch_->setValues(values);
        switch_->setReadOnly(readOnly);
    } else if (choices_ != nullptr) {
        choices_->setValues(values);
        choices_->setReadOnly(readOnly);
    } else {
        values_->setDefault(defaultText(key_, form.workload()));
        values_->setValues(values, swept);
        values_->setReadOnly(readOnly);
        values_->setInvalid(!problem.isEmpty());
        // A single value has the width of a number; several take the available width.
        const bool narrow = !values_->isList() && key_.type == config::ValueType::Integer;
        const int words =
            values_->edit()->fontMetrics().horizontalAdvance(values_->edit()->placeholderText());
        values_->setMaximumWidth(narrow ? std::max(sizes().of(kFieldWidth), words + sizes().of(40))
                                        : QWIDGETSIZE_MAX);
    }
    times_->setText(readOnly                     ? tr("by points")
                    : swept && values.size() > 1 ? tr("× %1").arg(values.size())
                                                 : QString());
    problem_->setText(problem);
    problem_->setVisible(!problem.isEmpty());
}

QString KeyField::problem() const
{
    return problem_->isHidden() ? QString() : problem_->text();
}

bool KeyField::isWide() const
{
    return isWideByNature() || (values_ != nullptr && values_->isList());
}

bool KeyField::isWideByNature() const
{
    constexpr std::size_t kFewWords = 2;
    if (choices_ != nullptr)
        return choices_->words() > kFewWords;
    return key_.type == config::ValueType::Text || key_.type == config::ValueType::List;
}

void KeyField::setLit(bool lit)
{
    label_->setFont(lit ? Theme::instance().bold() : Theme::instance().body());
}

} // namespace tilescope::ui
