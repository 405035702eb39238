#include "ui/pages/timeline_panel.h"

#include "ui/pages/key_value_table.h"
#include "ui/plots/number_text.h"
#include "ui/plots/table_view.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QSplitter>

namespace tilescope::ui {

namespace {

QString gridText(const std::array<std::uint32_t, 3>& n)
{
    QString text = QString::number(n[0]);
    if (n[1] > 1 || n[2] > 1)
        text += QStringLiteral(" × %1").arg(n[1]);
    if (n[2] > 1)
        text += QStringLiteral(" × %1").arg(n[2]);
    return text;
}

QWidget* half()
{
    auto* widget = new QWidget;
    widget->setAutoFillBackground(true);
    widget->setBackgroundRole(QPalette::Base);
    auto* layout = new QVBoxLayout(widget);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    return widget;
}

} // namespace

TimelinePanel::TimelinePanel(Workspace& workspace, QWidget* parent) : QWidget(parent), workspace_(workspace)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* splitter = new QSplitter(Qt::Horizontal);
    splitter->setHandleWidth(1);
    splitter->setChildrenCollapsible(false);
    splitter->addWidget(makeTable());
    splitter->addWidget(makeDetails());
    splitter->setStretchFactor(0, 7);
    splitter->setStretchFactor(1, 3);
    splitter->setSizes({sizes().of(700), sizes().of(300)});
    layout->addWidget(splitter);
}

QWidget* TimelinePanel::makeTable()
{
    QWidget* widget = half();
    auto* header = new QHBoxLayout;
    header->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    header->setSpacing(sizes().of(8));
    tableTitle_ = new QLabel;
    tableTitle_->setProperty("kind", "title");
    tableTitle_->setFixedHeight(sizes().panelHeader);
    tableWords_ = new QLabel;
    tableWords_->setObjectName(QStringLiteral("span"));
    tableWords_->setProperty("kind", "dim");
    tableWords_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    header->addWidget(tableTitle_);
    header->addWidget(tableWords_, 1);
    static_cast<QVBoxLayout*>(widget->layout())->addLayout(header);
    table_ = new TableView;
    table_->setAccessibleName(tr("Kernels of the span"));
    table_->setRowHeight(22);
    widget->layout()->addWidget(table_);
    connect(table_, &TableView::chosen, this, [this](std::int64_t id) {
        if (showsFound_)
            emit foundChosen(std::size_t(id));
        else
            for (const TableRow& row : table_->table().rows)
                if (row.id == id)
                    workspace_.setKernel(row.cells.front().exact);
    });
    connect(table_, &TableView::activatedRow, this, [this] {
        if (!showsFound_)
            emit workspace_.pageWanted(QStringLiteral("kernels"));
    });
    return widget;
}

QWidget* TimelinePanel::makeDetails()
{
    QWidget* widget = half();
    detailsTitle_ = new QLabel;
    detailsTitle_->setProperty("kind", "title");
    detailsTitle_->setFixedHeight(sizes().panelHeader);
    detailsTitle_->setContentsMargins(sizes().padding, 0, 0, 0);
    detailsTitle_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    widget->layout()->addWidget(detailsTitle_);
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    details_ = new KeyValueTable;
    scroll->setWidget(details_);
    widget->layout()->addWidget(scroll);
    return widget;
}

void TimelinePanel::setRuns(std::vector<SelectedRun> runs)
{
    runs_ = std::move(runs);
    showsFound_ = false;
}

void TimelinePanel::follow(const TimelineScene& scene)
{
    followItem(scene);
    followSpan(scene);
}

// The span; without one, the range that is selected, in every run that has it; without one, the steps that
// runs are aligned at.
void TimelinePanel::followSpan(const TimelineScene& scene)
{
    struct Wanted {
        std::shared_ptr<const query::Timeline> timeline;
        query::Stretch stretch;
        QString letter;
    };
    std::vector<Wanted> wanted;
    QString title = tr("Span");
    const bool range =
        !scene.span && scene.selected &&
        scene.sections[scene.selected->section].timeline->lanes[scene.selected->item.lane].kind ==
            query::Lane::Kind::Ranges;
    if (!scene.span && showsFound_)
        return;
    for (std::size_t i = 0; i < scene.sections.size(); ++i) {
        const TimelineSection& section = scene.sections[i];
        query::Stretch stretch{0, 0};
        if (scene.span) {
            stretch = {std::int64_t(section.toTimeline(scene.span->from)),
                       std::int64_t(section.toTimeline(scene.span->to))};
        } else if (range) {
            const query::Timeline& from = *scene.sections[scene.selected->section].timeline;
            const auto item = i == scene.selected->section
                                  ? std::optional(scene.selected->item)
                                  : pairOf(from, scene.selected->item, *section.timeline);
            if (!item)
                continue;
            const query::Track& row = section.timeline->lanes[item->lane].rows[item->row];
            stretch = {row.start(item->index), row.end(item->index)};
            title = QString::fromStdString(section.timeline->names[row.name(item->index)].label);
        } else if (section.step) {
            stretch = {section.step->start, section.step->end};
            title = tr("Step %1").arg(section.step->step);
        } else {
            stretch = {0, section.timeline->length};
            title = tr("Whole run");
        }
        wanted.push_back({section.timeline, stretch, section.letter});
    }
    showsFound_ = false;
    adding_.start(
        [wanted](const query::Cancelled& cancelled) {
            std::vector<SpanOfRun> spans;
            for (const Wanted& one : wanted)
                spans.push_back(spanOf(one.timeline, one.stretch, one.letter, cancelled));
            return spans;
        },
        [this, title](const std::vector<SpanOfRun>& spans) { showSpans(title, spans); },
        [this](const QString& sentence) { tableWords_->setText(sentence); });
}

