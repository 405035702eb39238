#include "ui/experiment/spec_editor.h"

#include "core/base/error.h"
#include "ui/experiment/spec_form_view.h"
#include "ui/experiment/yaml_editor.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/label_kind.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStyle>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

constexpr int kCheckAfterMs = 120;
constexpr qsizetype kLargestForForm = 32 << 10; // read in a few milliseconds

// "3 × 2 × 5 = 30 points", from the sweep as it is written.
QString productText(const SpecForm& form)
{
    const config::SpecDocument& document = form.document();
    if (!form.workload())
        return {};
    QStringList factors;
    if (!document.points.empty())
        factors << QString::number(document.points.size());
    for (const config::SpecDocument::Axis& axis : document.axes)
        factors << QString::number(axis.values.size());
    const std::int64_t count = document.pointCount();
    const QString points = counted(count, "point");
    return factors.size() < 2 ? points : factors.join(QStringLiteral(" × ")) + QStringLiteral(" = ") + points;
}

} // namespace

SpecEditor::SpecEditor(QWidget* parent) : QWidget(parent), checks_(this)
{
    auto* splitter = new QSplitter(Qt::Horizontal);
    makePlainColumn(this)->addWidget(splitter);
    splitter->setObjectName(QStringLiteral("specSplitter"));
    splitter->setHandleWidth(sizes().gap);
    splitter->setProperty("kind", "gap");
    splitter->setChildrenCollapsible(false);
    makeForm(*splitter);
    makeYaml(*splitter);
    splitter->setSizes({sizes().of(560), sizes().of(480)});
    checkSoon_.setSingleShot(true);
    connect(&checkSoon_, &QTimer::timeout, this, &SpecEditor::check);
    connect(yaml_, &QPlainTextEdit::textChanged, this, [this] {
        // Highlighting also emits textChanged.
        if (QString now = text(); now != lastText_) {
            lastText_ = std::move(now);
            yamlChanged();
        }
    });
    connect(yaml_, &YamlEditor::lineEntered, this, [this](int line) {
        const config::KeyInfo* key = formCurrent_ ? form_.keyAt(line) : nullptr;
        view_->light(key);
        yaml_->markLit(0);
    });
    connect(view_, &SpecFormView::edited, this, &SpecEditor::edit);
    connect(view_, &SpecFormView::entered, this, &SpecEditor::lightLineOf);
    showForm();
    showVerdict();
}

void SpecEditor::makeForm(QSplitter& splitter)
{
    formPanel_ = new Panel(tr("Experiment"), &splitter);
    product_ = new QLabel;
    product_->setObjectName(QStringLiteral("product"));
    formPanel_->addToHeader(product_);
    view_ = new SpecFormView(formPanel_);
    lockBar_ = new QWidget(formPanel_);
    locked_ = new QLabel;
    locked_->setObjectName(QStringLiteral("locked"));
    locked_->setWordWrap(true);
    locked_->setProperty("kind", "warning");
    restore_ = new QPushButton(tr("Undo"));
    restore_->setObjectName(QStringLiteral("restore"));
    restore_->setToolTip(tr("Restore the text as it was before; Ctrl+Z in the text reverts this"));
    connect(restore_, &QPushButton::clicked, this, &SpecEditor::restore);
    auto* bar = new QHBoxLayout(lockBar_);
    bar->setContentsMargins(sizes().padding, sizes().of(6), sizes().padding, sizes().of(6));
    bar->addWidget(locked_, 1);
    bar->addWidget(restore_);
    lockBar_->hide();
    auto* content = new QVBoxLayout;
    content->setContentsMargins(0, 0, 0, 0);
    content->setSpacing(0);
    formPanel_->setContent(content);
    content->addWidget(lockBar_);
    content->addWidget(view_, 1);
}

