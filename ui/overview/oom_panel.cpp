#include "ui/overview/oom_panel.h"

#include "core/base/error.h"
#include "core/config/run_again.h"
#include "core/config/schema.h"
#include "core/query/run_spec.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
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
constexpr int kBlockRows = 10;

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

// From the outside in: Qt styles all of a widget again whenever it gets another parent.
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
    auto* lists = new QHBoxLayout;
    lists->setSpacing(sizes().gap);
    layout->addLayout(lists);
    holderPanel_ = new Panel(tr("Largest blocks"));
    lists->addWidget(holderPanel_, 1);
    holders_ = new TableView;
    noHolders_ = makeMessage();
    addTable(*holderPanel_, holders_, noHolders_);
    fitPanel_ = new Panel(tr("Would fit"));
    lists->addWidget(fitPanel_, 1);
    fits_ = new TableView;
    noFits_ = makeMessage();
    addTable(*fitPanel_, fits_, noFits_);
    runOne_ = new QPushButton(tr("Run selected"));
    runAll_ = new QPushButton(tr("Run all"));
    holders_->setAccessibleName(tr("Largest blocks at the failure"));
    fits_->setAccessibleName(tr("Changes that fit"));
    for (QPushButton* button : {runOne_, runAll_}) {
        button->setProperty("kind", "small");
        fitPanel_->addToHeader(button);
    }
    runOne_->setToolTip(tr("Run the selected change and record it into this file (Enter)"));
    connect(runOne_, &QPushButton::clicked, this, [this] {
        if (const auto row = fits_->currentId())
            runVariants({*row});
    });
    connect(fits_, &TableView::activatedRow, this, [this](std::int64_t row) { runVariants({row}); });
    connect(fits_, &TableView::chosen, this, [this] { runOne_->setEnabled(canRun_); });
    connect(runAll_, &QPushButton::clicked, this, [this] {
        std::vector<std::int64_t> all(report_ ? report_->suggestions.size() : 0);
        std::iota(all.begin(), all.end(), 0);
        runVariants(all);
    });
    connect(&workspace_, &Workspace::filesChanged, this, [this] {
        if (report_ && isVisible())
            showFits(); // a change that was run has its result beside it
    });
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
    runOne_->setEnabled(false);
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
    const QString notRecorded =
        run.run->param("memory") == "false"
            ? tr("Allocations were not recorded: give the run memory: true.")
            : tr("The recorded repetition of the step did not run out of memory, or none was recorded.");
    fill(*holders_, *noHolders_, holderRows(*report_), notRecorded);
    holderPanel_->setSubtitle(holders_->table().rows.empty() ? QString() : tr("at the failed request"));
    showFits();
    const auto count = std::ssize(report_->suggestions);
    fitPanel_->setSubtitle(count > 0 ? tr("%1, predicted for this device").arg(counted(count, "change"))
                                     : QString());
    canRun_ = count > 0 && query::specOf(*run.run);
    runAll_->setEnabled(canRun_);
    runAll_->setText(tr("Run all %1").arg(count));
    runAll_->setVisible(count > 1);
    runOne_->setEnabled(canRun_ && fits_->currentId().has_value());
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

void OomPanel::showFits()
{
    const std::optional<ExperimentSpec> spec = query::specOf(*run_.run);
    fill(*fits_, *noFits_,
         fitRows(*report_, spec ? runsOfChanges(*spec) : std::vector<const query::RunSummary*>()),
         tr("None of the changes tried fits, according to the predictor."));
}

void OomPanel::runVariants(const std::vector<std::int64_t>& rows)
{
    const std::optional<ExperimentSpec> spec = report_ ? query::specOf(*run_.run) : std::nullopt;
    if (!spec)
        return;
    WantedRuns wanted;
    wanted.name = tr("Changes that fit");
    wanted.file = QString::fromStdString(run_.file->path().string());
    wanted.onlyMissing = true; // a variant that was run before is there
    try {
        for (const std::int64_t row : rows) {
            const predict::Suggestion& suggestion = report_->suggestions[std::size_t(row)];
            const std::vector<ExperimentSpec> specs = config::withChanges(*spec, suggestion.keys);
            wanted.specs.insert(wanted.specs.end(), specs.begin(), specs.end());
        }
    } catch (const Error& error) { // a spec of an older version may break today's rules
        fitPanel_->setSubtitle(QString::fromStdString(error.sentence()));
        return;
    }
    emit workspace_.runsWanted(wanted);
}

} // namespace tilescope::ui
