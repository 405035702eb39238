#include "ui/overview/oom_panel.h"

#include "core/base/error.h"
#include "core/config/run_again.h"
#include "core/config/schema.h"
#include "core/query/run_spec.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/overview/limit_bar_plot.h"
#include "ui/overview/oom_rows.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <numeric>

namespace tilescope::ui {

namespace {

constexpr double kBlockRow = 22; // design pixels
constexpr double kFitRow = 28;   // of a button
constexpr int kBlockRows = 10;
constexpr double kNarrowLists = 840;      // below which a list has no room beside another
constexpr const char* kChange = "change"; // property of a button: index of its suggestion

QBoxLayout::Direction directionOf(int width)
{
    return width < sizes().of(kNarrowLists) ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight;
}

// A table in the panel, with the message that stands for it while it is empty.
void addTable(Panel& panel, TableView* table, QLabel* message)
{
    QVBoxLayout* layout = makePlainColumn(nullptr);
    panel.setContent(layout);
    layout->addWidget(table);
    layout->addWidget(message);
    table->setRowHeight(kBlockRow);
    table->setFixedHeight(sizes().header + kBlockRows * sizes().of(kBlockRow) + 2);
    message->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    message->setFixedHeight(table->height());
}

void fill(TableView& table, QLabel& message, TableData rows, const QString& otherwise)
{
    const bool any = !rows.rows.empty();
    message.setText(otherwise);
    message.setVisible(!any);
    table.setVisible(any);
    table.show(std::move(rows));
}

} // namespace

OomPanel::OomPanel(Workspace& workspace, QWidget* parent) : QWidget(parent), workspace_(workspace)
{
    hide();
}

// Builds from the outside in: Qt styles a widget and its children again whenever it gets a new parent.
void OomPanel::makeContent()
{
    QVBoxLayout* layout = makePlainColumn(this);
    layout->setSpacing(sizes().of(12));
    limitPanel_ = new Panel(tr("Up to the limit"));
    layout->addWidget(limitPanel_);
    bar_ = new LimitBarPlot;
    limitPanel_->setContent(bar_);
    connect(limitPanel_->addLink(tr("Memory")), &QPushButton::clicked, this,
            [this] { emit workspace_.pageWanted(QStringLiteral("memory")); });
    lists_ = new QBoxLayout(directionOf(width()));
    lists_->setSpacing(sizes().gap);
    layout->addLayout(lists_);
    holderPanel_ = new Panel(tr("Largest blocks"));
    lists_->addWidget(holderPanel_, 2);
    holders_ = new TableView;
    noHolders_ = makeMessage();
    addTable(*holderPanel_, holders_, noHolders_);
    fitPanel_ = new Panel(tr("Would fit"));
    lists_->addWidget(fitPanel_, 3);
    fits_ = new TableView;
    noFits_ = makeMessage();
    addTable(*fitPanel_, fits_, noFits_);
    fits_->setRowHeight(kFitRow);
    runAll_ = new QPushButton(tr("Run all"));
    holders_->setAccessibleName(tr("Largest blocks at the failure"));
    fits_->setAccessibleName(tr("Changes that fit"));
    runAll_->setProperty("kind", "small");
    runAll_->setToolTip(tr("Run the changes that have no run yet and record them into this file"));
    fitPanel_->addToHeader(runAll_);
    connect(fits_, &TableView::activatedRow, this, [this](std::int64_t row) { runVariants({row}); });
    connect(bar_, &LimitBarPlot::variantClicked, this, &OomPanel::openRun);
    connect(runAll_, &QPushButton::clicked, this, [this] {
        std::vector<std::int64_t> all(report_ ? report_->suggestions.size() : 0);
        std::iota(all.begin(), all.end(), 0);
        runVariants(all);
    });
    connect(&workspace_, &Workspace::filesChanged, this, [this] {
        if (report_ && isVisible())
            showFits(); // shows results beside changes that were run
    });
    // Queued, because the button of a change starts the queue and is made again.
    connect(
        &workspace_, &Workspace::queueChanged, this,
        [this] {
            if (report_ && isVisible())
                showFits();
        },
        Qt::QueuedConnection);
}

void OomPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    if (lists_ != nullptr)
        lists_->setDirection(directionOf(width()));
}