void SpecEditor::makeYaml(QSplitter& splitter)
{
    yamlPanel_ = new Panel(tr("YAML"), &splitter);
    yamlPanel_->setSubtitle(tr("linked with the form"));
    valid_ = new QLabel;
    valid_->setObjectName(QStringLiteral("valid"));
    yamlPanel_->addToHeader(valid_);
    yaml_ = new YamlEditor;
    yaml_->setObjectName(QStringLiteral("spec"));
    yaml_->setAccessibleName(tr("Spec as YAML"));
    yaml_->setPlaceholderText(tr("workload: lm\nsize: tiny\nmode: train\nsweep:\n  batch: [1, 2, 4]"));
    verdict_ = new SentenceLabel;
    verdict_->setObjectName(QStringLiteral("verdict"));
    verdict_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    verdict_->setContentsMargins(sizes().padding, sizes().of(6), sizes().padding, sizes().of(6));
    auto* content = new QVBoxLayout;
    content->setContentsMargins(0, 0, 0, 0);
    content->setSpacing(0);
    yamlPanel_->setContent(content);
    content->addWidget(yaml_, 1);
    content->addWidget(verdict_);
}

QString SpecEditor::text() const
{
    return yaml_->toPlainText();
}

QWidget* SpecEditor::textField() const
{
    return yaml_;
}

void SpecEditor::setText(const QString& text, const QString& origin)
{
    setOrigin(origin);
    yaml_->replaceText(text);
    yaml_->moveCursor(QTextCursor::Start);
    setModified(false);
}

void SpecEditor::setOrigin(const QString& origin)
{
    if (origin == origin_)
        return;
    origin_ = origin;
    yamlPanel_->setTitle(origin == QLatin1String("spec") ? tr("YAML") : origin);
    yamlChanged(); // messages name it, and it is the name of a spec without one
}

bool SpecEditor::isModified() const
{
    return yaml_->document()->isModified();
}

void SpecEditor::setModified(bool modified)
{
    yaml_->document()->setModified(modified);
}

QString SpecEditor::name() const
{
    return current_ && judged_.verdict.good()
               ? QString::fromStdString(judged_.verdict.points->front().spec.name)
               : origin_;
}

void SpecEditor::setForecaster(std::shared_ptr<const Forecaster> forecaster)
{
    forecaster_ = std::move(forecaster);
    yamlChanged();
}

void SpecEditor::say(const QString& sentence, const char* kind)
{
    verdict_->setText(sentence);
    setKind(verdict_, kind);
    verdict_->setVisible(!sentence.isEmpty());
}

void SpecEditor::yamlChanged()
{
    current_ = false;
    dropped_.clear();
    formCurrent_ = formText_ == text();
    yaml_->markError(0);
    checkSoon_.start(kCheckAfterMs);
    emit textChanged();
}

void SpecEditor::check()
{
    checks_.start(
        [text = text().toStdString(), origin = origin_.toStdString(),
         forecaster = forecaster_](const std::function<bool()>& cancelled) {
            Judged judged{checkSpec(text, origin), {}, {}, {}};
            if (!judged.verdict.good())
                return judged;
            try {
                if (forecaster != nullptr)
                    judged.forecast = forecaster->forecast(*judged.verdict.points, cancelled);
            } catch (const Error& error) {
                judged.forecastProblem = QString::fromStdString(error.sentence());
            }
            judged.plan = SweepPlan::of(judged.verdict.points, judged.forecast);
            return judged;
        },
        [this](Judged judged) { take(std::move(judged)); },
        [this](const QString& sentence) { say(sentence, "error"); });
}

void SpecEditor::take(Judged judged)
{
    if (checkSoon_.isActive())
        return; // the text has changed meanwhile
    judged_ = std::move(judged);
    current_ = true;
    if (judged_.verdict.form) {
        form_ = *judged_.verdict.form;
        formText_ = text();
        formCurrent_ = true;
    }
    showForm();
    showVerdict();
    emit checked();
}

