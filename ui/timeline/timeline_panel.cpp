#include "ui/timeline/timeline_panel.h"

#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/layouts.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"
#include "ui/timeline/lane_arrangement.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>

namespace tilescope::ui {

namespace {

constexpr const char* kNotRecorded = "not recorded";

QString gridText(const std::array<std::uint32_t, 3>& n)
{
    QString text = QString::number(n[0]);
    if (n[1] > 1 || n[2] > 1)
        text += QStringLiteral(" × %1").arg(n[1]);
    if (n[2] > 1)
        text += QStringLiteral(" × %1").arg(n[2]);
    return text;
}

QWidget* makeHalf(QSplitter& splitter)
{
    auto* widget = new QWidget(&splitter);
    widget->setAutoFillBackground(true);
    widget->setBackgroundRole(QPalette::Base);
    newLayout<QVBoxLayout>(widget, 0, 0);
    return widget;
}

} // namespace

TimelinePanel::TimelinePanel(Workspace& workspace, QWidget* parent) : QWidget(parent), workspace_(workspace)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* splitter = new QSplitter(Qt::Horizontal, this);
    splitter->setHandleWidth(1);
    splitter->setChildrenCollapsible(false);
    fillTable(*makeHalf(*splitter));
    fillDetails(*makeHalf(*splitter));
    splitter->setStretchFactor(0, 7);
    splitter->setStretchFactor(1, 3);
    splitter->setSizes({sizes().of(700), sizes().of(300)});
    layout->addWidget(splitter);
}

void TimelinePanel::fillTable(QWidget& half)
{
    auto* header = new QHBoxLayout;
    header->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    header->setSpacing(sizes().of(8));
    tableTitle_ = new TitleLabel({}, &half);
    tableTitle_->setProperty("kind", "title");
    tableTitle_->setFixedHeight(sizes().panelHeader);
    tableWords_ = new ElidedLabel(&half);
    tableWords_->setObjectName(QStringLiteral("span"));
    header->addWidget(tableTitle_);
    header->addWidget(tableWords_, 1);
    filter_ = new QPushButton(tr("Filter pages"), &half);
    filter_->setToolTip(tr("Flame, Kernels, Memory and Ranks show only this span (T)"));
    connect(filter_, &QPushButton::clicked, this, &TimelinePanel::filterWanted);
    flame_ = new QPushButton(tr("Flame graph"), &half);
    flame_->setToolTip(tr("Show the page Flame for this span"));
    connect(flame_, &QPushButton::clicked, this, &TimelinePanel::flameWanted);
    for (QPushButton* link : {filter_, flame_}) {
        link->setProperty("kind", "link");
        link->setFocusPolicy(Qt::TabFocus);
        link->hide();
        header->addWidget(link);
    }
    static_cast<QVBoxLayout*>(half.layout())->addLayout(header);
    table_ = new TableView(&half);
    table_->setAccessibleName(tr("Kernels of the span"));
    table_->setRowHeight(22);
    half.layout()->addWidget(table_);
    connect(table_, &TableView::chosen, this, [this](std::int64_t id) {
        if (shows_ == Shows::Found)
            emit foundChosen(std::size_t(id));
        else if (shows_ == Shows::Notes)
            emit noteChosen(std::size_t(id));
        else if (shows_ == Shows::Path)
            emit segmentChosen(std::size_t(id));
        else
            for (const TableRow& row : table_->table().rows)
                if (row.id == id)
                    workspace_.setKernel(row.cells.front().exact);
    });
    connect(table_, &TableView::activatedRow, this, [this](std::int64_t id) {
        if (shows_ == Shows::Span)
            emit workspace_.pageWanted(QStringLiteral("kernels"));
        else if (shows_ == Shows::Notes)
            emit noteEdited(std::size_t(id));
    });
    const auto remove = [this] {
        if (const auto id = table_->currentId(); id && shows_ == Shows::Notes)
            emit noteRemoved(std::size_t(*id));
    };
    addKey(*table_, tr("Remove the note (in their list)"), {QKeySequence(QKeySequence::Delete)}, remove,
           Qt::WidgetShortcut, tr("Timeline: notes"));
}