bool OomPanel::showRuns(const std::vector<SelectedRun>& runs)
{
    loading_.cancel();
    const auto found = std::find_if(runs.begin(), runs.end(), [](const SelectedRun& run) {
        return run.run->result.status == RunStatus::Oom;
    });
    if (found != runs.end() && limitPanel_ == nullptr)
        makeContent();
    setVisible(found != runs.end());
    if (found == runs.end())
        return false;
    isAlone_ = runs.size() == 1;
    if (report_ && run_.run->uid == found->run->uid) { // its figures have not changed
        show(*found, report_);
        return true;
    }
    say(tr("Reading the recording…"));
    if (isAlone_)
        emit figuresReady({});
    loading_.start(
        [run = *found](const query::Cancelled&) {
            auto session = run.file->borrow();
            return std::make_shared<const query::OomReport>(query::oomReport(session->reader(), run.key.run));
        },
        [this, run = *found](std::shared_ptr<const query::OomReport> report) {
            show(run, std::move(report));
        },
        [this](const QString& sentence) { say(sentence); });
    return true;
}

void OomPanel::say(const QString& text)
{
    report_.reset();
    canRun_ = false;
    bar_->show({});
    fill(*holders_, *noHolders_, {}, text);
    fill(*fits_, *noFits_, {}, text);
    runAll_->setEnabled(false);
}

void OomPanel::show(const SelectedRun& run, std::shared_ptr<const query::OomReport> report)
{
    report_ = std::move(report);
    run_ = run;
    bar_->show(limitBar(*report_));
    const QString who = isAlone_ ? QString() : run.letter + QStringLiteral(": ");
    limitPanel_->setSubtitle(who + (report_->needed
                                        ? tr("at the failed request; dashed: what the step would still have "
                                             "taken, predicted")
                                        : tr("at the failed request")));
    const QString notRecorded = run.run->param("memory") == "false"
                                    ? tr("Allocations were not recorded: set memory: true in the spec.")
                                    : tr("The step was not recorded when it ran out of memory, or did not do "
                                         "so again while it was recorded.");
    fill(*holders_, *noHolders_, holderRows(*report_), notRecorded);
    holderPanel_->setSubtitle(holders_->table().rows.empty() ? QString() : tr("at the failed request"));
    canRun_ = !report_->suggestions.empty() && query::specOf(*run_.run);
    showFits();
    const auto count = std::ssize(report_->suggestions);
    fitPanel_->setSubtitle(count > 0 ? tr("%1, predicted for this device").arg(counted(count, "change"))
                                     : QString());
    if (isAlone_)
        emit figuresReady(oomFigures(*report_, *run.run));
}

// The last run of each suggestion in the file; null where there is none.
std::vector<const query::RunSummary*> OomPanel::runsOfChanges(const ExperimentSpec& spec) const
{
    const OpenFile* file = workspace_.find(run_.key.file);
    std::vector<const query::RunSummary*> runs;
    if (file == nullptr || !file->snapshot)
        return runs;
    try {
        for (const predict::Suggestion& suggestion : report_->suggestions) {
            const std::string hash = config::specHash(config::withChanges(spec, suggestion.keys).front());
            const std::vector<query::RunSummary>& all = file->snapshot->runs;
            const auto last = std::find_if(
                all.rbegin(), all.rend(), [&](const query::RunSummary& run) { return run.specHash == hash; });
            runs.push_back(last == all.rend() ? nullptr : &*last);
        }
    } catch (const Error&) { // a spec of an older version may break today's rules; running it says so
        runs.clear();
    }
    return runs;
}

// Whether each suggestion is queued or under way.
std::vector<bool> OomPanel::queuedChanges(const ExperimentSpec& spec) const
{
    const QString file = QString::fromStdString(run_.file->path().string());
    std::vector<bool> queued;
    try {
        for (const predict::Suggestion& suggestion : report_->suggestions)
            queued.push_back(workspace_.isQueued(file, config::withChanges(spec, suggestion.keys).front()));
    } catch (const Error&) { // as in runsOfChanges()
        queued.clear();
    }
    return queued;
}

