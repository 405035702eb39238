#include "ui/timeline/timeline_page.h"

#include "core/query/kernels/kernel_stats.h"
#include "ui/kit/button_pair.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/exporter.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/number_text.h"
#include "ui/kit/view_command.h"
#include "ui/theme/theme.h"
#include "ui/timeline/difference_causes.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/range_pairs.h"
#include "ui/timeline/timeline_actions.h"
#include "ui/timeline/timeline_find.h"
#include "ui/timeline/timeline_notebook.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/timeline/timeline_path.h"
#include "ui/timeline/timeline_play.h"
#include "ui/timeline/timeline_ties.h"

#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kRememberAfterMs = 300;
constexpr int kPathRole = Qt::UserRole + 1;

std::vector<RunKey> keysOf(const std::vector<SelectedRun>& runs)
{
    std::vector<RunKey> keys;
    for (const SelectedRun& run : runs)
        keys.push_back(run.key);
    return keys;
}

bool isBeingWritten(const std::vector<SelectedRun>& runs)
{
    return std::any_of(runs.begin(), runs.end(),
                       [](const SelectedRun& run) { return run.run->result.status == RunStatus::Running; });
}

constexpr const char* kFitsLanes = "timeline/fitsLanes";

} // namespace

TimelinePage::TimelinePage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), alignment_(new ComboBox(tr("Align runs at"), this)),
      scale_(new SegmentedControl({tr("same time"), tr("same length")}, this)),
      stack_(new MessageStack(this)), splitter_(new QSplitter(Qt::Vertical, new QWidget(stack_))),
      view_(new TimelineView(splitter_)), panel_(new TimelinePanel(workspace, splitter_)),
      untraced_(new ElidedLabel(splitter_->parentWidget()))
{
    find_ = new TimelineFind(*view_, *panel_, this);
    ties_ = new TimelineTies(workspace, *view_, this);
    notebook_ = new TimelineNotebook(*view_, this);
    causes_ = new DifferenceCauses(*view_, this);
    actions_ = new TimelineActions(workspace, *view_, *ties_, *notebook_, this);
    play_ = new TimelinePlay(*view_);
    path_ = new TimelinePath(*view_, *panel_, this);
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    layout->addWidget(play_);
    splitter_->setStretchFactor(0, 1);
    splitter_->setHandleWidth(1);
    splitter_->setSizes({sizes().of(600), sizes().of(200)});
    untraced_->setObjectName(QStringLiteral("untraced"));
    untraced_->setFixedHeight(sizes().panelHeader);
    untraced_->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    untraced_->hide();
    auto* column = makePlainColumn(splitter_->parentWidget());
    column->addWidget(untraced_);
    column->addWidget(splitter_, 1);
    stack_->addWidget(splitter_->parentWidget());
    layout->addWidget(stack_, 1);
    setFocusTarget(view_);

    rememberSoon_.setSingleShot(true);
    connectParts();
}

// Saves an arrangement that was changed just before closing.
TimelinePage::~TimelinePage()
{
    if (rememberSoon_.isActive())
        rememberLanes();
}

