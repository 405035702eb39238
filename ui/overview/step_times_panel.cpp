#include "ui/overview/step_times_panel.h"

#include "core/query/runs/run_tables.h"
#include "ui/experiment/live_plots.h"
#include "ui/kit/controls.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostRuns = 2;
constexpr double kPlotHeight = 240; // design pixels

} // namespace

std::vector<SweepProgress::Step> stepTimes(const query::SamplesTable& samples)
{
    std::vector<SweepProgress::Step> steps;
    std::int64_t warmups = 0;
    for (const query::SampleRow& row : samples.rows)
        if (row.sample.phase == Phase::Step && row.sample.kind == SampleKind::Warmup)
            ++warmups;
    for (const query::SampleRow& row : samples.rows)
        if (row.sample.phase == Phase::Step && row.sample.kind != SampleKind::Trace)
            steps.push_back(
                {row.sample.kind == SampleKind::Warmup ? row.sample.step - warmups : row.sample.step,
                 double(row.sample.wall.count())});
    std::ranges::stable_sort(steps, {}, &SweepProgress::Step::step);
    return steps;
}

StepTimesPanel::StepTimesPanel(QWidget* parent) : Panel(tr("Step times"), parent), noTrace_(new SentenceLabel)
{
    noTrace_->setProperty("kind", "dim");
    noTrace_->setContentsMargins(sizes().padding, sizes().gap, sizes().padding, 0);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(sizes().padding, sizes().gap, sizes().padding, sizes().gap);
    row->setSpacing(sizes().padding);
    for (std::size_t i = 0; i < kMostRuns; ++i) {
        Place place{new QWidget, new ElidedLabel, new StepsPlot, makeMessage()};
        QVBoxLayout* column = makePlainColumn(place.whole);
        column->addWidget(place.title);
        column->addWidget(place.plot, 1);
        column->addWidget(place.nothing, 1);
        for (QWidget* content : {static_cast<QWidget*>(place.plot), static_cast<QWidget*>(place.nothing)})
            content->setMinimumHeight(sizes().of(kPlotHeight));
        row->addWidget(place.whole, 1);
        places_.push_back(place);
    }
    QVBoxLayout* content = makePlainColumn(nullptr);
    content->addWidget(noTrace_);
    content->addLayout(row, 1);
    setContent(content);
    hide();
}

void StepTimesPanel::showRuns(const std::vector<SelectedRun>& runs, const QString& noTrace)
{
    noTrace_->setText(noTrace);
    const std::vector<SelectedRun> shown(
        runs.begin(), runs.begin() + std::min<std::ptrdiff_t>(kMostRuns, std::ssize(runs)));
    loading_.start(
        [shown](const query::Cancelled& cancelled) {
            std::vector<std::vector<SweepProgress::Step>> steps;
            for (const SelectedRun& run : shown)
                if (!cancelled())
                    steps.push_back(stepTimes(query::samples(run.file->borrow()->reader(), run.key.run)));
            return steps;
        },
        [this, shown](const std::vector<std::vector<SweepProgress::Step>>& steps) { show(shown, steps); },
        [this](const QString& sentence) { noTrace_->setText(sentence); });
}

void StepTimesPanel::show(const std::vector<SelectedRun>& runs,
                          const std::vector<std::vector<SweepProgress::Step>>& steps)
{
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const Place& place = places_[i];
        place.whole->setVisible(i < steps.size());
        if (i >= steps.size())
            continue;
        const QString name =
            runs[i].letter.isEmpty() ? runs[i].title : runs[i].letter + QLatin1Char(' ') + runs[i].title;
        place.plot->setVisible(!steps[i].empty());
        place.nothing->setVisible(steps[i].empty());
        place.nothing->setText(tr("No step was timed."));
        place.plot->setAccessibleName(tr("Step times of %1").arg(name));
        place.plot->show(steps[i],
                         steps[i].empty() ? 0 : std::max<std::int64_t>(0, steps[i].back().step + 1));
        const QString& summary = place.plot->summary();
        place.title->setText(summary.isEmpty() ? name : name + QStringLiteral(": ") + summary);
    }
    setSubtitle(tr("wall time of each step; dashed: median of the timed ones"));
}

} // namespace tilescope::ui
