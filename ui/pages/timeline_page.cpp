#include "ui/pages/timeline_page.h"

#include "ui/pages/controls.h"
#include "ui/pages/key_value_table.h"
#include "ui/plots/number_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>

namespace tilescope::ui {

namespace {

QPushButton* toolButton(const QString& text, const QString& tip)
{
    auto* button = new QPushButton(text);
    button->setToolTip(tip);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

QString gridText(const std::array<std::uint32_t, 3>& n)
{
    QString text = QString::number(n[0]);
    if (n[1] > 1 || n[2] > 1)
        text += QStringLiteral(" × %1").arg(n[1]);
    if (n[2] > 1)
        text += QStringLiteral(" × %1").arg(n[2]);
    return text;
}

} // namespace

TimelinePage::TimelinePage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), alignment_(new ComboBox(tr("Align runs at"))), back_(nullptr),
      forward_(nullptr), stack_(new QStackedWidget), message_(new QLabel), view_(new TimelineView),
      splitter_(new QSplitter(Qt::Vertical)), detailsTitle_(new QLabel), details_(new KeyValueTable)
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeTools());
    message_->setAlignment(Qt::AlignCenter);
    message_->setProperty("kind", "dim");
    message_->setWordWrap(true);

    auto* below = new QFrame;
    auto* belowLayout = new QVBoxLayout(below);
    belowLayout->setContentsMargins(0, 0, 0, 0);
    belowLayout->setSpacing(0);
    detailsTitle_->setProperty("kind", "title");
    detailsTitle_->setFixedHeight(sizes().panelHeader);
    detailsTitle_->setContentsMargins(sizes().padding, 0, 0, 0);
    belowLayout->addWidget(detailsTitle_);
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidget(details_);
    belowLayout->addWidget(scroll, 1);
    below->setAutoFillBackground(true);
    below->setBackgroundRole(QPalette::Base);

    splitter_->addWidget(view_);
    splitter_->addWidget(below);
    splitter_->setStretchFactor(0, 1);
    splitter_->setHandleWidth(1);
    splitter_->setSizes({sizes().of(600), sizes().of(200)});
    splitter_->setChildrenCollapsible(true);
    stack_->addWidget(message_);
    stack_->addWidget(splitter_);
    layout->addWidget(stack_, 1);

    connect(view_, &TimelineView::cursorMoved, this, &Page::cursorText);
    connect(view_, &TimelineView::selectionChanged, this, &TimelinePage::describeSelection);
    connect(view_, &TimelineView::spanChanged, this, &TimelinePage::describeSelection);
    connect(view_, &TimelineView::windowChanged, this, [this] {
        back_->setEnabled(view_->canGoBack());
        forward_->setEnabled(view_->canGoForward());
    });
}

QWidget* TimelinePage::makeTools()
{
    auto* bar = new QFrame;
    bar->setProperty("kind", "bar");
    bar->setFixedHeight(sizes().tools);
    auto* layout = new QHBoxLayout(bar);
    layout->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    layout->setSpacing(sizes().of(8));
    auto* align = new QLabel(tr("Align"));
    align->setProperty("kind", "dim");
    layout->addWidget(align);
    alignment_->setMinimumWidth(sizes().of(90));
    layout->addWidget(alignment_);
    layout->addStretch(1);
    auto* zoom = new QLabel(tr("Zoom"));
    zoom->setProperty("kind", "dim");
    layout->addWidget(zoom);
    back_ = toolButton({}, tr("Back to the window before (Alt+Left)"));
    forward_ = toolButton({}, tr("Forward again (Alt+Right)"));
    back_->setProperty("kind", "icon");
    forward_->setProperty("kind", "icon");
    back_->setProperty("segment", "first");
    forward_->setProperty("segment", "last");
    back_->setAccessibleName(tr("Zoom back"));
    forward_->setAccessibleName(tr("Zoom forward"));
    back_->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Left));
    forward_->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Right));
    auto* pair = new QHBoxLayout;
    pair->setSpacing(0);
    pair->addWidget(back_);
    pair->addWidget(forward_);
    layout->addLayout(pair);
    auto* fit = toolButton(tr("Fit"), tr("Show the traced steps (F)"));
    layout->addWidget(fit);
    const auto dress = [this] {
        const int side = sizes().of(14);
        back_->setIcon(makeIcon(Icon::Back, colours().text, side));
        forward_->setIcon(makeIcon(Icon::Forward, colours().text, side));
    };
    dress();
    connect(&Theme::instance(), &Theme::changed, this, dress);
    connect(back_, &QPushButton::clicked, view_, &TimelineView::back);
    connect(forward_, &QPushButton::clicked, view_, &TimelineView::forward);
    connect(fit, &QPushButton::clicked, view_, &TimelineView::fit);
    connect(alignment_, &QComboBox::activated, this, &TimelinePage::align);
    return bar;
}