void TimelinePage::connectParts()
{
    connect(&rememberSoon_, &QTimer::timeout, this, &TimelinePage::rememberLanes);
    connect(view_, &TimelineView::cursorMoved, this, &Page::cursorText);
    connect(panel_, &TimelinePanel::selectionText, this, &Page::selectionText);
    connect(view_, &TimelineView::selectionChanged, this, [this] { panel_->follow(view_->scene()); });
    connect(view_, &TimelineView::spanChanged, this, [this] { panel_->follow(view_->scene()); });
    connect(view_, &TimelineView::currentLaneChanged, this, [this] {
        if (view_->scene().span) // whose table is that of the lane
            panel_->follow(view_->scene());
    });
    connect(view_, &TimelineView::lanesChanged, this, [this] { rememberSoon_.start(kRememberAfterMs); });
    connect(&workspace(), &Workspace::processChanged, this, [this] {
        panel_->setProcess(processTitle());
        panel_->follow(view_->scene());
    });
    connect(panel_, &TimelinePanel::rangesFound, view_, &TimelineView::setSelectedRange);
    connect(panel_, &TimelinePanel::filterWanted, this, &TimelinePage::filterBySpan);
    connect(panel_, &TimelinePanel::flameWanted, this, [this] {
        filterBySpan();
        emit workspace().pageWanted(QStringLiteral("flame"));
    });
    connect(actions_, &TimelineActions::filterWanted, this, &TimelinePage::filterBySpan);
    connect(actions_, &TimelineActions::playEndWanted, play_, &TimelinePlay::end);
    connect(play_, &TimelinePlay::said, this, &Page::selectionText);
    connect(stack_, &QStackedWidget::currentChanged, this,
            [this](int shown) { play_->setShown(shown == 1); });
    connect(view_, &TimelineView::windowChanged, this, [this] {
        back_->setEnabled(view_->canGoBack());
        forward_->setEnabled(view_->canGoForward());
    });
    connect(ties_, &TimelineTies::changed, this, &TimelinePage::showLinks);
    connect(actions_, &TimelineActions::findWanted, find_, &TimelineFind::find);
    connect(actions_, &TimelineActions::notesWanted, this, [this] {
        if (!panel_->showsNotes())
            return listNotes();
        panel_->showSpan();
        panel_->follow(view_->scene());
    });
    connect(notebook_, &TimelineNotebook::changed, this, [this] {
        if (panel_->showsNotes())
            listNotes();
    });
    connect(notebook_, &TimelineNotebook::problem, this, &Page::selectionText);
    const auto noteAt = [this](std::size_t i) {
        return i < notebook_->notes().size() ? notebook_->notes()[i].id : QString();
    };
    connect(panel_, &TimelinePanel::noteChosen, this, [this, noteAt](std::size_t i) {
        panel_->keep(true);
        notebook_->goTo(noteAt(i));
        panel_->keep(false);
    });
    connect(panel_, &TimelinePanel::noteEdited, this,
            [this, noteAt](std::size_t i) { notebook_->startEdit(noteAt(i)); });
    connect(panel_, &TimelinePanel::noteRemoved, this,
            [this, noteAt](std::size_t i) { notebook_->remove(noteAt(i)); });
}

// Of the process that pages show; empty: of all.
QString TimelinePage::processTitle() const
{
    for (const SelectedRun& run : runs_)
        for (const query::ProcessChoice& process : run.run->processes)
            if (process.query == workspace().process())
                return QString::fromStdString(process.title);
    return {};
}

void TimelinePage::showRuns(const std::vector<SelectedRun>& runs)
{
    find_->clear();
    aligning_.cancel();
    reaching_.cancel();
    growing_.cancel();
    framing_.cancel();
    isGrowing_ = false;
    reading_ = !runs.empty();
    if (runs.empty()) {
        loading_.cancel();
        shown_.clear();
        runs_.clear();
        play_->end();
        view_->setSections({});
        stack_->showMessage(
            emptyText(tr("A traced run shows its steps, ops, kernels and memory on this page.")));
        return;
    }
    loading_.start(
        loadingOf(runs),
        [this, runs](LoadedTimelines made) {
            const bool more = made.complete && made.lacksStacks;
            loaded(runs, std::move(made));
            if (more)
                readFrames(runs);
        },
        [this](const QString& sentence) { stack_->showMessage(sentence); });
}

// The stacks of Python take longer than everything else: they are added once the rest is shown.
void TimelinePage::readFrames(const std::vector<SelectedRun>& runs)
{
    framing_.start(
        loadingOf(runs, true), [this, runs](LoadedTimelines made) { grown(runs, std::move(made)); },
        [this](const QString& sentence) { stack_->showMessage(sentence); });
}

// The job that reads runs. Runs that are already shown keep their alignment.
std::function<LoadedTimelines(const query::Cancelled&)>
TimelinePage::loadingOf(const std::vector<SelectedRun>& runs, bool frames) const
{
    std::map<std::filesystem::path, LaneArrangement> arrangements;
    for (const SelectedRun& run : runs)
        if (!arrangements.contains(run.file->path()))
            arrangements[run.file->path()] =
                LaneArrangement::read(QString::fromStdString(run.file->path().string()));
    std::optional<Alignment> alignment;
    if (shown_ == keysOf(runs))
        alignment = chosenAlignment();
    return [runs, arrangements, alignment, frames,
            equal = scale_->current() == 1](const query::Cancelled& cancelled) {
        return loadTimelines(runs, arrangements, alignment, equal, frames, cancelled);
    };
}

bool TimelinePage::showGrown(const std::vector<SelectedRun>& runs)
{
    // One read at a time: the next one includes what was written meanwhile.
    if (isGrowing_)
        return true;
    isGrowing_ = true;
    growing_.start(
        loadingOf(runs),
        [this, runs](LoadedTimelines made) {
            isGrowing_ = false;
            grown(runs, std::move(made));
        },
        [this](const QString& sentence) {
            isGrowing_ = false;
            stack_->showMessage(sentence);
        });
    return true;
}

