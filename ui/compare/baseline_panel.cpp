#include "ui/compare/baseline_panel.h"

#include "core/query/compare/compare_tables.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_command.h"
#include "ui/theme/theme.h"

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kMostRows = 6; // before the list scrolls

// Sorted independently of which run is B.
std::vector<SelectedRun> ordered(std::vector<SelectedRun> runs)
{
    std::sort(runs.begin() + 1, runs.end(),
              [](const SelectedRun& one, const SelectedRun& other) { return one.key < other.key; });
    return runs;
}

// "#3 naive", or with its file if there are several: runs of one spec have the same title.
QString nameAmong(const std::vector<SelectedRun>& runs, const SelectedRun& run)
{
    const bool isOneFile = std::ranges::all_of(
        runs, [&run](const SelectedRun& other) { return other.key.file == run.key.file; });
    const QString source = isOneFile ? QStringLiteral("#%1").arg(run.key.run.value) : run.source();
    return source + QLatin1Char(' ') + run.title;
}

bool isSame(const SelectedRun& one, const SelectedRun& other)
{
    return one.key == other.key && one.snapshot == other.snapshot;
}

std::vector<std::optional<analysis::TimeDifference>> compareSteps(const std::vector<SelectedRun>& runs,
                                                                  const query::Cancelled& cancelled)
{
    std::vector<std::optional<analysis::TimeDifference>> steps;
    auto a = runs.front().file->borrow();
    query::StepBaseline baseline(a->reader(), runs.front().key.run);
    for (auto run = runs.begin() + 1; run != runs.end() && !cancelled(); ++run)
        steps.push_back(baseline.compareWith(run->file->borrow()->reader(), run->key.run));
    return steps;
}

} // namespace

BaselinePanel::BaselinePanel(QWidget* parent) : Panel(tr("A against each"), parent), table_(new TableView)
{
    setContent(table_);
    table_->setAccessibleName(tr("Run A against each of the others"));
    table_->setToolTip(tr("A click or Enter makes a run B, which the rest of the page explains"));
    const auto choose = [this](std::int64_t row) {
        const std::size_t at = std::size_t(row) + 1;
        if (at < runs_.size() && runs_[at].key != b_)
            emit chosen(runs_[at].key);
    };
    connect(table_, &TableView::activatedRow, this, choose);
    connect(table_, &TableView::clicked, this,
            [choose](const QModelIndex& index) { choose(index.data(TableModel::IdRole).toLongLong()); });
    hide();
}

bool BaselinePanel::isAbout(const std::vector<SelectedRun>& runs) const
{
    if (runs_.empty() || runs.size() != runs_.size())
        return false;
    const std::vector<SelectedRun> inOrder = ordered(runs);
    return std::equal(inOrder.begin(), inOrder.end(), runs_.begin(), isSame);
}

void BaselinePanel::showRuns(const std::vector<SelectedRun>& runs)
{
    const bool isShown = runs.size() > 2 && !isLimited(runs);
    setVisible(isShown);
    if (!isShown) {
        loading_.cancel();
        runs_.clear();
        rows_.clear();
        return;
    }
    b_ = runs[1].key;
    if (!isAbout(runs)) {
        runs_ = ordered(runs);
        rows_.clear();
        for (auto run = runs_.begin() + 1; run != runs_.end(); ++run)
            rows_.push_back({{{}, nameAmong(runs_, *run), run->run}, false, {}});
        table_->setFixedHeight(sizes().header + std::min(kMostRows, int(rows_.size())) * sizes().row + 2);
        compare();
    }
    showRows();
    const auto b =
        std::find_if(runs_.begin(), runs_.end(), [this](const SelectedRun& run) { return run.key == b_; });
    table_->setCurrentId(b - runs_.begin() - 1);
}

void BaselinePanel::compare()
{
    loading_.start(
        [runs = runs_](const query::Cancelled& cancelled) { return compareSteps(runs, cancelled); },
        [this](const std::vector<std::optional<analysis::TimeDifference>>& steps) {
            for (std::size_t i = 0; i < steps.size(); ++i) {
                rows_[i].isCompared = true;
                rows_[i].step = steps[i];
            }
            showRows();
        },
        [this](const QString& sentence) { setSubtitle(sentence); });
}

void BaselinePanel::showRows()
{
    const SelectedRun& a = runs_.front();
    QStringList facts{tr("A is %1").arg(nameAmong(runs_, a))};
    if (const auto median = medianStepOf(*a.run))
        facts << timeText(*median);
    if (const auto peak = peakAllocatedOf(*a.run))
        facts << tr("peak %1").arg(byteText(*peak));
    setSubtitle(facts.join(QStringLiteral(", ")));
    std::size_t b = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const bool isB = runs_[i + 1].key == b_;
        rows_[i].letter = isB ? QStringLiteral("B") : QString();
        b = isB ? i : b;
    }
    table_->show(againstRows(*a.run, rows_, b));
}

} // namespace tilescope::ui
