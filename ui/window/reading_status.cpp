#include "ui/window/reading_status.h"

#include "ui/jobs/running_jobs.h"
#include "ui/kit/count_text.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace tilescope::ui {

ReadingStatus::ReadingStatus(QWidget* parent)
    : QWidget(parent), words_(new QLabel), stop_(new QPushButton(tr("Stop reading")))
{
    setObjectName(QStringLiteral("readingStatus"));
    words_->setProperty("kind", "dim");
    stop_->setProperty("kind", "small");
    stop_->setFocusPolicy(Qt::TabFocus);
    stop_->setToolTip(tr("Stops reading; the pages say so. Choosing another run and then this one reads it"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(sizes().of(8), 0, sizes().of(8), 0);
    row->setSpacing(sizes().of(10));
    row->addWidget(words_);
    row->addWidget(stop_);
    timer_.setInterval(kBetweenLooks);
    connect(&timer_, &QTimer::timeout, this, &ReadingStatus::look);
    connect(&RunningJobs::all(), &RunningJobs::started, &timer_, [this] {
        if (!timer_.isActive())
            timer_.start();
    });
    connect(stop_, &QPushButton::clicked, this, [] { RunningJobs::all().stopReading(); });
    hide();
}

void ReadingStatus::look()
{
    const auto reading = RunningJobs::all().reading();
    if (reading && reading->longest >= kSilence)
        words_->setText(tr("%1 read").arg(counted(reading->events, "event")));
    setVisible(reading && reading->longest >= kSilence);
    if (RunningJobs::all().isEmpty())
        timer_.stop();
}

} // namespace tilescope::ui