void TimelinePage::grown(const std::vector<SelectedRun>& runs, LoadedTimelines made)
{
    if (!made.complete)
        return;
    if (shown_ != keysOf(runs)) {
        loading_.cancel();
        return loaded(runs, std::move(made)); // there was nothing to show yet
    }
    if (keysOf(made.runs) != keysOf(runs_))
        return loaded(runs, std::move(made)); // a run without events has some now
    const std::vector<TimelineSection>& sections = view_->scene().sections;
    const auto isSame = [](const TimelineSection& shown, const TimelineSection& read) {
        return shown.timeline == read.timeline;
    };
    if (std::ranges::equal(sections, made.aligned.sections, isSame))
        return;
    const std::size_t steps = sections.front().timeline->steps.size();
    runs_ = made.runs;
    ties_->forget();
    view_->growSections(made.aligned.sections, std::move(made.pairs));
    panel_->setRuns(runs_);
    panel_->setProcess(processTitle());
    ties_->grow(runs_);
    if (sections.front().timeline->steps.size() != steps)
        fillAlignments(made);
}

void TimelinePage::loaded(const std::vector<SelectedRun>& runs, LoadedTimelines made)
{
    if (!made.complete)
        return;
    reading_ = false;
    const bool same = shown_ == keysOf(runs);
    // Runs that are shown already and were written anew keep selection, window and lanes.
    if (same && made.anything && keysOf(made.runs) == keysOf(runs_)) {
        stack_->showContent();
        return grown(runs, std::move(made));
    }
    shown_.clear();
    if (!made.anything && isBeingWritten(runs)) {
        stack_->showMessage(
            tr("The run is being written. Its timeline appears here as soon as steps are traced."));
        return;
    }
    if (const QString why = runs.size() == 1 ? whyTraceIsMissing(*runs.front().run) : QString();
        !made.anything && !why.isEmpty()) {
        stack_->showMessage(why);
        return;
    }
    if (!made.anything) {
        stack_->showMessage(runs.size() == 1
                                ? tr("This run was not traced.\nGive it trace: kernels or trace: full, "
                                     "and trace_steps above 0, to see its timeline.")
                                : tr("None of the selected runs was traced.\nGive them trace: kernels or "
                                     "trace: full, and trace_steps above 0, to see their timelines."));
        return;
    }
    shown_ = keysOf(runs);
    runs_ = made.runs;
    listMissing(made.untraced, made.left);
    panel_->setRuns(runs_);
    panel_->setProcess(processTitle());
    panel_->showSpan();
    fillAlignments(made);
    scale_->setEnabled(runs_.size() > 1);
    stack_->showContent();
    // A single run is shown with all its steps, several at their aligned part.
    if (runs_.size() < 2)
        made.aligned.window.reset();
    show(std::move(made.aligned), std::move(made.pairs), same);
    reachTarget();
}

// For a span, the kernels that the table below lists; otherwise the traced steps.
QString TimelinePage::command() const
{
    const TimelineScene& scene = view_->scene();
    if (runs_.empty() || scene.sections.empty())
        return {};
    SelectedRun run = runs_.front();
    run.span.reset();
    if (const QString path = path_->command(); !path.isEmpty())
        return path;
    if (!scene.span)
        return ViewCommand(run, "steps").text();
    run.span = spanIn(0);
    const bool isOnGpu =
        std::ranges::any_of(scene.sections.front().timeline->lanes,
                            [](const query::Lane& lane) { return lane.kind == query::Lane::Kind::Stream; });
    return ViewCommand(run, isOnGpu ? "kernels" : "ops").text();
}

query::TimeSpan TimelinePage::spanIn(std::size_t section) const
{
    const TimelineScene& scene = view_->scene();
    const auto at = [&](double axis) {
        return Nanoseconds(std::llround(scene.sections[section].toTimeline(axis)));
    };
    return {at(scene.span->from), at(scene.span->to)};
}

// The pages that follow time show the span, in each run the part that is above each other here.
void TimelinePage::filterBySpan()
{
    const TimelineScene& scene = view_->scene();
    if (!scene.span)
        return;
    TimeFilter filter;
    for (std::size_t i = 0; i < std::min(runs_.size(), scene.sections.size()); ++i)
        filter.emplace_back(runs_[i].key, spanIn(i));
    workspace().setTimeFilter(std::move(filter));
}

