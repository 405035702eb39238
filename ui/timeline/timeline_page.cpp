#include "ui/timeline/timeline_page.h"

#include "core/query/tables/kernel_stats.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/range_pairs.h"
#include "ui/timeline/timeline_actions.h"
#include "ui/timeline/timeline_notebook.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/timeline/timeline_ties.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>
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

} // namespace

TimelinePage::TimelinePage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), alignment_(new ComboBox(tr("Align runs at"))),
      scale_(new Segments({tr("same time"), tr("same length")})),
      find_(makeFindField(tr("Find kernel, op or range"), tr("Find on the timeline"))),
      stack_(new QStackedWidget), message_(makeMessage()), view_(new TimelineView),
      splitter_(new QSplitter(Qt::Vertical)), panel_(new TimelinePanel(workspace)), untraced_(new ElidedLabel)
{
    ties_ = new TimelineTies(workspace, *view_, this);
    notebook_ = new TimelineNotebook(*view_, this);
    actions_ = new TimelineActions(workspace, *view_, *ties_, *notebook_, this);
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    splitter_->addWidget(view_);
    splitter_->addWidget(panel_);
    splitter_->setStretchFactor(0, 1);
    splitter_->setHandleWidth(1);
    splitter_->setSizes({sizes().of(600), sizes().of(200)});
    untraced_->setObjectName(QStringLiteral("untraced"));
    untraced_->setFixedHeight(sizes().panelHeader);
    untraced_->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    untraced_->hide();
    auto* shown = new QWidget;
    auto* column = makePlainColumn(shown);
    column->addWidget(untraced_);
    column->addWidget(splitter_, 1);
    stack_->addWidget(message_);
    stack_->addWidget(shown);
    layout->addWidget(stack_, 1);
    setFocusProxy(view_);

    findSoon_.setSingleShot(true);
    rememberSoon_.setSingleShot(true);
    connectParts();
}

// A window that is closed while the hand still rests on a lane remembers it no less.
TimelinePage::~TimelinePage()
{
    if (rememberSoon_.isActive())
        rememberLanes();
}

void TimelinePage::connectParts()
{
    connect(&findSoon_, &QTimer::timeout, this, &TimelinePage::find);
    connect(&rememberSoon_, &QTimer::timeout, this, &TimelinePage::rememberLanes);
    connect(view_, &TimelineView::cursorMoved, this, &Page::cursorText);
    connect(panel_, &TimelinePanel::selectionText, this, &Page::selectionText);
    connect(view_, &TimelineView::selectionChanged, this, [this] { panel_->follow(view_->scene()); });
    connect(view_, &TimelineView::spanChanged, this, [this] { panel_->follow(view_->scene()); });
    connect(view_, &TimelineView::lanesChanged, this, [this] { rememberSoon_.start(kRememberAfterMs); });
    connect(panel_, &TimelinePanel::rangesFound, view_, &TimelineView::setSelectedRange);
    connect(panel_, &TimelinePanel::foundChosen, this, &TimelinePage::goToFound);
    connect(view_, &TimelineView::windowChanged, this, [this] {
        back_->setEnabled(view_->canGoBack());
        forward_->setEnabled(view_->canGoForward());
    });
    connect(ties_, &TimelineTies::changed, this, &TimelinePage::showLinks);
    connect(actions_, &TimelineActions::findWanted, this, [this](const QString& name) {
        find_->setText(name);
        findSoon_.stop();
        find();
    });
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

void TimelinePage::showMessage(const QString& text)
{
    message_->setText(text);
    stack_->setCurrentWidget(message_);
}

void TimelinePage::showRuns(const std::vector<SelectedRun>& runs)
{
    found_ = {};
    foundCount_->clear();
    aligning_.cancel();
    reaching_.cancel();
    growing_.cancel();
    isGrowing_ = false;
    reading_ = !runs.empty();
    if (runs.empty()) {
        loading_.cancel();
        shown_.clear();
        runs_.clear();
        view_->setSections({});
        showMessage(emptyText(tr("A traced run shows its steps, ops, kernels and memory on this page.")));
        return;
    }
    loading_.start(
        loadingOf(runs), [this, runs](LoadedTimelines made) { loaded(runs, std::move(made)); },
        [this](const QString& sentence) { showMessage(sentence); });
}

// The job that reads runs. Those that are shown already keep what they are aligned at.
std::function<LoadedTimelines(const query::Cancelled&)>
TimelinePage::loadingOf(const std::vector<SelectedRun>& runs) const
{
    std::vector<LaneArrangement> arrangements;
    for (const SelectedRun& run : runs)
        arrangements.push_back(LaneArrangement::read(QString::fromStdString(run.file->path().string())));
    std::optional<Alignment> alignment;
    if (shown_ == keysOf(runs))
        alignment = chosenAlignment();
    return
        [runs, arrangements, alignment, equal = scale_->current() == 1](const query::Cancelled& cancelled) {
            return loadTimelines(runs, arrangements, alignment, equal, cancelled);
        };
}

bool TimelinePage::showGrown(const std::vector<SelectedRun>& runs)
{
    // One look at a time: where it takes long, the next one brings what came meanwhile.
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
            showMessage(sentence);
        });
    return true;
}