void TimelinePanel::fillDetails(QWidget& half)
{
    auto* header = new QHBoxLayout;
    header->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    header->setSpacing(sizes().of(8));
    detailsSwatch_ = new QLabel(&half);
    detailsTitle_ = new TitleLabel({}, &half);
    detailsTitle_->setObjectName(QStringLiteral("details"));
    detailsTitle_->setProperty("kind", "title");
    detailsTitle_->setFixedHeight(sizes().panelHeader);
    detailsTitle_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    header->addWidget(detailsSwatch_);
    header->addWidget(detailsTitle_, 1);
    static_cast<QVBoxLayout*>(half.layout())->addLayout(header);
    auto* scroll = new QScrollArea(&half);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    details_ = new KeyValueTable(scroll);
    scroll->setWidget(details_);
    scroll->setFocusPolicy(Qt::NoFocus); // the rows take it
    details_->setAccessibleName(tr("Details of the selected box"));
    half.layout()->addWidget(scroll);
    links_ = new QWidget(&half);
    auto* row = new QHBoxLayout(links_);
    row->setContentsMargins(sizes().padding, sizes().of(4), sizes().padding, sizes().of(6));
    row->setSpacing(sizes().of(14));
    row->addStretch(1);
    links_->hide();
    half.layout()->addWidget(links_);
}

void TimelinePanel::setRuns(std::vector<SelectedRun> runs)
{
    runs_ = std::move(runs);
}

void TimelinePanel::setLinks(const std::vector<TimelineLink>& links)
{
    auto* row = static_cast<QHBoxLayout*>(links_->layout());
    std::vector<QPushButton*> buttons;
    for (QObject* child : links_->children())
        if (auto* button = qobject_cast<QPushButton*>(child))
            buttons.push_back(button);
    // Buttons are reused, so that they keep the keyboard focus.
    while (buttons.size() < links.size()) {
        auto* button = new QPushButton(links_);
        button->setProperty("kind", "link");
        button->setFocusPolicy(Qt::TabFocus);
        row->insertWidget(int(buttons.size()), button);
        buttons.push_back(button);
    }
    for (std::size_t i = 0; i < buttons.size(); ++i) {
        buttons[i]->setVisible(i < links.size());
        buttons[i]->disconnect();
        if (i >= links.size())
            continue;
        buttons[i]->setText(links[i].text);
        buttons[i]->setToolTip(links[i].tip);
        connect(buttons[i], &QPushButton::clicked, links[i].does, &QAction::trigger);
    }
    links_->setVisible(!links.empty());
}

void TimelinePanel::follow(const TimelineScene& scene)
{
    followItem(scene);
    followSpan(scene);
}

namespace {

struct Wanted {
    TimelineSection section;
    query::Stretch stretch{0, 0};
    ProcessIndex process = {}; ///< whose activity counts; none: that of all
    bool shown = true;
    std::optional<std::size_t> lane = {}; ///< only its boxes count
};

// The lane that the keyboard's commands are about, if its boxes are kernels or ops.
std::optional<LanePlace> chosenLane(const TimelineScene& scene)
{
    if (!scene.span || !scene.currentLane)
        return {};
    const TimelineSection& section = scene.sections[scene.currentLane->section];
    using Kind = query::Lane::Kind;
    const Kind kind = section.timeline->lanes[section.lanes[scene.currentLane->view].lane].kind;
    return kind == Kind::Stream || kind == Kind::Thread ? scene.currentLane : std::nullopt;
}

// The same lane of another run.
std::optional<std::size_t> laneLike(const TimelineScene& scene, const LanePlace& place,
                                    const query::Timeline& timeline)
{
    const TimelineSection& section = scene.sections[place.section];
    const std::string key = laneKey(*section.timeline, section.lanes[place.view].lane);
    for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane)
        if (laneKey(timeline, lane) == key)
            return lane;
    return {};
}