void TimelinePage::showMessage(const QString& text)
{
    message_->setText(text);
    stack_->setCurrentWidget(message_);
}

void TimelinePage::showRuns(const std::vector<SelectedRun>& runs)
{
    if (runs.empty()) {
        loading_.cancel();
        view_->setSections({});
        showMessage(emptyText(tr("A traced run shows its steps, ops, kernels and memory on this page.")));
        return;
    }
    loading_.start(
        [runs](const query::Cancelled& cancelled) {
            Timelines timelines;
            for (const SelectedRun& run : runs)
                if (!cancelled())
                    timelines.push_back(run.file->timeline(run.key.run, cancelled));
            return timelines;
        },
        [this, runs](const Timelines& timelines) { loaded(runs, timelines); },
        [this](const QString& sentence) { showMessage(sentence); });
}

void TimelinePage::loaded(const std::vector<SelectedRun>& runs, const Timelines& timelines)
{
    runs_ = runs;
    std::vector<TimelineSection> sections;
    bool anything = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        TimelineSection section = makeSection(timelines[i]);
        section.title = runs[i].title;
        section.letter = runs[i].letter;
        section.source = runs[i].source();
        anything = anything || !timelines[i]->lanes.empty();
        sections.push_back(std::move(section));
    }
    if (!anything) {
        showMessage(tr("This run was not traced.\nGive it trace: kernels or trace: full, and trace_steps "
                       "above 0, to see "
                       "its timeline."));
        return;
    }
    view_->setSections(std::move(sections));
    fillAlignments();
    stack_->setCurrentWidget(splitter_);
    describeSelection();
}

void TimelinePage::fillAlignments()
{
    alignment_->clear();
    for (const query::TimelineStep& step : view_->scene().sections.front().timeline->steps)
        alignment_->addItem(tr("step %1").arg(step.step), step.step);
    alignment_->addItem(tr("start of run"), kNoStep);
}

void TimelinePage::align()
{
    const int wanted = alignment_->currentData().toInt();
    std::vector<TimelineSection> sections = view_->scene().sections;
    for (TimelineSection& section : sections) {
        section.alignAt = 0;
        section.step.reset();
        for (const query::TimelineStep& step : section.timeline->steps) {
            if (step.step == wanted) {
                section.step = step;
                section.alignAt = double(step.start);
            }
        }
    }
    const std::optional<query::TimelineStep> step = sections.front().step;
    view_->setSections(std::move(sections));
    if (step) {
        const double length = double(step->end - step->start);
        view_->setWindow({-0.01 * length, 1.02 * length});
    }
}

void TimelinePage::describeSelection()
{
    const TimelineScene& scene = view_->scene();
    if (!scene.selected || scene.selected->section >= runs_.size()) {
        describing_.cancel();
        detailsTitle_->setText(scene.span ? tr("Span of %1").arg(timeText(scene.span->length()))
                                          : tr("Details"));
        details_->setRows(
            {{tr("Click a box to see everything that is known about it; drag to select a span."), {}}}, true);
        emit selectionText({});
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

void TimelinePage::showDetails(const query::ItemDetails& details)
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