// Selected runs that have no section, in one line.
void TimelinePage::listMissing(const std::vector<SelectedRun>& untraced, std::size_t left)
{
    QStringList names;
    for (const SelectedRun& run : untraced)
        names << (run.letter + QLatin1Char(' ') + run.title).trimmed();
    QStringList sentences;
    if (left > 0)
        sentences << tr("Timelines of the first %1; not shown: the last %2 of the selection.")
                         .arg(counted(std::int64_t(runs_.size()), "traced run"),
                              counted(std::int64_t(left), "run"));
    if (names.size() == 1)
        sentences << tr("%1 was not traced and has no timeline.").arg(names.front());
    else if (!names.isEmpty())
        sentences << tr("%1 of the selected runs were not traced and have no timeline: %2")
                         .arg(names.size())
                         .arg(names.join(QStringLiteral(", ")));
    untraced_->setVisible(!sentences.isEmpty());
    untraced_->setText(sentences.join(QLatin1Char(' ')));
}

// Runs that were shown before keep their window.
void TimelinePage::show(AlignedSections aligned, TimelineView::Pairs pairs, bool keepWindow)
{
    play_->end(); // its part may no longer be there
    view_->setSections(std::move(aligned.sections), keepWindow, std::move(pairs));
    if (!keepWindow && aligned.window)
        view_->setWindow(*aligned.window, false);
    ties_->setRuns(runs_);
    notebook_->setRuns(runs_);
    causes_->setRuns(runs_);
    path_->setRuns(runs_);
    find_->findAgain();
}

void TimelinePage::goTo(const PageTarget& target)
{
    target_ = target;
    if (!reading_)
        reachTarget();
}

void TimelinePage::goToEvent(const StreamEvent& event)
{
    event_ = event;
    if (!reading_)
        reachTarget();
}

// A kernel is selected at its longest instance; runs are aligned at a range, which fills the view.
void TimelinePage::reachTarget()
{
    const PageTarget target = std::exchange(target_, {});
    if (const std::optional<StreamEvent> event = std::exchange(event_, {}))
        return reachEvent(*event);
    const std::vector<TimelineSection>& sections = view_->scene().sections;
    if (target.kind == PageTarget::Kind::Kernel) {
        std::vector<std::shared_ptr<const query::Timeline>> timelines;
        for (const TimelineSection& section : sections)
            timelines.push_back(section.timeline);
        reaching_.start(
            [timelines, name = target.text.toStdString()](const query::Cancelled& cancelled) {
                for (std::size_t run = 0; run < timelines.size(); ++run)
                    if (const auto item = longestInstance(*timelines[run], name, cancelled))
                        return std::optional(SectionItem{run, *item});
                return std::optional<SectionItem>();
            },
            [this](const std::optional<SectionItem>& item) {
                if (!item)
                    return;
                view_->reveal(*item);
                view_->select(item);
            },
            [this](const QString& sentence) { stack_->showMessage(sentence); });
    } else if (target.kind == PageTarget::Kind::Range && !sections.empty()) {
        int at = alignment_->findData(target.text, kPathRole);
        if (at < 0) {
            at = alignment_->count();
            const std::vector<query::TimelineStep> steps = sections.front().timeline->firstSteps();
            alignment_->addItem(target.text.section(QLatin1Char('/'), 1),
                                steps.empty() ? kNoStep : steps.front().step);
            alignment_->setItemData(at, target.text, kPathRole);
        }
        alignment_->setCurrentIndex(at);
        align();
    }
}

// Adds time on both sides, so that the activity of other ranks is visible.
void TimelinePage::reachEvent(const StreamEvent& event)
{
    constexpr double kAround = 4; // times its length
    constexpr double kLeast = 1000;
    if (view_->scene().sections.empty())
        return;
    const TimelineSection& section = view_->scene().sections.front();
    const std::int64_t time = (event.start - section.timeline->origin).count();
    const std::vector<query::Lane>& lanes = section.timeline->lanes;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        if (lanes[lane].kind != query::Lane::Kind::Stream || lanes[lane].device != event.device ||
            lanes[lane].stream != event.stream)
            continue;
        for (std::size_t row = 0; row < lanes[lane].rows.size(); ++row) {
            const query::Track& track = lanes[lane].rows[row];
            const auto index = section.timeline->hit(track, time, 0);
            if (!index || track.start(*index) != time)
                continue;
            const SectionItem item{0, {lane, row, *index}};
            const double from = section.toAxis(double(track.start(*index)));
            const double to = section.toAxis(double(track.end(*index)));
            const double margin = kAround * std::max(to - from, kLeast);
            view_->setWindow({from - margin, to + margin});
            view_->reveal(item);
            view_->select(item);
            return;
        }
    }
}