// The positions of a range in every run that has it.
void findRanges(std::vector<Wanted>& wanted, std::size_t own, const query::TimelineItem& item)
{
    const query::Timeline& from = *wanted[own].section.timeline;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const query::Timeline& timeline = *wanted[i].section.timeline;
        const auto found = i == own ? std::optional(item) : pairOf(from, item, timeline);
        wanted[i].shown = found.has_value();
        if (!found)
            continue;
        const query::Track& row = timeline.lanes[found->lane].rows[found->row];
        wanted[i].stretch = {row.start(found->index), row.end(found->index)};
        wanted[i].process = timeline.lanes[found->lane].process;
    }
}

struct Spans {
    std::vector<SpanOfRun> runs;
    std::vector<std::optional<TimeWindow>> ranges;
};

} // namespace

// The span; without one, the range that is selected, in every run that has it; without one, the steps that
// runs are aligned at. A range and a step are those of one process.
void TimelinePanel::followSpan(const TimelineScene& scene)
{
    if (shows_ == Shows::Path || (shows_ != Shows::Span && (keeps_ || (!scene.span && !scene.selected))))
        return;
    shows_ = Shows::Span;
    for (QPushButton* link : {filter_, flame_})
        link->setVisible(scene.span.has_value());
    std::vector<Wanted> wanted;
    const std::optional<LanePlace> lane = chosenLane(scene);
    QString title = tr("Whole run");
    std::optional<SectionItem> range;
    if (scene.span) {
        title = tr("Span");
        if (lane) {
            const TimelineSection& section = scene.sections[lane->section];
            title += QStringLiteral(", ") +
                     QString::fromStdString(section.timeline->lanes[section.lanes[lane->view].lane].title);
        }
    } else if (scene.selected &&
               scene.sections[scene.selected->section].timeline->lanes[scene.selected->item.lane].kind ==
                   query::Lane::Kind::Ranges) {
        range = scene.selected;
        const query::Timeline& timeline = *scene.sections[range->section].timeline;
        const query::Track& row = timeline.lanes[range->item.lane].rows[range->item.row];
        title = QString::fromStdString(timeline.names[row.name(range->item.index)].text);
    }
    for (const TimelineSection& section : scene.sections) {
        Wanted one{section, {0, section.timeline->length}};
        for (const auto& [process, of] : section.timeline->processes)
            if (of == process_)
                one.process = process;
        if (scene.span) {
            one.stretch = {std::int64_t(section.toTimeline(scene.span->from)),
                           std::int64_t(section.toTimeline(scene.span->to))};
        } else if (section.step && !range) {
            one.stretch = {section.step->start, section.step->end};
            one.process = section.step->process;
            title = QString::fromStdString(section.timeline->titleOf(*section.step));
            title[0] = title[0].toUpper();
        }
        if (lane) {
            one.lane = laneLike(scene, *lane, *section.timeline);
            one.shown = one.lane.has_value();
        }
        wanted.push_back(std::move(one));
    }
    adding_.start(
        [wanted, range](const query::Cancelled& cancelled) mutable {
            if (range)
                findRanges(wanted, range->section, range->item);
            Spans spans;
            for (const Wanted& one : wanted) {
                if (one.shown) {
                    spans.runs.push_back(spanOf(one.section.timeline, one.stretch, one.section.letter,
                                                cancelled, one.process, one.lane));
                    spans.runs.back().verdict = one.section.verdict;
                }
                if (range)
                    spans.ranges.push_back(
                        one.shown ? std::optional(TimeWindow{one.section.toAxis(double(one.stretch.first)),
                                                             one.section.toAxis(double(one.stretch.second))})
                                  : std::nullopt);
            }
            return spans;
        },
        [this, title](const Spans& spans) {
            showSpans(title, spans.runs);
            emit rangesFound(spans.ranges);
        },
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

void TimelinePanel::showOther(Shows shows, const QString& title, const QString& words, const QString& name,
                              const TableData& rows)
{
    adding_.cancel();
    shows_ = shows;
    filter_->hide();
    flame_->hide();
    tableTitle_->setText(title);
    tableWords_->setText(words);
    table_->setAccessibleName(name);
    table_->show({});
    table_->sortByColumn(-1, Qt::DescendingOrder);
    table_->show(rows);
}

void TimelinePanel::showFound(const QString& words, const std::vector<FoundInRun>& runs,
                              const std::vector<FoundBox>& boxes)
{
    std::int64_t kernels = 0;
    std::int64_t ops = 0;
    std::int64_t ranges = 0;
    std::int64_t frames = 0;
    for (const FoundInRun& run : runs) {
        kernels += run.result.kernels;
        ops += run.result.ops;
        ranges += run.result.ranges;
        frames += run.result.frames;
    }
    QStringList counts{counted(kernels, "kernel"), counted(ops, "op"), counted(ranges, "range")};
    if (frames > 0)
        counts << counted(frames, "Python call");
    showOther(Shows::Found, tr("Found %1").arg(words),
              tr("%1; the longest first").arg(counts.join(QStringLiteral(", "))), tr("Found boxes"),
              foundRows(runs, boxes));
}

void TimelinePanel::showNotes(const std::vector<NoteRow>& notes)
{
    showOther(Shows::Notes, tr("Notes"),
              notes.empty()
                  ? tr("none yet: press B to add one")
                  : tr("%1; Enter edits, Delete removes one").arg(counted(std::ssize(notes), "note")),
              tr("Notes"), noteRows(notes));
}

void TimelinePanel::showPath(const QString& title, const QString& words, const TableData& segments)
{
    showOther(Shows::Path, title, words, tr("Segments of the critical path"), segments);
}

void TimelinePanel::setCurrentFound(std::size_t box)
{
    if (shows_ == Shows::Found)
        table_->setCurrentId(std::int64_t(box));
}

void TimelinePanel::followItem(const TimelineScene& scene)
{
    if (!scene.selected || scene.selected->section >= runs_.size()) {
        describing_.cancel();
        detailsTitle_->setText(tr("Details"));
        detailsSwatch_->hide();
        details_->setRows({{tr("Click a box to see its details."), {}}}, true);
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

namespace {

QString text(const std::string& words)
{
    return QString::fromStdString(words);
}

QString achievedText(const query::Achieved& achieved)
{
    QStringList rates;
    if (achieved.flops && *achieved.flops > 0)
        rates << quantityText(*achieved.flops, quantity::Unit::FlopsPerSecond);
    if (achieved.bytes)
        rates << quantityText(*achieved.bytes, quantity::Unit::BytesPerSecond);
    if (rates.isEmpty())
        return QString();
    QString words = rates.join(QStringLiteral(", "));
    if (achieved.kernels > 1)
        words += QObject::tr(" (%1, %2)").arg(text(achieved.op), counted(achieved.kernels, "kernel"));
    return words;
}

QString occupancyText(const query::ItemDetails& details)
{
    if (!details.occupancy)
        return QObject::tr("unknown: ") + text(details.noOccupancy);
    const std::string_view limit = wordOf(details.occupancy->limit);
    return QObject::tr("at most %1 (%2)")
        .arg(percentText(details.occupancy->share), QString::fromUtf8(limit));
}

using AddRow = std::function<void(const QString& key, const QString& value)>;

void addLaunch(const query::ItemDetails& details, const AddRow& add)
{
    const LaunchConfig& launch = *details.launch;
    const QString notRecorded = QObject::tr(kNotRecorded);
    const bool hasGrid = launch.block[0] > 0;
    QString grid = gridText(launch.grid) + QStringLiteral(" of ") + gridText(launch.block);
    if (details.waves)
        grid += QStringLiteral(", ") + threeDigits(*details.waves) +
                (*details.waves == 1 ? QObject::tr(" wave") : QObject::tr(" waves"));
    add(QObject::tr("Grid, block"), hasGrid ? grid : notRecorded);
    add(QObject::tr("Registers"), launch.registersPerThread > 0
                                      ? QObject::tr("%1 per thread").arg(launch.registersPerThread)
                                      : notRecorded);
    QString shared = byteText(double(launch.staticShared) + launch.dynamicShared);
    if (launch.localPerThread > 0)
        shared += QObject::tr(", local %1 per thread").arg(byteText(launch.localPerThread));
    add(QObject::tr("Shared memory"), hasGrid ? shared : notRecorded);
    add(QObject::tr("Occupancy"), occupancyText(details));
}

// The rows of a box of that kind; missing values are marked "not recorded".
void addWhatItDoes(const query::ItemDetails& details, const AddRow& add)
{
    const bool device = details.lane == query::Lane::Kind::Stream;
    const QString notRecorded = QObject::tr(kNotRecorded);
    if (!device && details.lane != query::Lane::Kind::Thread)
        return;
    QString op = text(details.op);
    if (device && op.isEmpty())
        op = notRecorded;
    add(QObject::tr("Op"), op);
    if (!details.shapes.empty())
        add(QObject::tr("Shapes"), text(details.shapes));
    else if (device || details.op.empty())
        add(QObject::tr("Shapes"), notRecorded);
    if (details.launch)
        addLaunch(details, add);
    if (details.bytes)
        add(QObject::tr("Bytes"), byteText(double(details.bytes->count)));
    const QString achieved = achievedText(details.achieved);
    add(QObject::tr("Achieved"), achieved.isEmpty() ? text(details.achieved.why) : achieved);
    if (device) {
        add(QObject::tr("Launch"),
            details.launchedBefore ? QObject::tr("%1 before").arg(timeText(double(*details.launchedBefore)))
                                   : notRecorded);
        if (details.correlation)
            add(QObject::tr("Correlation"), wholeNumber(*details.correlation));
        add(QObject::tr("Does"), text(details.does));
    }
}

// The calls that were open, a line each, innermost first.
void addStack(const query::ItemDetails& details, std::vector<KeyValueRow>& rows)
{
    const bool device = details.lane == query::Lane::Kind::Stream;
    for (std::size_t i = 0; i < details.stack.size(); ++i)
        rows.push_back({i > 0    ? QString()
                        : device ? QObject::tr("Launched by")
                                 : QObject::tr("Called by"),
                        {text(details.stack[i])}});
}

} // namespace

void TimelinePanel::showDetails(const query::ItemDetails& details)
{
    detailsTitle_->setText(text(details.label));
    QPixmap swatch(sizes().of(10), sizes().of(10));
    swatch.fill(colours().hue(details.hue));
    detailsSwatch_->setPixmap(swatch);
    detailsSwatch_->setVisible(details.lane != query::Lane::Kind::Ranges);
    std::vector<KeyValueRow> rows;
    const AddRow add = [&rows](const QString& key, const QString& value) {
        if (!value.isEmpty())
            rows.push_back({key, {value}, false, rows.empty()});
    };
    QString duration = timeText(double(details.length));
    if (details.gapBefore && *details.gapBefore > 0)
        duration += tr(", gap before it %1").arg(timeText(double(*details.gapBefore)));
    add(tr("Duration"), duration);
    addWhatItDoes(details, add);
    add(tr("Module"), text(details.module));
    add(tr("Range"), text(details.path));
    add(tr("Time"),
        tr("%1 to %2 of the run").arg(exactTime(details.start), exactTime(details.start + details.length)));
    add(tr("Name"), text(details.name));
    addStack(details, rows);
    details_->setRows(std::move(rows), true);
    emit selectionText(tr("1 selected, %1").arg(timeText(double(details.length))));
}

} // namespace tilescope::ui
