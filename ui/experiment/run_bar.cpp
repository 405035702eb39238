#include "ui/experiment/run_bar.h"

#include "ui/experiment/queue_list.h"
#include "ui/kit/count_text.h"
#include "ui/kit/file_dialog.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/layouts.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"

#include <QAction>
#include <QCheckBox>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStyle>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

QPushButton* makeButton(const QString& text, const char* name, const QString& tip)
{
    auto* button = new QPushButton(text);
    button->setObjectName(QLatin1String(name));
    button->setToolTip(tip);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

} // namespace

RunBar::RunBar(SweepQueues& queues, QWidget* parent)
    : QFrame(parent), queues_(queues), queue_(&queues.here()), list_(new QueueList(queues)),
      plan_(new QLabel), forecast_(new QLabel), warning_(new QLabel), output_(new QLineEdit),
      onlyMissing_(new QCheckBox(tr("only what is missing"))),
      run_(addKey(
          *this, tr("Run every point of the sweep"), {Qt::CTRL | Qt::Key_R}, [this] { submit(); },
          Qt::WindowShortcut)),
      enqueue_(addKey(
          *this, tr("Run it after the running and queued sweeps"), {Qt::CTRL | Qt::SHIFT | Qt::Key_R},
          [this] { submit(); }, Qt::WindowShortcut)),
      pause_(makeButton(tr("Pause after this point"), "pause", {})),
      cancel_(
          makeButton(tr("Cancel"), "cancel", tr("Stop after the current step; click again to stop at once")))
{
    setProperty("kind", "panel");
    plan_->setObjectName(QStringLiteral("plan"));
    plan_->setFont(Theme::instance().bold());
    forecast_->setObjectName(QStringLiteral("forecast"));
    forecast_->setProperty("kind", "dim");
    forecast_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    warning_->setObjectName(QStringLiteral("expectedOom"));
    warning_->setProperty("kind", "warning");
    output_->setObjectName(QStringLiteral("output"));
    output_->setText(QDir::current().filePath(QStringLiteral("experiment.tscope")));
    output_->setAccessibleName(tr("Output file"));
    output_->setMinimumWidth(sizes().of(96));
    onlyMissing_->setObjectName(QStringLiteral("onlyMissing"));
    onlyMissing_->setToolTip(tr("Skip the points that the file already holds, like --resume"));
    auto* run = makeButton(tr("Run"), "run", {});
    run->setProperty("kind", "primary");
    bindButton(*run, *run_);
    auto* enqueue = makeButton(tr("Queue"), "enqueue", {});
    bindButton(*enqueue, *enqueue_);
    auto* choose = makeButton(tr("…"), "chooseOutput", tr("Choose the file to record into"));
    choose->setAccessibleName(tr("Choose output file"));
    auto* word = new QLabel(tr("Record into"));
    word->setProperty("kind", "dim");

    auto* top = new QHBoxLayout;
    top->setSpacing(sizes().of(12));
    top->addWidget(plan_);
    top->addWidget(forecast_, 1);
    top->addWidget(warning_);
    auto* bottom = new QHBoxLayout;
    bottom->setSpacing(sizes().of(8));
    bottom->addWidget(word);
    bottom->addWidget(output_, 1);
    bottom->addWidget(choose);
    bottom->addWidget(onlyMissing_);
    bottom->addSpacing(sizes().of(8));
    for (QPushButton* button : {enqueue, run, pause_, cancel_})
        bottom->addWidget(button);
    auto* rows = new QVBoxLayout;
    rows->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    rows->setSpacing(sizes().of(6));
    rows->addLayout(top);
    rows->addLayout(bottom);
    auto* column = newLayout<QVBoxLayout>(this, 1, 0);
    column->addLayout(rows);
    column->addWidget(list_);

    connect(output_, &QLineEdit::textEdited, this, [this] { outputChosen_ = true; });
    connect(output_, &QLineEdit::textChanged, this, &RunBar::update);
    connect(choose, &QPushButton::clicked, this, &RunBar::chooseOutput);
    connect(pause_, &QPushButton::clicked, this, [this] {
        if (queue_->state() == SweepQueue::State::Held)
            queue_->resume();
        else
            queue_->pause();
    });
    connect(cancel_, &QPushButton::clicked, this, [this] { queue_->cancel(); });
    connect(&queues_, &SweepQueues::changed, this, &RunBar::update);
    showPlan(nullptr);
    update();
}

