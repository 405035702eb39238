#include "ui/experiment/key_field.h"

#include "ui/experiment/choice_field.h"
#include "ui/experiment/values_field.h"
#include "ui/theme/theme.h"

#include <QAbstractButton>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kNameWidth = 112;
constexpr int kFieldWidth = 108;

bool isOfChoices(const config::KeyInfo& key)
{
    return key.type == config::ValueType::Choice || key.type == config::ValueType::Boolean;
}

} // namespace

KeyField::KeyField(const config::KeyInfo& key, QWidget* parent)
    : QWidget(parent), key_(key), name_(new QLabel(QString::fromUtf8(key.name))), times_(new QLabel),
      problem_(new QLabel)
{
    const QString help = QStringLiteral("<p><b>%1</b>: %2.</p><p>%3</p>")
                             .arg(QString::fromUtf8(key.name), QString::fromUtf8(key.help).toHtmlEscaped(),
                                  rangeText(key).toHtmlEscaped());
    name_->setMinimumWidth(sizes().of(kNameWidth));
    name_->setMaximumWidth(sizes().of(kNameWidth));
    name_->setFixedHeight(sizes().field);
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
    grid->addWidget(name_, 0, 0, Qt::AlignTop);
    if (isOfChoices(key)) {
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
    if (choices_ != nullptr)
        return choices_->boxes().front();
    return values_->edit();
}

void KeyField::show(const SpecForm& form, const QString& problem)
{
    const SpecForm::Given given = form.given(key_);
    const QStringList values = form.values(key_);
    const bool swept = given == SpecForm::Given::Swept || given == SpecForm::Given::InPoints;
    const bool readOnly = given == SpecForm::Given::InPoints;
    if (choices_ != nullptr) {
        choices_->setValues(values);
        choices_->setReadOnly(readOnly);
    } else {
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
    constexpr std::size_t kLongDefault = 20; // letters
    return key_.type == config::ValueType::Text || key_.type == config::ValueType::List ||
           key_.defaultText.size() > kLongDefault;
}

void KeyField::setLit(bool lit)
{
    name_->setFont(lit ? Theme::instance().bold() : Theme::instance().body());
}

} // namespace tilescope::ui
