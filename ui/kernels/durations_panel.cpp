#include "ui/kernels/durations_panel.h"

#include "ui/kit/controls.h"
#include "ui/kit/histogram_plot.h"
#include "ui/theme/theme.h"

#include <QVBoxLayout>

namespace tilescope::ui {

DurationsPanel::DurationsPanel(QWidget* parent)
    : Panel(tr("Durations"), parent), notice_(new SentenceLabel), histogram_(new HistogramPlot),
      noHistogram_(makeMessage()), showOnTimeline_(new QPushButton(tr("Show on timeline")))
{
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(8), sizes().of(8));
    notice_->setObjectName(QStringLiteral("durationsNotice"));
    notice_->setProperty("kind", "dim");
    notice_->setContentsMargins(sizes().of(4), 0, sizes().of(4), 0);
    notice_->hide();
    histogram_->setAccessibleName(tr("Durations of the selected kernel"));
    showOnTimeline_->setObjectName(QStringLiteral("showOnTimeline"));
    showOnTimeline_->setProperty("kind", "link");
    showOnTimeline_->setCursor(Qt::PointingHandCursor);
    content->addWidget(notice_);
    content->addWidget(histogram_, 1);
    content->addWidget(noHistogram_, 1);
    content->addWidget(showOnTimeline_, 0, Qt::AlignLeft);
    setContent(content);
    connect(showOnTimeline_, &QPushButton::clicked, this, &DurationsPanel::timelineWanted);
}

void DurationsPanel::showInstances(query::Hue hue, const Lengths& lengths, const QString& otherwise)
{
    measuring_.cancel();
    if (!lengths)
        return show({}, hue, otherwise);
    measuring_.start([lengths](const auto& cancelled) { return durationsOf(lengths(cancelled)); },
                     [this, hue, otherwise](const Durations& durations) { show(durations, hue, otherwise); },
                     [this](const QString& sentence) { show({}, query::Hue::Other, sentence); });
}

void DurationsPanel::clear()
{
    setTitle(tr("Durations"));
    setSubtitle({});
    setNotice({});
    setOnTimeline(false);
    showInstances(query::Hue::Other, {}, tr("Select a row to see how long its instances took."));
}

void DurationsPanel::setNotice(const QString& notice)
{
    notice_->setText(notice);
    notice_->setVisible(!notice.isEmpty());
}

void DurationsPanel::setOnTimeline(bool isThere)
{
    showOnTimeline_->setEnabled(isThere);
}

void DurationsPanel::show(const Durations& durations, query::Hue hue, const QString& otherwise)
{
    const bool any = !durations.histogram.counts.empty();
    histogram_->setVisible(any);
    noHistogram_->setVisible(!any);
    noHistogram_->setText(otherwise);
    histogram_->show(durations, hue);
}

} // namespace tilescope::ui
