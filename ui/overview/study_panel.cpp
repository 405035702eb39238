#include "ui/overview/study_panel.h"

#include "core/report/report.h"
#include "ui/charts/chart_plot.h"
#include "ui/charts/chart_sketch.h"
#include "ui/charts/figure_view.h"
#include "ui/charts/timeline_figure.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/layouts.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/table_view.h"
#include "ui/overview/study_rows.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <set>

namespace tilescope::ui {

namespace {

constexpr double kOneStudy = 300; // design pixels: findings and figure of the selected study
constexpr double kStudyRow = 22;
constexpr double kSketchRow = 58;          // with a small chart
constexpr std::size_t kMostSketches = 5;   // studies; with more, only the selected one has a chart
constexpr double kMostOfList = 230;        // then it scrolls
constexpr std::size_t kRunsOfOneStudy = 4; // fewer are read directly

// A figure is named by its id without the study: time, memory.
QString figureName(const report::Section& section, const report::Figure& figure)
{
    QString name = QString::fromStdString(figure.id);
    const QString prefix = QString::fromStdString(section.study) + QLatin1Char('-');
    if (name.startsWith(prefix))
        name.remove(0, prefix.size());
    return name.replace(QLatin1Char('-'), QLatin1Char(' '));
}

ChartRecipe recipeOf(const report::Figure& figure)
{
    return ChartRecipe::fromJson(QByteArray::fromStdString(figure.recipe), QString::fromStdString(figure.id));
}

std::vector<const query::RunSummary*> runsOf(const query::FileSnapshot& snapshot)
{
    std::vector<const query::RunSummary*> runs;
    for (const query::RunSummary& run : snapshot.runs)
        runs.push_back(&run);
    return runs;
}

QString findingsText(const report::Section& section)
{
    QString text;
    for (const report::Finding& finding : section.findings)
        text += QStringLiteral("<li>%1</li>").arg(QString::fromStdString(finding.text).toHtmlEscaped());
    if (text.isEmpty())
        return QObject::tr("No finding yet.");
    return QStringLiteral("<ul style=\"margin-left: 14px; -qt-list-indent: 0;\">%1</ul>").arg(text);
}

} // namespace

StudyPanel::StudyPanel(Workspace& workspace, QWidget* parent)
    : Panel(tr("Studies"), parent), workspace_(workspace)
{
    hide();
}

StudyPanel::~StudyPanel() = default;

// Builds from the outside in: Qt styles a widget and its children again whenever it gets a new parent.
void StudyPanel::makeContent()
{
    QVBoxLayout* column = makePlainColumn(nullptr);
    setContent(column);
    studies_ = new TableView;
    column->addWidget(studies_);
    auto* content = new QWidget;
    column->addWidget(content);
    content->setFixedHeight(sizes().of(kOneStudy));
    auto* row = newLayout<QHBoxLayout>(content, 0, 0);
    auto* words = new QWidget;
    row->addWidget(words, 1);
    auto* wordsLayout = new QVBoxLayout(words);
    wordsLayout->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    wordsLayout->setSpacing(sizes().of(6));
    asks_ = new QLabel;
    findings_ = new QLabel;
    wordsLayout->addWidget(asks_);
    wordsLayout->addWidget(findings_, 1);
    figureArea_ = new QWidget;
    row->addWidget(figureArea_, 1);
    auto* figureLayout = new QVBoxLayout(figureArea_);
    figureLayout->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    plot_ = std::make_unique<ChartPlot>();
    figure_ = new FigureView(*plot_);
    figureLayout->addWidget(figure_, 1);
    select_ = addLink(tr("Select runs"));
    charts_ = addLink(tr("Charts"));
    timeline_ = addLink(tr("Timeline"));
    studies_->setAccessibleName(tr("Studies of the file"));
    studies_->setRowHeight(kStudyRow);
    studies_->setMostLines(2);
    connect(studies_, &TableView::rowHeightChanged, this, &StudyPanel::fitList);
    for (QLabel* label : {asks_, findings_}) {
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    asks_->setFont(Theme::instance().bold());
    findings_->setAccessibleName(tr("Findings"));
    findings_->setTextFormat(Qt::RichText);
    findings_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    figure_->setMinimumSize(sizes().of(360), sizes().of(240));
    connect(studies_, &TableView::chosen, this, &StudyPanel::showStudy);
    connect(studies_, &TableView::activatedRow, this, &StudyPanel::selectRuns);
    connect(select_, &QPushButton::clicked, this, &StudyPanel::selectRuns);
    connect(charts_, &QPushButton::clicked, this, [this] {
        selectRuns();
        emit workspace_.pageWanted(QStringLiteral("charts"));
    });
    connect(timeline_, &QPushButton::clicked, this, &StudyPanel::showTimeline);
    connect(figure_, &FigureView::pointChosen, this, [this](const QString& uid) {
        for (const query::RunSummary& run : snapshot_->runs)
            if (run.uid == uid.toStdString())
                return select({run.uid}, explainingPage(run));
    });
    select_->setToolTip(tr("Select all runs of the study (Enter)"));
}

void StudyPanel::showRuns(const std::vector<SelectedRun>& runs)
{
    if (runs.empty())
        return;
    const SelectedRun& first = runs.front();
    if (first.key.file == file_ && first.snapshot == snapshot_)
        return; // what it shows does not depend on the selection
    if (first.key.file != file_) {
        document_.reset();
        hide();
    }
    file_ = first.key.file;
    snapshot_ = first.snapshot;
    loading_.start(
        [path = first.file->path()](const query::Cancelled&) {
            return std::make_shared<const report::Document>(report::studiesOf(path));
        },
        [this](std::shared_ptr<const report::Document> document) { show(std::move(document)); },
        [this](const QString&) { hide(); }); // the rest of the page says why the file cannot be read
}

void StudyPanel::show(std::shared_ptr<const report::Document> document)
{
    const report::Section* before = study();
    const std::string chosen = before != nullptr ? before->study : std::string();
    document_ = std::move(document);
    const std::vector<report::Section>& sections = document_->sections;
    const bool isWorth =
        sections.size() > 1 || (sections.size() == 1 && sections.front().runs.size() >= kRunsOfOneStudy);
    if (isWorth && studies_ == nullptr)
        makeContent();
    setVisible(isWorth);
    if (!isWorth)
        return;
    std::size_t ok = 0;
    std::size_t points = 0;
    for (const report::Section& section : sections) {
        ok += section.counts.ok;
        points += section.points;
    }
    setSubtitle(tr("%1, %2 of %3 ok")
                    .arg(counted(std::ssize(sections), "study", "studies"))
                    .arg(ok)
                    .arg(counted(std::int64_t(points), "point")));
    const bool hasSketches = hasSketchOfEach();
    studies_->setRowHeight(hasSketches ? kSketchRow : kStudyRow);
    studies_->setMostLines(hasSketches ? 1 : 2); // a high row wraps without that
    studies_->show(studyRows(*document_, hasSketches));
    if (hasSketches)
        addSketches();
    fitList();
    const auto same =
        std::find_if(sections.begin(), sections.end(),
                     [&chosen](const report::Section& section) { return section.study == chosen; });
    const auto charted = std::find_if(sections.begin(), sections.end(), [](const report::Section& section) {
        return !chartsOf(section).empty();
    });
    const auto chosenNow = same != sections.end()      ? same
                           : charted != sections.end() ? charted
                                                       : sections.begin();
    studies_->setCurrentId(chosenNow - sections.begin());
    showStudy();
}

// As high as its rows, but low enough for the selected study to stay visible.
void StudyPanel::fitList()
{
    const int rows = int(studies_->table().rows.size()) * studies_->verticalHeader()->defaultSectionSize();
    const int height = hasSketchOfEach() ? rows : std::min(rows, sizes().of(kMostOfList));
    studies_->setFixedHeight(sizes().header + height + 2);
}

// Several studies, few enough to have all of them on the page. The only study of a file has its whole chart below.
bool StudyPanel::hasSketchOfEach() const
{
    return document_ && document_->sections.size() > 1 && document_->sections.size() <= kMostSketches;
}

// The first chart of each study, small, beside its question.
void StudyPanel::addSketches()
{
    for (int row = 0; row < studies_->model()->rowCount(); ++row) {
        const QModelIndex index = studies_->model()->index(row, 0);
        const report::Section& section =
            document_->sections[std::size_t(index.data(TableModel::IdRole).toLongLong())];
        const std::vector<const report::Figure*> charts = chartsOf(section);
        if (charts.empty())
            continue;
        auto* sketch = new ChartSketch([document = document_, figure = charts.front(), snapshot = snapshot_] {
            const ChartRecipe recipe = recipeOf(*figure);
            return ChartSketch::Drawn(chartOf(recipe, runsOf(*snapshot)), recipe);
        });
        studies_->setIndexWidget(index, sketch);
        sketch->setAutoFillBackground(false); // the selection is visible around the paper
    }
}

const report::Section* StudyPanel::study() const
{
    const auto row = studies_ != nullptr ? studies_->currentId() : std::nullopt;
    return document_ && row && std::size_t(*row) < document_->sections.size()
               ? &document_->sections[std::size_t(*row)]
               : nullptr;
}

void StudyPanel::showStudy()
{
    const report::Section* section = study();
    if (section == nullptr)
        return;
    asks_->setText(QString::fromStdString(section->asks));
    findings_->setText(findingsText(*section));
    delete figures_;
    figures_ = nullptr;
    const std::vector<const report::Figure*> charts = chartsOf(*section);
    if (charts.size() > 1) {
        QStringList names;
        for (const report::Figure* figure : charts)
            names << figureName(*section, *figure);
        figures_ = new SegmentedControl(names);
        static_cast<QVBoxLayout*>(figureArea_->layout())->insertWidget(0, figures_, 0, Qt::AlignLeft);
        connect(figures_, &SegmentedControl::changed, this, &StudyPanel::showFigure);
    }
    timeline_->setEnabled(std::any_of(section->figures.begin(), section->figures.end(), isTimeline));
    timeline_->setToolTip(timeline_->isEnabled() ? tr("Show the runs of the study's timelines")
                                                 : tr("The study has no timeline figure"));
    showFigure();
}

void StudyPanel::showFigure()
{
    const report::Section* section = study();
    const std::vector<const report::Figure*> charts = chartsOf(*section);
    const std::size_t at = figures_ != nullptr ? std::size_t(figures_->current()) : 0;
    if (at >= charts.size()) {
        figure_->setPaper({}, tr("The study has no chart; its tables are in the report."));
        return;
    }
    const ChartRecipe recipe = recipeOf(*charts[at]);
    chart_ = chartOf(recipe, runsOf(*snapshot_));
    plot_->show(chart_, recipe);
    figure_->setPaper(chart_.series.empty() ? QSize() : ChartPlot::paperSize(recipe), chart_.empty);
    figure_->setToolTip(QString::fromStdString(charts[at]->caption));
    figure_->describe(QString::fromStdString(charts[at]->caption));
}

void StudyPanel::select(const std::vector<std::string>& uids, const QString& page)
{
    const std::set<std::string> wanted(uids.begin(), uids.end());
    std::vector<RunKey> keys;
    for (const query::RunSummary& run : snapshot_->runs)
        if (wanted.contains(run.uid))
            keys.push_back({file_, run.run});
    if (keys.empty())
        return;
    workspace_.select(std::move(keys));
    if (!page.isEmpty())
        emit workspace_.pageWanted(page);
}

void StudyPanel::selectRuns()
{
    if (const report::Section* section = study())
        select(section->runs, {});
}

void StudyPanel::showTimeline()
{
    const report::Section* section = study();
    if (section == nullptr)
        return;
    const auto found = std::find_if(section->figures.begin(), section->figures.end(), isTimeline);
    if (found == section->figures.end())
        return;
    const TimelineRecipe recipe =
        TimelineRecipe::fromJson(QByteArray::fromStdString(found->recipe), QString::fromStdString(found->id));
    std::vector<std::string> uids;
    for (const QString& uid : recipe.runs)
        uids.push_back(uid.toStdString());
    select(uids, QStringLiteral("timeline"));
}

} // namespace tilescope::ui
