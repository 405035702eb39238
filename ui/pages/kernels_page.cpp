#include "ui/pages/kernels_page.h"

#include "ui/models/kernel_rows.h"
#include "ui/pages/controls.h"
#include "ui/pages/panel.h"
#include "ui/plots/histogram_plot.h"
#include "ui/plots/number_text.h"
#include "ui/plots/table_view.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

enum Grouping { ByName, ByFamily, ByRange, ByModule, ByPhase };

// What the file's own tables add up by; none where the timeline's rows suffice.
std::optional<query::Grouping> fileGrouping(int grouping)
{
    switch (grouping) {
    case ByRange:
        return query::Grouping::Range;
    case ByModule:
        return query::Grouping::Module;
    case ByPhase:
        return query::Grouping::Phase;
    default:
        return {};
    }
}

constexpr int kAllSteps = -2;

} // namespace

KernelsPage::KernelsPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent),
      grouping_(new Segments({tr("name"), tr("family"), tr("range"), tr("module"), tr("phase")})),
      filter_(makeFindField(tr("Filter by name, family…"), tr("Filter kernels"))),
      step_(new ComboBox(tr("Step"))), summary_(new QLabel), stack_(new QStackedWidget),
      message_(makeMessage()), table_(new TableView), histogramPanel_(new Panel(tr("Durations"))),
      histogram_(new HistogramPlot), showOnTimeline_(nullptr), familyTable_(new TableView)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->addWidget(table_);
    splitter->addWidget(makePanels());
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    splitter->setHandleWidth(1);
    stack_->addWidget(message_);
    stack_->addWidget(splitter);
    layout->addWidget(stack_, 1);
    table_->setAccessibleName(tr("Kernels"));
    table_->sortByColumn(int(KernelColumn::Total), Qt::DescendingOrder);
    connect(table_, &TableView::chosen, this, &KernelsPage::chooseRow);
    connect(table_, &TableView::activatedRow, this,
            [this] { emit this->workspace().pageWanted(QStringLiteral("timeline")); });
    connect(&workspace, &Workspace::kernelChanged, this, &KernelsPage::followKernel);
}

QWidget* KernelsPage::makeTools()
{
    auto* tools = new ToolBar;
    tools->addWord(tr("Group by"));
    tools->add(grouping_);
    tools->addGap();
    filter_->setMinimumWidth(sizes().of(200));
    filter_->setToolTip(tr("Keep rows that have every word (/)"));
    tools->add(filter_);
    step_->setMinimumWidth(sizes().of(96));
    tools->add(step_);
    tools->addStretch();
    summary_->setProperty("kind", "dim");
    tools->add(summary_);
    connect(grouping_, &Segments::changed, this, &KernelsPage::load);
    connect(step_, &QComboBox::activated, this, &KernelsPage::load);
    connect(filter_, &QLineEdit::textChanged, this,
            [this](const QString& words) { table_->filter().setWords(words); });
    return tools;
}

QWidget* KernelsPage::makePanels()
{
    auto* panels = new QWidget;
    auto* layout = new QHBoxLayout(panels);
    const int margin = sizes().of(12);
    layout->setContentsMargins(sizes().margin, margin, sizes().margin, margin);
    layout->setSpacing(sizes().gap);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(8), sizes().of(8));
    content->addWidget(histogram_, 1);
    showOnTimeline_ = new QPushButton(tr("Show on timeline"));
    showOnTimeline_->setProperty("kind", "link");
    showOnTimeline_->setCursor(Qt::PointingHandCursor);
    content->addWidget(showOnTimeline_, 0, Qt::AlignLeft);
    histogramPanel_->setContent(content);
    layout->addWidget(histogramPanel_, 3);
    auto* families = new Panel(tr("Families"));
    families->setSubtitle(tr("GPU time"));
    families->setContent(familyTable_);
    families->setMinimumWidth(sizes().of(240));
    layout->addWidget(families, 2);
    connect(showOnTimeline_, &QPushButton::clicked, this,
            [this] { emit workspace().pageWanted(QStringLiteral("timeline")); });
    connect(familyTable_, &TableView::chosen, this, [this](std::int64_t hue) {
        const std::string_view word = hueWord(query::Hue(hue));
        filter_->setText(QString::fromUtf8(word.data(), qsizetype(word.size())));
    });
    return panels;
}

void KernelsPage::startFind()
{
    filter_->setFocus();
    filter_->selectAll();
}

void KernelsPage::showMessage(const QString& text)
{
    message_->setText(text);
    stack_->setCurrentWidget(message_);
}

void KernelsPage::showRuns(const std::vector<SelectedRun>& runs)
{
    run_.reset();
    shown_ = {};
    if (runs.empty()) {
        loading_.cancel();
        showMessage(
            emptyText(tr("A run traced on a GPU lists its kernels, copies and memsets on this page.")));
        return;
    }
    run_ = runs.front();
    step_->clear();
    load();
}