void TimelinePage::fillAlignments(const LoadedTimelines& made)
{
    const query::Timeline& first = *made.aligned.sections.front().timeline;
    const std::vector<query::TimelineStep> steps = first.firstSteps();
    struct Choice {
        QString text;
        int step;
        QString path;
    };
    std::vector<Choice> choices;
    for (const query::TimelineStep& step : steps)
        choices.push_back({QString::fromStdString(first.titleOf(step)), step.step, {}});
    for (const std::string& path : made.paths) {
        const QString text = QString::fromStdString(path);
        choices.push_back(
            {text.section(QLatin1Char('/'), 1), steps.empty() ? kNoStep : steps.front().step, text});
    }
    choices.push_back({tr("start of run"), kNoStep, {}});
    // A run that is being written gains steps: only new choices are added, since there may be thousands.
    const auto isShown = [this](int i, const Choice& choice) {
        return alignment_->itemText(i) == choice.text && alignment_->itemData(i).toInt() == choice.step &&
               alignment_->itemData(i, kPathRole).toString() == choice.path;
    };
    int same = 0;
    while (same < std::min(alignment_->count(), int(choices.size())) && isShown(same, choices[same]))
        ++same;
    while (alignment_->count() > same)
        alignment_->removeItem(alignment_->count() - 1);
    for (; same < int(choices.size()); ++same) {
        alignment_->addItem(choices[same].text, choices[same].step);
        alignment_->setItemData(same, choices[same].path, kPathRole);
    }
    for (int i = 0; i < alignment_->count(); ++i)
        if (alignment_->itemData(i).toInt() == made.alignment.step &&
            alignment_->itemData(i, kPathRole).toString().toStdString() == made.alignment.path)
            return alignment_->setCurrentIndex(i);
}

Alignment TimelinePage::chosenAlignment() const
{
    if (alignment_->count() == 0)
        return {};
    return {alignment_->currentData().toInt(), alignment_->currentData(kPathRole).toString().toStdString(),
            scale_->current() == 1};
}

// Runs at the same step, or at the first range of a path within it; shown a little wider than the widest of
// them.
void TimelinePage::align()
{
    aligning_.start([sections = view_->scene().sections, alignment = chosenAlignment()](
                        const query::Cancelled&) { return alignedAt(sections, alignment); },
                    [this](AlignedSections aligned) {
                        if (!aligned.window && !aligned.sections.empty())
                            aligned.window = fittingWindow(aligned.sections);
                        show(std::move(aligned), view_->scene().pairs, false);
                    },
                    [this](const QString& sentence) { stack_->showMessage(sentence); });
}

void TimelinePage::rememberLanes()
{
    const std::vector<TimelineSection>& sections = view_->scene().sections;
    for (std::size_t i = 0; i < sections.size() && i < runs_.size(); ++i)
        arrangementOf(sections[i]).write(QString::fromStdString(runs_[i].file->path().string()));
}

// Shows links from the selected box to related boxes.
void TimelinePage::showLinks()
{
    std::vector<TimelineLink> links;
    const query::ItemLinks& tied = ties_->links();
    const auto add = [&links](const QString& text, QAction* does) {
        const QString key = does->shortcut().toString(QKeySequence::NativeText);
        links.push_back({text, does->text() + QStringLiteral(" (%1)").arg(key), does});
    };
    if (tied.launch)
        add(tr("Launch"), actions_->launch());
    else if (!tied.launched.empty())
        add(tr("Launched %1").arg(wholeNumber(std::int64_t(tied.launched.size()))), actions_->launch());
    if (tied.frame)
        add(tr("Python call"), actions_->frame());
    if (tied.forward)
        add(tr("Forward op"), actions_->autograd());
    else if (!tied.backward.empty())
        add(tr("Backward op"), actions_->autograd());
    if (!tied.collective.empty())
        add(tr("Next of %1").arg(counted(std::int64_t(tied.collective.size()), "rank")),
            actions_->nextRank());
    if (const std::size_t current = ties_->currentInstance(); current > 0) {
        add(tr("‹ before"), actions_->previousInstance());
        add(tr("%1 of %2 ›").arg(current).arg(counted(std::int64_t(ties_->instances()), "instance")),
            actions_->nextInstance());
        add(tr("Kernels"), actions_->kernels());
    }
    panel_->setLinks(links);
}

