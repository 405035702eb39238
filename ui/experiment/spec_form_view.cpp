#include "ui/experiment/spec_form_view.h"

#include "ui/experiment/choice_field.h"
#include "ui/experiment/key_field.h"
#include "ui/kit/controls.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QAbstractButton>
#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

SpecFormView::SpecFormView(QWidget* parent) : QScrollArea(parent)
{
    setAccessibleName(tr("Form of the spec"));
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* content = new QWidget;
    content->setProperty("kind", "form");
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(sizes().padding, sizes().of(6), sizes().padding, sizes().of(8));
    column->setSpacing(sizes().of(2));
    setWidget(content); // before it has fields, which would be styled twice
    addGroup(tr("Common"), [](const config::KeyInfo& key) { return key.common; });
    for (const config::KeyGroup which : formGroups()) {
        const QString title =
            which == config::KeyGroup::Experiment ? tr("More") : QString::fromUtf8(config::title(which));
        addGroup(title, [which](const config::KeyInfo& key) { return key.group == which && !key.common; });
    }
    groups_.front().open = true;
    for (Group& group : groups_) {
        column->addWidget(group.line);
        column->addWidget(group.body);
    }
    column->addStretch(1);
    connect(&Theme::instance(), &Theme::changed, this, &SpecFormView::dress);
    dress();
}

void SpecFormView::addGroup(const QString& title, const std::function<bool(const config::KeyInfo&)>& holds)
{
    Group group;
    group.heading = new QPushButton(title);
    group.heading->setObjectName(title);
    group.heading->setProperty("kind", "heading");
    group.heading->setFocusPolicy(Qt::TabFocus);
    group.contents = new TitleLabel;
    group.contents->setProperty("kind", "dim");
    // Elided if it does not fit.
    group.contents->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    group.line = new QWidget;
    auto* line = new QHBoxLayout(group.line);
    line->setContentsMargins(0, 0, 0, 0);
    line->setSpacing(sizes().of(8));
    line->addWidget(group.heading);
    line->addWidget(group.contents, 1);
    group.body = new QWidget;
    group.grid = new QGridLayout(group.body);
    group.grid->setContentsMargins(0, 0, 0, sizes().of(4));
    group.grid->setHorizontalSpacing(sizes().of(10));
    group.grid->setVerticalSpacing(0);
    group.grid->setColumnStretch(0, 1);
    group.grid->setColumnStretch(1, 1);
    for (const config::KeyGroup which : formGroups())
        for (const config::KeyInfo& key : config::keys())
            if (key.group == which && holds(key))
                group.fields.push_back(new KeyField(key));
    // Fields that take a whole line come first. The tab order is the order of creation.
    std::stable_partition(group.fields.begin(), group.fields.end(),
                          [](const KeyField* field) { return field->isWideByNature(); });
    for (KeyField* field : group.fields) {
        field->setParent(group.body);
        field->hide();
        for (QWidget* child : field->findChildren<QWidget*>())
            child->installEventFilter(this);
        connect(field, &KeyField::edited, this, &SpecFormView::edited);
        fields_.push_back(field);
    }
    const std::size_t index = groups_.size();
    connect(group.heading, &QPushButton::clicked, this, [this, index] {
        Group& pressed = groups_[index];
        pressed.chosen = true;
        setOpen(pressed, !pressed.open);
    });
    groups_.push_back(std::move(group));
}

void SpecFormView::setOpen(Group& group, bool open)
{
    group.open = open;
    group.body->setVisible(open && !group.laid.empty());
    group.heading->setIcon(
        makeIcon(open ? Icon::ChevronDown : Icon::ChevronRight, colours().dimText, sizes().of(12)));
    group.heading->setAccessibleDescription(open ? tr("open") : tr("folded"));
    group.contents->setVisible(!open);
}

void SpecFormView::dress()
{
    for (Group& group : groups_)
        setOpen(group, group.open);
}

void SpecFormView::show(const SpecForm& form, const std::vector<config::SpecProblem>& problems)
{
    for (Group& group : groups_) {
        bool written = false;
        for (KeyField* field : group.fields) {
            const auto problem = std::ranges::find(problems, field->key().name, &config::SpecProblem::key);
            field->show(form,
                        problem == problems.end() ? QString() : QString::fromStdString(problem->sentence));
            written = written || form.given(field->key()) != SpecForm::Given::Default;
        }
        layOut(group, form);
        if (!group.chosen)
            setOpen(group, written || group.open);
        group.line->setVisible(!group.laid.empty() && &group != &groups_.front());
        group.body->setVisible(group.open && !group.laid.empty());
    }
}

// Two small fields per line. A field that keeps its place keeps the keyboard focus.
void SpecFormView::layOut(Group& group, const SpecForm& form)
{
    std::vector<KeyField*> laid;
    std::vector<bool> wide;
    for (KeyField* field : group.fields) {
        if (!form.shows(field->key()))
            continue;
        laid.push_back(field);
        wide.push_back(field->isWide());
    }
    if (laid == group.laid && wide == group.wide)
        return;
    for (KeyField* field : group.laid)
        group.grid->removeWidget(field);
    for (KeyField* field : group.fields)
        field->setVisible(std::ranges::find(laid, field) != laid.end());
    int row = 0;
    int column = 0;
    for (std::size_t i = 0; i < laid.size(); ++i) {
        if (wide[i] && column > 0) {
            ++row;
            column = 0;
        }
        group.grid->addWidget(laid[i], row, column, 1, wide[i] ? 2 : 1, Qt::AlignTop);
        if (wide[i] || ++column == 2) {
            ++row;
            column = 0;
        }
    }
    QStringList labels;
    for (const KeyField* field : laid)
        labels << QString::fromUtf8(field->key().label);
    group.contents->setText(labels.join(QStringLiteral(", ")));
    group.laid = std::move(laid);
    group.wide = std::move(wide);
    updateGeometry();
}

KeyField* SpecFormView::field(std::string_view key) const
{
    const auto found =
        std::ranges::find_if(fields_, [key](const KeyField* f) { return f->key().name == key; });
    return found == fields_.end() ? nullptr : *found;
}

QSize SpecFormView::minimumSizeHint() const
{
    const int bar = verticalScrollBar()->sizeHint().width();
    return {widget()->minimumSizeHint().width() + bar, QScrollArea::minimumSizeHint().height()};
}

void SpecFormView::light(const config::KeyInfo* key)
{
    KeyField* wanted = key != nullptr ? field(key->name) : nullptr;
    if (wanted == lit_)
        return;
    if (lit_ != nullptr)
        lit_->setLit(false);
    lit_ = wanted;
    if (lit_ != nullptr)
        lit_->setLit(true);
}

bool SpecFormView::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::FocusIn) {
        for (QObject* at = watched; at != nullptr; at = at->parent()) {
            if (auto* field = qobject_cast<KeyField*>(at)) {
                light(&field->key());
                ensureWidgetVisible(field, 0, sizes().of(8));
                emit entered(field->key());
                break;
            }
        }
    }
    return QScrollArea::eventFilter(watched, event);
}

} // namespace tilescope::ui