void TimelinePage::grown(const std::vector<SelectedRun>& runs, LoadedTimelines made)
{
    if (!made.complete)
        return;
    if (shown_ != keysOf(runs)) {
        loading_.cancel();
        return loaded(runs, std::move(made)); // until now there was nothing of them to show
    }
    if (keysOf(made.runs) != keysOf(runs_))
        return loaded(runs, std::move(made)); // one that had nothing before has something now
    const auto timelines = made.timelines();
    const std::vector<TimelineSection>& sections = view_->scene().sections;
    const auto isSame = [](const TimelineSection& section, const std::shared_ptr<const query::Timeline>& t) {
        return section.timeline == t;
    };
    if (std::equal(sections.begin(), sections.end(), timelines.begin(), isSame))
        return;
    const std::size_t steps = sections.front().timeline->steps.size();
    runs_ = made.runs;
    view_->growSections(timelines, std::move(made.pairs));
    panel_->setRuns(runs_);
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
    shown_.clear();
    if (!made.anything && isBeingWritten(runs)) {
        showMessage(tr("The run is being written. Its timeline appears here as soon as steps are traced."));
        return;
    }
    if (!made.anything) {
        showMessage(tr("This run was not traced.\nGive it trace: kernels or trace: full, and trace_steps "
                       "above 0, to see its timeline."));
        return;
    }
    shown_ = keysOf(runs);
    runs_ = made.runs;
    tellUntraced(made.untraced);
    panel_->setRuns(runs_);
    panel_->showSpan();
    fillAlignments(made);
    scale_->setEnabled(runs_.size() > 1);
    stack_->setCurrentIndex(1);
    // One run is shown with all its steps, several at what they are aligned at.
    if (runs_.size() < 2)
        made.aligned.window.reset();
    show(std::move(made.aligned), std::move(made.pairs), same);
    reachTarget();
}

// What has no timeline takes no room among those that have one.
void TimelinePage::tellUntraced(const std::vector<SelectedRun>& runs)
{
    QStringList names;
    for (const SelectedRun& run : runs)
        names << (run.letter + QLatin1Char(' ') + run.title).trimmed();
    untraced_->setVisible(!names.isEmpty());
    if (names.size() == 1)
        untraced_->setText(tr("%1 was not traced and has no timeline.").arg(names.front()));
    else
        untraced_->setText(tr("%1 of the selected runs were not traced and have no timeline: %2")
                               .arg(names.size())
                               .arg(names.join(QStringLiteral(", "))));
}

// A run that was shown already keeps what is looked at.
void TimelinePage::show(AlignedSections aligned, TimelineView::Pairs pairs, bool keepWindow)
{
    view_->setSections(std::move(aligned.sections), keepWindow, std::move(pairs));
    if (!keepWindow && aligned.window)
        view_->setWindow(*aligned.window, false);
    ties_->setRuns(runs_);
    notebook_->setRuns(runs_);
    if (!find_->text().isEmpty())
        find();
}

void TimelinePage::goTo(const PageTarget& target)
{
    target_ = target;
    if (!reading_)
        reachTarget();
}

// A kernel is selected where it first ran; a range is what runs are aligned at and fill the view with.
void TimelinePage::reachTarget()
{
    const PageTarget target = std::exchange(target_, {});
    const std::vector<TimelineSection>& sections = view_->scene().sections;
    if (target.kind == PageTarget::Kind::Kernel) {
        std::vector<std::shared_ptr<const query::Timeline>> timelines;
        for (const TimelineSection& section : sections)
            timelines.push_back(section.timeline);
        reaching_.start(
            [timelines, name = target.text.toStdString()](const query::Cancelled& cancelled) {
                for (std::size_t run = 0; run < timelines.size(); ++run)
                    if (const auto item = firstInstance(*timelines[run], name, cancelled))
                        return std::optional(SectionItem{run, *item});
                return std::optional<SectionItem>();
            },
            [this](const std::optional<SectionItem>& item) {
                if (!item)
                    return;
                view_->reveal(*item);
                view_->select(item);
            },
            [this](const QString& sentence) { showMessage(sentence); });
    } else if (target.kind == PageTarget::Kind::Range && !sections.empty()) {
        int at = alignment_->findData(target.text, kPathRole);
        if (at < 0) {
            at = alignment_->count();
            const std::vector<query::TimelineStep>& steps = sections.front().timeline->steps;
            alignment_->addItem(target.text.section(QLatin1Char('/'), 1),
                                steps.empty() ? kNoStep : steps.front().step);
            alignment_->setItemData(at, target.text, kPathRole);
        }
        alignment_->setCurrentIndex(at);
        align();
    }
}

void TimelinePage::fillAlignments(const LoadedTimelines& made)
{
    const query::Timeline& first = *made.aligned.sections.front().timeline;
    alignment_->clear();
    for (const query::TimelineStep& step : first.steps)
        alignment_->addItem(tr("step %1").arg(step.step), step.step);
    for (const std::string& path : made.paths) {
        const QString text = QString::fromStdString(path);
        alignment_->addItem(text.section(QLatin1Char('/'), 1),
                            first.steps.empty() ? kNoStep : first.steps.front().step);
        alignment_->setItemData(alignment_->count() - 1, text, kPathRole);
    }
    alignment_->addItem(tr("start of run"), kNoStep);
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
                    [this](const QString& sentence) { showMessage(sentence); });
}

void TimelinePage::rememberLanes()
{
    const std::vector<TimelineSection>& sections = view_->scene().sections;
    for (std::size_t i = 0; i < sections.size() && i < runs_.size(); ++i)
        arrangementOf(sections[i]).write(QString::fromStdString(runs_[i].file->path().string()));
}

// What the selected box is tied to, as links below its details.
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
    if (tied.forward)
        add(tr("Forward op"), actions_->autograd());
    else if (!tied.backward.empty())
        add(tr("Backward op"), actions_->autograd());
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

} // namespace tilescope::ui