std::optional<query::Stretch> KernelsPage::stretch() const
{
    const int wanted = step_->count() > 0 ? step_->currentData().toInt() : kAllSteps;
    if (!shown_.timeline || wanted == kAllSteps)
        return {};
    // A step's kernels are those that start before the next step does.
    const std::vector<query::TimelineStep>& steps = shown_.timeline->steps;
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i].step == wanted)
            return query::Stretch{steps[i].start,
                                  i + 1 < steps.size() ? steps[i + 1].start : shown_.timeline->length + 1};
    return {};
}

void KernelsPage::load()
{
    if (!run_)
        return;
    loading_.start(
        [run = *run_, within = stretch(),
         grouping = fileGrouping(grouping_->current())](const query::Cancelled& cancelled) {
            Loaded loaded;
            loaded.timeline = run.file->timeline(run.key.run, cancelled);
            if (loaded.timeline)
                loaded.stats = kernelStats(*loaded.timeline, within, cancelled);
            if (grouping && !cancelled())
                loaded.grouped = run.file->borrow()->kernelGroups(run.key.run, *grouping);
            return loaded;
        },
        [this](Loaded loaded) { this->loaded(std::move(loaded)); },
        [this](const QString& sentence) { showMessage(sentence); });
}

void KernelsPage::loaded(Loaded loaded)
{
    shown_ = std::move(loaded);
    if (!shown_.timeline)
        return;
    if (step_->count() == 0)
        fillSteps();
    families_ = byHue(shown_.stats);
    if (shown_.stats.empty()) {
        showMessage(tr("No device activity was recorded in this run.\nOn a CPU the timeline's ops tell where "
                       "the time goes."));
        return;
    }
    if (shown_.grouped)
        table_->show(groupRows(*shown_.grouped, grouping_->current() == ByPhase    ? tr("Phase")
                                                : grouping_->current() == ByModule ? tr("Module")
                                                                                   : tr("Range")));
    else
        table_->show(grouping_->current() == ByFamily ? kernelRows(*shown_.timeline, families_, true)
                                                      : kernelRows(*shown_.timeline, shown_.stats, false));
    familyTable_->show(familyRows(families_));
    std::int64_t instances = 0;
    std::int64_t total = 0;
    for (const query::KernelStat& stat : shown_.stats) {
        instances += stat.instances;
        total += stat.total;
    }
    summary_->setText(tr("%1 kernels, %2 instances, %3 GPU time")
                          .arg(wholeNumber(std::int64_t(shown_.stats.size())), wholeNumber(instances),
                               timeText(double(total))));
    stack_->setCurrentIndex(1);
    if (workspace().kernel().isEmpty() && !shown_.stats.empty())
        workspace().setKernel(QString::fromStdString(shown_.timeline->names[shown_.stats.front().name].text));
    followKernel();
}

void KernelsPage::fillSteps()
{
    step_->addItem(tr("all steps"), kAllSteps);
    for (const query::TimelineStep& step : shown_.timeline->steps)
        step_->addItem(tr("step %1").arg(step.step), step.step);
}

void KernelsPage::chooseRow(std::int64_t id)
{
    if (!shown_.timeline || shown_.grouped || grouping_->current() != ByName)
        return;
    workspace().setKernel(
        QString::fromStdString(shown_.timeline->names[shown_.stats[std::size_t(id)].name].text));
}

void KernelsPage::followKernel()
{
    if (!shown_.timeline)
        return;
    const std::string wanted = workspace().kernel().toStdString();
    for (std::size_t i = 0; i < shown_.stats.size(); ++i) {
        const query::KernelStat& stat = shown_.stats[i];
        const query::TimelineName& name = shown_.timeline->names[stat.name];
        if (name.text != wanted)
            continue;
        if (!shown_.grouped && grouping_->current() == ByName)
            table_->setCurrentId(std::int64_t(i));
        histogramPanel_->setTitle(QString::fromStdString(name.label));
        histogramPanel_->setSubtitle(tr("%1 instances").arg(wholeNumber(stat.instances)));
        std::vector<std::int64_t> lengths;
        for (const query::Instance& instance : instancesOf(*shown_.timeline, stat.name, stretch()))
            lengths.push_back(instance.length);
        histogram_->show(std::move(lengths), stat.hue);
        emit selectionText(tr("1 kernel selected, %1 instances, %2")
                               .arg(wholeNumber(stat.instances), timeText(double(stat.total))));
        return;
    }
    histogramPanel_->setTitle(tr("Durations"));
    histogramPanel_->setSubtitle(tr("select a kernel"));
    histogram_->show({}, query::Hue::Other);
}

} // namespace tilescope::ui