void TimelinePanel::showSpans(const QString& title, const std::vector<SpanOfRun>& spans)
{
    tableTitle_->setText(title);
    QStringList words;
    for (const SpanOfRun& span : spans)
        words << spanWords(span);
    tableWords_->setText(words.join(QStringLiteral("    ")));
    table_->setAccessibleName(tr("Kernels of the span"));
    const TableData rows = spanRows(spans);
    const bool fresh = rows.columns.size() != table_->table().columns.size();
    table_->show(rows);
    if (fresh && !rows.columns.empty())
        table_->sortByColumn(3, Qt::DescendingOrder);
}

void TimelinePanel::showFound(const QString& words, const std::vector<FoundInRun>& runs,
                              const std::vector<FoundBox>& boxes)
{
    adding_.cancel();
    showsFound_ = true;
    std::int64_t kernels = 0;
    std::int64_t ops = 0;
    std::int64_t ranges = 0;
    for (const FoundInRun& run : runs) {
        kernels += run.result.kernels;
        ops += run.result.ops;
        ranges += run.result.ranges;
    }
    tableTitle_->setText(tr("Found %1").arg(words));
    tableWords_->setText(tr("%1 kernels, %2 ops, %3 ranges; the longest first")
                             .arg(wholeNumber(kernels), wholeNumber(ops), wholeNumber(ranges)));
    table_->setAccessibleName(tr("Found boxes"));
    table_->show({});
    table_->sortByColumn(-1, Qt::DescendingOrder);
    table_->show(foundRows(runs, boxes));
}

void TimelinePanel::setCurrentFound(std::size_t box)
{
    if (showsFound_)
        table_->setCurrentId(std::int64_t(box));
}

void TimelinePanel::followItem(const TimelineScene& scene)
{
    if (!scene.selected || scene.selected->section >= runs_.size()) {
        describing_.cancel();
        detailsTitle_->setText(tr("Details"));
        details_->setRows({{tr("Click a box to see all about it."), {}}}, true);
        emit selectionText(scene.span ? tr("Span of %1").arg(timeText(scene.span->length())) : QString());
        return;
    }
    const SectionItem selected = *scene.selected;
    describing_.start(
        [run = runs_[selected.section], timeline = scene.sections[selected.section].timeline,
         item = selected.item](const query::Cancelled&) {
            return run.file->borrow()->details(run.key.run, *timeline, item);
        },
        [this](const query::ItemDetails& details) { showDetails(details); },
        [this](const QString& sentence) { detailsTitle_->setText(sentence); });
}

void TimelinePanel::showDetails(const query::ItemDetails& details)
{
    detailsTitle_->setText(QString::fromStdString(details.label));
    std::vector<KeyValueRow> rows;
    const auto add = [&rows](const QString& key, const QString& value, bool strong = false) {
        if (!value.isEmpty())
            rows.push_back({key, {value}, false, strong});
    };
    QString duration = timeText(double(details.length));
    if (details.gapBefore && *details.gapBefore > 0)
        duration += tr(", gap before it %1").arg(timeText(double(*details.gapBefore)));
    add(tr("Duration"), duration, true);
    if (details.launchedBefore)
        add(tr("Launch"),
            tr("%1 before").arg(timeText(double(*details.launchedBefore))) +
                (details.correlation ? tr(", correlation %1").arg(wholeNumber(*details.correlation))
                                     : QString()));
    add(tr("Does"), QString::fromStdString(details.does));
    add(tr("Op"),
        QString::fromStdString(details.op) +
            (details.shapes.empty() ? QString()
                                    : QStringLiteral(", ") + QString::fromStdString(details.shapes)));
    add(tr("Range"), QString::fromStdString(details.path));
    if (details.launch) {
        const LaunchConfig& launch = *details.launch;
        add(tr("Grid × block"), gridText(launch.grid) + QStringLiteral(" × ") + gridText(launch.block));
        add(tr("Registers"), tr("%1, shared %2")
                                 .arg(launch.registersPerThread)
                                 .arg(byteText(double(launch.staticShared) + launch.dynamicShared)));
    }
    if (details.bytes)
        add(tr("Bytes"), byteText(double(details.bytes->count)));
    add(tr("Name"), QString::fromStdString(details.name));
    details_->setRows(std::move(rows), true);
    emit selectionText(tr("1 selected, %1").arg(timeText(double(details.length))));
}

} // namespace tilescope::ui
