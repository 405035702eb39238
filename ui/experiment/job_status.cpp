#include "ui/experiment/job_status.h"

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>

namespace tilescope::ui {

namespace {

constexpr int kBarSteps = 1000;

} // namespace

JobStatus::JobStatus(QWidget* parent)
    : QWidget(parent), words_(new QPushButton), bar_(new QProgressBar), left_(new QLabel),
      cancel_(new QPushButton(tr("Cancel")))
{
    words_->setProperty("kind", "link");
    words_->setObjectName(QStringLiteral("jobWords"));
    words_->setToolTip(tr("Show the running sweep"));
    words_->setFocusPolicy(Qt::TabFocus);
    bar_->setRange(0, kBarSteps);
    bar_->setTextVisible(false);
    bar_->setFixedWidth(sizes().of(120));
    bar_->setObjectName(QStringLiteral("jobBar"));
    bar_->setAccessibleName(tr("Progress of the running sweep"));
    left_->setProperty("kind", "dim");
    cancel_->setObjectName(QStringLiteral("jobCancel"));
    cancel_->setToolTip(tr("Stop after the current step; click again to stop at once"));
    cancel_->setFocusPolicy(Qt::TabFocus);
    cancel_->setProperty("kind", "small");
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(sizes().of(8), 0, sizes().of(8), 0);
    row->setSpacing(sizes().of(10));
    for (QWidget* part : {static_cast<QWidget*>(words_), static_cast<QWidget*>(bar_),
                          static_cast<QWidget*>(left_), static_cast<QWidget*>(cancel_)})
        row->addWidget(part);
    connect(words_, &QPushButton::clicked, this, &JobStatus::opened);
    connect(cancel_, &QPushButton::clicked, this, &JobStatus::cancelled);
    connect(&Theme::instance(), &Theme::changed, this, &JobStatus::dress);
    dress();
    hide();
}

void JobStatus::dress()
{
    const Icon icon = isLost_ ? Icon::Warning : moving_ ? Icon::Running : Icon::Cancelled;
    const QColor colour = isLost_ ? colours().warning : moving_ ? colours().running : colours().dimText;
    words_->setIcon(makeIcon(icon, colour, sizes().of(12)));
}

void JobStatus::show(const JobSummary& summary)
{
    moving_ = summary.moving;
    isLost_ = summary.isLost;
    dress();
    words_->setText(summary.words);
    bar_->setValue(int(summary.fraction * kBarSteps));
    left_->setText(summary.left);
    left_->setVisible(!summary.left.isEmpty());
    cancel_->setText(summary.cancelWord);
    cancel_->setEnabled(summary.canCancel);
    setVisible(summary.shown);
}

} // namespace tilescope::ui