void OomPanel::showFits()
{
    const std::optional<ExperimentSpec> spec = query::specOf(*run_.run);
    const std::vector<const query::RunSummary*> runs =
        spec ? runsOfChanges(*spec) : std::vector<const query::RunSummary*>();
    const std::vector<bool> queued = spec ? queuedChanges(*spec) : std::vector<bool>();
    int left = 0; // changes that no run and no place in the queue belong to
    for (std::size_t i = 0; i < report_->suggestions.size(); ++i)
        left += (i >= runs.size() || runs[i] == nullptr) && (i >= queued.size() || !queued[i]) ? 1 : 0;
    runAll_->setEnabled(canRun_);
    runAll_->setText(tr("Run all %1").arg(left));
    runAll_->setVisible(left > 1);
    bar_->showVariants(limitVariants(*report_, runs));
    // The buttons are made again, so the focus must return to the button of the same change.
    const QWidget* focus = fits_->focusWidget();
    const QVariant focused = focus != nullptr && focus->hasFocus() ? focus->property(kChange) : QVariant();
    fill(*fits_, *noFits_, fitRows(*report_, runs, queued),
         tr("According to the predictor, none of the changes that were tried fits."));
    addButtons(runs, queued);
    for (QPushButton* button : fits_->findChildren<QPushButton*>())
        if (focused.isValid() && button->property(kChange) == focused)
            button->setFocus();
}

// Adds to each row a button that runs the change or opens its run.
void OomPanel::addButtons(const std::vector<const query::RunSummary*>& runs, const std::vector<bool>& queued)
{
    const int column = int(fits_->table().columns.size()) - 1;
    QWidget* before = fits_;
    for (int row = 0; row < fits_->model()->rowCount(); ++row) {
        const QModelIndex index = fits_->model()->index(row, column);
        const auto suggestion = std::size_t(index.data(TableModel::IdRole).toLongLong());
        const query::RunSummary* run = suggestion < runs.size() ? runs[suggestion] : nullptr;
        const QString change = wordsOf(report_->suggestions[suggestion]);
        auto* button = new QPushButton(index.data().toString());
        button->setProperty("kind", "row");
        button->setProperty(kChange, qulonglong(suggestion));
        button->setAccessibleName(button->text() + QLatin1Char(' ') + change);
        const bool isRunning = run != nullptr && run->result.status == RunStatus::Running;
        const bool isQueued = run == nullptr && suggestion < queued.size() && queued[suggestion];
        button->setToolTip(isRunning        ? tr("%1 is running").arg(change)
                           : isQueued       ? tr("%1 is queued on the Experiment page").arg(change)
                           : run != nullptr ? tr("Open the run of %1").arg(change)
                                            : tr("Run %1 and record it into this file").arg(change));
        button->setEnabled(!isRunning && !isQueued && (run != nullptr || canRun_));
        connect(button, &QPushButton::clicked, this, [this, suggestion, isRun = run != nullptr] {
            if (isRun)
                openRun(suggestion);
            else
                runVariants({std::int64_t(suggestion)});
        });
        fits_->setIndexWidget(index, button);
        QWidget::setTabOrder(before, button);
        before = button;
    }
}

// Nothing for a change that has no run.
void OomPanel::openRun(std::size_t suggestion)
{
    const std::optional<ExperimentSpec> spec = query::specOf(*run_.run);
    const std::vector<const query::RunSummary*> runs =
        spec ? runsOfChanges(*spec) : std::vector<const query::RunSummary*>();
    if (suggestion >= runs.size() || runs[suggestion] == nullptr)
        return;
    const query::RunSummary& run = *runs[suggestion];
    const QString page = explainingPage(run);
    workspace_.select({{run_.key.file, run.run}});
    emit workspace_.pageWanted(page);
}

void OomPanel::runVariants(const std::vector<std::int64_t>& rows)
{
    const std::optional<ExperimentSpec> spec = report_ ? query::specOf(*run_.run) : std::nullopt;
    if (!spec)
        return;
    WantedRuns wanted;
    wanted.name = tr("Changes that fit");
    wanted.file = QString::fromStdString(run_.file->path().string());
    wanted.onlyMissing = true; // variants that were already run are not repeated
    try {
        for (const std::int64_t row : rows) {
            const predict::Suggestion& suggestion = report_->suggestions[std::size_t(row)];
            for (ExperimentSpec& change : config::withChanges(*spec, suggestion.keys))
                if (!workspace_.isQueued(wanted.file, change))
                    wanted.specs.push_back(std::move(change));
        }
    } catch (const Error& error) { // a spec of an older version may break today's rules
        fitPanel_->setSubtitle(QString::fromStdString(error.sentence()));
        return;
    }
    if (!wanted.specs.empty())
        emit workspace_.runsWanted(wanted);
}

} // namespace tilescope::ui