void RunBar::setHost(const QString& host)
{
    queue_ = &queues_.of(host);
    update();
}

void RunBar::setPlan(const SpecEditor::Judged* judged, const QString& name)
{
    points_ = judged != nullptr ? judged->verdict.points : nullptr;
    sweep_ = judged != nullptr ? judged->plan : nullptr;
    name_ = name;
    if (judged != nullptr)
        showPlan(judged);
    update();
}

void RunBar::showPlan(const SpecEditor::Judged* judged)
{
    warning_->hide();
    if (judged == nullptr || !judged->verdict.good()) {
        plan_->setText(tr("Nothing to run yet"));
        const bool chosen = judged != nullptr && judged->verdict.form && judged->verdict.form->workload();
        forecast_->setText(judged == nullptr ? QString()
                           : chosen          ? tr("the spec is not valid")
                                             : tr("choose a workload first"));
        return;
    }
    const auto count = std::int64_t(judged->verdict.points->size());
    plan_->setText(counted(count, "point"));
    QString words = tr("no prediction yet");
    if (!queue_->host().isEmpty())
        words = tr("on %1, whose runs arrive here as they end; not predicted").arg(queue_->host());
    else if (judged->forecast)
        words = forecastWords(*judged->forecast);
    else if (!judged->forecastProblem.isEmpty())
        words = tr("no prediction: %1").arg(judged->forecastProblem);
    forecast_->setText(words + QStringLiteral("; ") + memoryLimitWords(*judged->verdict.points));
    forecast_->setToolTip(forecast_->text());
    const bool isPredicted = judged->forecast && queue_->host().isEmpty();
    if (const std::int64_t oom = isPredicted ? judged->forecast->outOfMemory() : 0; oom > 0) {
        warning_->setText(tr("▲ %1 expected OOM, kept as results").arg(wholeNumber(oom)));
        warning_->show();
    }
}

void RunBar::suggestOutput(const QString& baseName)
{
    if (!outputChosen_)
        output_->setText(QDir::current().filePath(baseName + QStringLiteral(".tscope")));
}

QString RunBar::outputPath() const
{
    return QFileInfo(output_->text().trimmed()).absoluteFilePath();
}

void RunBar::chooseOutput()
{
    const QString path = fileToSave(this, tr("Record into"), outputPath(), tr("Recordings (*.tscope)"),
                                    QFileDialog::DontConfirmOverwrite); // runs are appended
    if (path.isEmpty())
        return;
    outputChosen_ = true;
    output_->setText(path);
}

void RunBar::submit()
{
    if (points_ == nullptr || output_->text().trimmed().isEmpty())
        return;
    SweepJob job;
    job.name = name_;
    job.points = points_;
    job.plan = sweep_;
    job.file = outputPath();
    job.onlyMissing = onlyMissing_->isChecked();
    job.host = queue_->host();
    emit wanted(job);
}

void RunBar::update()
{
    using State = SweepQueue::State;
    const bool named = !output_->text().trimmed().isEmpty();
    output_->setProperty("invalid", !named);
    output_->style()->unpolish(output_);
    output_->style()->polish(output_);
    output_->setToolTip(named ? outputPath() : tr("Choose an output file"));
    const bool ready = points_ != nullptr && named;
    const State state = queue_->state();
    run_->setEnabled(ready && state == State::Idle);
    enqueue_->setEnabled(ready && state != State::Idle);
    pause_->setText(state == State::Held      ? tr("Resume")
                    : state == State::Pausing ? tr("Pausing…")
                                              : tr("Pause after this point"));
    pause_->setToolTip(state == State::Held ? tr("Continue with the remaining points or the next sweep")
                                            : tr("Finish the running point, end the engine and wait"));
    pause_->setEnabled(state == State::Running || state == State::Held);
    cancel_->setText(state == State::Stopping ? tr("End now") : tr("Cancel"));
    cancel_->setEnabled(queue_->isRunning() || queue_->current() != nullptr);
}

} // namespace tilescope::ui