void TimelinePage::listNotes()
{
    std::vector<NoteRow> rows;
    for (const SceneNote& note : notebook_->notes())
        rows.push_back({view_->scene().sections[note.section].letter, note.at, note.length,
                        notebook_->about(note.id), note.text});
    panel_->showNotes(rows);
}

QWidget* TimelinePage::makeTools()
{
    auto* tools = new ToolBar(this);
    tools->addWord(tr("Align"));
    alignment_->setMinimumWidth(sizes().of(120));
    alignment_->setMaximumWidth(sizes().of(200));
    alignment_->setToolTip(tr("The zero of the time axis in every run"));
    tools->add(alignment_);
    tools->addGap();
    tools->addWord(tr("Scale"));
    scale_->setToolTip(tr("One time scale for all runs, or aligned parts drawn at equal length"));
    scale_->setAccessibleName(tr("Scale of time"));
    tools->add(scale_);
    tools->addGap();
    find_->addTo(*tools);
    tools->addStretch();
    QPushButton* path = tools->addButton(tr("Critical path"), {});
    path->setCheckable(true);
    bindButton(*path, *path_->action());
    setKeyTip(*path_->action(),
              tr("What determines when the step ends, over the boxes and in the table below"));
    tools->mayGo(path);
    QPushButton* play = tools->addButton(tr("Play"), {});
    bindButton(*play, *play_->toggleAction());
    makeZoom(*tools);
    makeMenus(*tools);
    tools->mayGo(play);
    connect(alignment_, &QComboBox::activated, this, &TimelinePage::align);
    connect(scale_, &SegmentedControl::changed, this, &TimelinePage::align);
    tools->actOn(*stack_);
    return tools;
}

void TimelinePage::makeZoom(ToolBar& tools)
{
    tools.addWord(tr("Zoom"));
    back_ = addKey(
        *this, tr("Zoom back"), {Qt::ALT | Qt::Key_Left}, [this] { view_->back(); },
        Qt::WidgetWithChildrenShortcut);
    forward_ = addKey(
        *this, tr("Zoom forward"), {Qt::ALT | Qt::Key_Right}, [this] { view_->forward(); },
        Qt::WidgetWithChildrenShortcut);
    back_->setEnabled(false);
    forward_->setEnabled(false);
    tools.add(makeButtonPair(Icon::Back, *back_, Icon::Forward, *forward_));
    bindButton(*tools.addButton(tr("Fit"), {}), *actions_->fit());
    QPushButton* measure = tools.addButton(tr("Measure"), {});
    bindButton(*measure, *actions_->measure());
    tools.mayGo(measure);
}

void TimelinePage::makeMenus(ToolBar& tools)
{
    auto* lanes = new MenuButton(tr("Lanes"));
    lanes->setToolTip(tr("Which lanes are shown, in which order and height (H hides, Shift+H shows all)"));
    auto* menu = new QMenu(lanes);
    menu->setToolTipsVisible(true);
    lanes->setMenu(menu);
    connect(menu, &QMenu::aboutToShow, this, [this, menu] { actions_->fillLanes(*menu); });
    tools.add(lanes);
    QPushButton* fit = tools.addButton(tr("Fit lanes"), {});
    bindButton(*fit, *actions_->fitLanes());
    tools.mayGo(fit);
    setKeyTip(*actions_->fitLanes(), tr("Fit all lanes on the screen"));
    connect(view_, &TimelineView::fitsLanesChanged, this,
            [](bool fits) { QSettings().setValue(QLatin1String(kFitsLanes), fits); });
    view_->setFitsLanes(QSettings().value(QLatin1String(kFitsLanes), false).toBool());
    QPushButton* notes = tools.addButton(tr("Notes"), {});
    bindButton(*notes, *actions_->listNotes());
    tools.mayGo(notes);
    setKeyTip(*actions_->listNotes(), tr("Bookmarks and notes of the shown runs; B adds one"));
    connect(tools.addButton(tr("Export"), tr("Export as PDF, SVG, PNG or CSV (Ctrl+E)")),
            &QPushButton::clicked, this, &Page::exportWanted);
}

bool TimelinePage::startFind()
{
    return find_->start();
}

} // namespace tilescope::ui