void SpecEditor::showForm()
{
    const bool tooLarge = text().size() > kLargestForForm;
    if (tooLarge)
        setLocked(tr("This spec is too large for the form; edit it as text."));
    else if (current_ && !judged_.verdict.form)
        setLocked(judged_.verdict.line > 0
                      ? tr("Line %1 of the text cannot be read; the form shows it as it was before.")
                            .arg(judged_.verdict.line)
                      : tr("The text cannot be read; the form shows it as it was before."));
    else
        setLocked({});
    restore_->setVisible(!tooLarge);
    if (!lockBar_->isVisibleTo(this) && !dropped_.isEmpty()) {
        locked_->setText(dropped_);
        lockBar_->show();
    }
    // An empty text has no problems.
    const bool judgedNow = current_ && !text().trimmed().isEmpty();
    if (!tooLarge)
        view_->show(form_, judgedNow ? judged_.verdict.problems : std::vector<config::SpecProblem>());
    product_->setText(productText(form_));
}

void SpecEditor::setLocked(const QString& why)
{
    locked_->setText(why);
    lockBar_->setVisible(!why.isEmpty());
    view_->setEnabled(why.isEmpty());
}

void SpecEditor::sayDropped(const QStringList& keys, const QString& before)
{
    dropped_ = tr("Removed what is not for this workload: %1.").arg(keys.join(QStringLiteral(", ")));
    whole_ = before;
    showForm();
}

void SpecEditor::showVerdict()
{
    const SpecVerdict& verdict = judged_.verdict;
    const bool empty = text().trimmed().isEmpty();
    if (verdict.good() || empty || !current_) {
        say(empty ? tr("Choose a workload in the form, open a spec, or write one here.") : QString(), "dim");
        valid_->setText(verdict.good() && current_ ? tr("✓ valid") : QString());
        setKind(valid_, "dim");
        return;
    }
    say(verdict.sentence, "error");
    yaml_->markError(verdict.line);
    valid_->setText(tr("✕ not valid"));
    setKind(valid_, "error");
}

// Before it changes the text, the form must describe the current one.
bool SpecEditor::catchUp()
{
    if (formCurrent_)
        return true;
    try {
        form_ = SpecForm::fromYaml(text().toStdString(), origin_.toStdString());
        formText_ = text();
        formCurrent_ = true;
        return true;
    } catch (const Error& error) {
        say(QString::fromStdString(error.sentence()), "error");
        return false;
    }
}

void SpecEditor::edit(const config::KeyInfo& key, const QStringList& values)
{
    if (text().size() > kLargestForForm || !catchUp()) {
        showForm();
        return;
    }
    SpecForm changed = form_;
    changed.set(key, values);
    const QString before = text();
    const QStringList dropped = key.name == "workload" ? changed.dropForeignKeys() : QStringList();
    try {
        const std::string yaml = changed.yaml(text().toStdString());
        form_ = SpecForm::fromYaml(yaml, origin_.toStdString());
        formText_ = QString::fromStdString(yaml);
    } catch (const Error& error) {
        say(QString::fromStdString(error.sentence()), "error"); // too many points
        return;
    }
    yaml_->replaceText(formText_);
    formCurrent_ = true;
    view_->show(form_, judged_.verdict.problems);
    product_->setText(productText(form_));
    if (!dropped.isEmpty())
        sayDropped(dropped, before);
    lightLineOf(key);
}

void SpecEditor::setKey(std::string_view key, const QStringList& values)
{
    if (const config::KeyInfo* info = config::findKey(key))
        edit(*info, values);
}

void SpecEditor::lightLineOf(const config::KeyInfo& key)
{
    yaml_->markLit(formCurrent_ ? form_.lineOf(key) : 0);
}

void SpecEditor::restore()
{
    yaml_->replaceText(dropped_.isEmpty() ? formText_ : whole_);
}

} // namespace tilescope::ui
