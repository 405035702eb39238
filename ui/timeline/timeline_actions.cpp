#include "ui/timeline/timeline_actions.h"

#include "ui/kit/exporter.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/workspace.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/timeline_csv.h"
#include "ui/timeline/timeline_notebook.h"
#include "ui/timeline/timeline_ties.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QMenu>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace tilescope::ui {

namespace {

constexpr double kTallerBy = 1.25;
constexpr double kCloserBy = 0.7; // of the window, for a turn of W
constexpr double kPanBy = 0.15;

} // namespace

TimelineActions::TimelineActions(Workspace& workspace, TimelineView& view, TimelineTies& ties,
                                 TimelineNotebook& notebook, QObject* parent)
    : QObject(parent), workspace_(workspace), view_(view), ties_(ties), notebook_(notebook)
{
    makeMoves();
    makeLinks();
    makeLanes();
    makeNotes();
    connect(&view_, &TimelineView::menuWanted, this, &TimelineActions::openMenu);
}

QAction* TimelineActions::add(const QString& text, const QList<QKeySequence>& keys,
                              const std::function<void()>& does)
{
    return addKey(view_, text, keys, does, Qt::WidgetShortcut, group_);
}

QAction* TimelineActions::addLane(const QString& text, const QKeySequence& key,
                                  const std::function<void(LanePlace)>& does)
{
    return add(text, {key}, [this, does] {
        if (const auto place = view_.currentLane()) {
            view_.setCurrentLane(place);
            does(*place);
        }
    });
}

void TimelineActions::select(const std::optional<SectionItem>& item)
{
    if (!item)
        return;
    view_.reveal(*item);
    view_.select(item);
}

QString TimelineActions::selectedName() const
{
    const TimelineScene& scene = view_.scene();
    if (!scene.selected)
        return {};
    const query::Timeline& timeline = *scene.sections[scene.selected->section].timeline;
    const query::TimelineItem& item = scene.selected->item;
    return QString::fromStdString(
        timeline.names[timeline.lanes[item.lane].rows[item.row].name(item.index)].text);
}

void TimelineActions::makeMoves()
{
    group_ = tr("Timeline");
    add(tr("Zoom in"), {Qt::Key_W, Qt::Key_Plus}, [this] { view_.zoomBy(kCloserBy); });
    add(tr("Zoom out"), {Qt::Key_S, Qt::Key_Minus}, [this] { view_.zoomBy(1 / kCloserBy); });
    add(tr("Move left"), {Qt::Key_A, Qt::Key_Left}, [this] { view_.pan(-kPanBy); });
    add(tr("Move right"), {Qt::Key_D, Qt::Key_Right}, [this] { view_.pan(kPanBy); });
    add(tr("Scroll the lanes up"), {Qt::Key_Up}, [this] { view_.scrollLanes(-1); });
    add(tr("Scroll the lanes down"), {Qt::Key_Down}, [this] { view_.scrollLanes(1); });
    fit_ = add(tr("Fit the traced steps"), {Qt::Key_F}, [this] { view_.fit(); });
    zoom_ = add(tr("Zoom to the selection"), {Qt::Key_Z}, [this] { view_.zoomToSelection(); });
    measure_ =
        add(tr("Measure: make the selected box the span"), {Qt::Key_M}, [this] { view_.measureSelection(); });
    filter_ = add(tr("Filter the pages by the span, or by the selected box"), {Qt::Key_T}, [this] {
        if (!view_.scene().span)
            view_.measureSelection();
        emit filterWanted();
    });
    add(tr("End Play, or clear selection and span, then the search"), {Qt::Key_Escape}, [this] {
        if (view_.scene().play)
            return emit playEndWanted();
        if (!view_.scene().selected && !view_.scene().span)
            emit findWanted({});
        view_.clearSelection();
    });
}

void TimelineActions::makeLinks()
{
    group_ = tr("Timeline: the selected box");
    launch_ = add(tr("Go to its launch, or to what it launched"), {Qt::Key_L},
                  [this] { select(ties_.acrossLaunch()); });
    autograd_ =
        add(tr("Go to its forward or backward op"), {Qt::Key_O}, [this] { select(ties_.acrossAutograd()); });
    frame_ = add(tr("Go to the Python call that launched it"), {Qt::Key_P},
                 [this] { select(ties_.launchingFrame()); });
    nextRank_ = add(tr("Go to the same collective on the next rank"), {Qt::Key_R},
                    [this] { select(ties_.nextRank()); });
    nextInstance_ =
        add(tr("Next instance of the kernel"), {Qt::Key_BracketRight}, [this] { select(ties_.instance(1)); });
    previousInstance_ = add(tr("Previous instance of the kernel"), {Qt::Key_BracketLeft},
                            [this] { select(ties_.instance(-1)); });
    kernels_ = add(tr("Show on the Kernels page"), {Qt::Key_K}, [this] {
        if (!selectedName().isEmpty())
            workspace_.setKernel(selectedName());
        emit workspace_.pageWanted(QStringLiteral("kernels"));
    });
    find_ = add(tr("Find all of this name"), {}, [this] { emit findWanted(selectedName()); });
    copyName_ = add(tr("Copy its name"), {QKeySequence(QKeySequence::Copy)},
                    [this] { QApplication::clipboard()->setText(selectedName()); });
    copyImage_ = add(tr("Copy the timeline as image"), {},
                     [this] { QApplication::clipboard()->setPixmap(view_.grab()); });
    copyTable_ = add(tr("Copy the window's events as table"), {}, [this] {
        const TableText table = timelineCsv(excerptsOf(view_.scene()), '\t');
        QApplication::clipboard()->setText(QString::fromUtf8(table.text));
    });
}

void TimelineActions::makeLanes()
{
    group_ = tr("Timeline: lanes");
    add(tr("Next lane"), {Qt::CTRL | Qt::Key_Down}, [this] { view_.stepLane(1); });
    add(tr("Previous lane"), {Qt::CTRL | Qt::Key_Up}, [this] { view_.stepLane(-1); });
    fold_ = addLane(tr("Fold or unfold the lane"), QKeySequence(Qt::Key_C), [this](LanePlace place) {
        view_.setFolded(place, !view_.scene().sections[place.section].lanes[place.view].folded);
    });
    hide_ = addLane(tr("Hide the lane"), QKeySequence(Qt::Key_H),
                    [this](LanePlace place) { view_.setHidden(place, true); });
    pin_ =
        addLane(tr("Pin the lane to the top, or unpin it"), QKeySequence(Qt::SHIFT | Qt::Key_P),
                [this](LanePlace place) {
                    view_.setPinned(place, !view_.scene().sections[place.section].lanes[place.view].pinned);
                });
    up_ = addLane(tr("Move the lane up"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Up),
                  [this](LanePlace place) { view_.moveLane(place, -1); });
    down_ = addLane(tr("Move the lane down"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Down),
                    [this](LanePlace place) { view_.moveLane(place, 1); });
    const auto scale = [this](double by) {
        return [this, by](LanePlace place) {
            view_.setTall(place, view_.scene().sections[place.section].lanes[place.view].tall * by);
        };
    };
    taller_ = addLane(tr("Make the lane taller"), QKeySequence(Qt::CTRL | Qt::Key_Plus), scale(kTallerBy));
    lower_ =
        addLane(tr("Make the lane shorter"), QKeySequence(Qt::CTRL | Qt::Key_Minus), scale(1 / kTallerBy));
    fitLanes_ = add(tr("Fit all lanes on the screen"), {Qt::SHIFT | Qt::Key_F}, [] {});
    fitLanes_->setCheckable(true);
    connect(fitLanes_, &QAction::toggled, &view_, &TimelineView::setFitsLanes);
    connect(&view_, &TimelineView::fitsLanesChanged, fitLanes_, &QAction::setChecked);
    showAll_ = add(tr("Show all lanes"), {Qt::SHIFT | Qt::Key_H}, [this] { view_.showAllLanes(); });
    reset_ = add(tr("Reset the lanes"), {Qt::CTRL | Qt::Key_0}, [this] { view_.resetLanes(); });
}

void TimelineActions::makeNotes()
{
    group_ = tr("Timeline: notes");
    note_ = add(tr("Bookmark or note here"), {Qt::Key_B}, [this] { notebook_.startNote(); });
    listNotes_ = add(tr("List the notes"), {Qt::SHIFT | Qt::Key_B}, [this] { emit notesWanted(); });
}

// Right click, or the menu key.
void TimelineActions::openMenu(QPoint at, bool onLane)
{
    delete open_;
    open_ = new QMenu(&view_);
    open_->setAttribute(Qt::WA_DeleteOnClose);
    if (onLane)
        fillLane(*open_);
    else
        fillBox(*open_);
    open_->popup(view_.viewport()->mapToGlobal(at));
}

void TimelineActions::fillBox(QMenu& menu)
{
    const TimelineScene& scene = view_.scene();
    const bool box = scene.selected.has_value();
    if (box) {
        menu.addActions({zoom_, measure_, filter_});
        menu.addSeparator();
        if (ties_.acrossLaunch())
            menu.addAction(launch_);
        if (ties_.acrossAutograd())
            menu.addAction(autograd_);
        if (ties_.launchingFrame())
            menu.addAction(frame_);
        if (ties_.nextRank())
            menu.addAction(nextRank_);
        if (ties_.instances() > 0)
            menu.addActions({nextInstance_, previousInstance_, kernels_});
        menu.addActions({find_, copyName_});
        menu.addSeparator();
    }
    if (!box && scene.span) {
        menu.addActions({zoom_, filter_});
        menu.addSeparator();
    }
    menu.addAction(note_);
    if (!notebook_.notes().empty())
        menu.addAction(listNotes_);
    menu.addSeparator();
    menu.addActions({fit_, copyImage_, copyTable_});
}

void TimelineActions::fillLane(QMenu& menu)
{
    menu.addActions({fold_, pin_, hide_});
    menu.addSeparator();
    menu.addActions({up_, down_, taller_, lower_});
    menu.addSeparator();
    menu.addActions({fitLanes_, showAll_, reset_});
}

namespace {

constexpr std::size_t kManyLanes = 16; // more are listed by kind

QString kindTitle(query::Lane::Kind kind)
{
    using Kind = query::Lane::Kind;
    switch (kind) {
    case Kind::Ranges:
        return TimelineActions::tr("Ranges");
    case Kind::Frames:
        return TimelineActions::tr("Python");
    case Kind::Thread:
        return TimelineActions::tr("Threads");
    case Kind::Stream:
        return TimelineActions::tr("Streams");
    case Kind::Busy:
        return TimelineActions::tr("GPU busy");
    case Kind::Memory:
        return TimelineActions::tr("Memory");
    case Kind::Counter:
        return TimelineActions::tr("Counters");
    }
    return {};
}

} // namespace

// A lane is listed once, though every run has it; many lanes in a menu for each kind, with one entry for all of them.
void TimelineActions::fillLanes(QMenu& menu)
{
    menu.clear();
    qDeleteAll(menu.findChildren<QMenu*>(Qt::FindDirectChildrenOnly));
    struct Listed {
        std::string key;
        LanePlace place;
    };
    std::vector<Listed> listed;
    const std::vector<TimelineSection>& sections = view_.scene().sections;
    for (std::size_t s = 0; s < sections.size(); ++s)
        for (std::size_t v = 0; v < sections[s].lanes.size(); ++v) {
            const std::string key = laneKey(*sections[s].timeline, sections[s].lanes[v].lane);
            if (std::ranges::find(listed, key, &Listed::key) == listed.end())
                listed.push_back({key, {s, v}});
        }
    std::map<query::Lane::Kind, QMenu*> kinds;
    std::map<query::Lane::Kind, std::vector<LanePlace>> places;
    for (const Listed& one : listed) {
        const TimelineSection& section = sections[one.place.section];
        const LaneView& view = section.lanes[one.place.view];
        const query::Lane& lane = section.timeline->lanes[view.lane];
        places[lane.kind].push_back(one.place);
        QMenu* to = &menu;
        if (listed.size() > kManyLanes) {
            QMenu*& ofKind = kinds[lane.kind];
            if (ofKind == nullptr)
                ofKind = menu.addMenu(kindTitle(lane.kind));
            to = ofKind;
        }
        QString title = QString::fromStdString(lane.title);
        QAction* action = to->addAction(title.replace(QLatin1Char('&'), QStringLiteral("&&")));
        action->setCheckable(true);
        action->setChecked(!view.hidden);
        connect(action, &QAction::toggled, this,
                [this, place = one.place](bool shown) { view_.setHidden(place, !shown); });
    }
    for (const auto& [kind, ofKind] : kinds) {
        const auto setAll = [this, all = places[kind]](bool hidden) {
            for (const LanePlace& place : all)
                view_.setHidden(place, hidden);
        };
        QAction* first = ofKind->actions().front();
        auto* show = new QAction(tr("Show all"), ofKind);
        auto* hide = new QAction(tr("Hide all"), ofKind);
        connect(show, &QAction::triggered, this, [setAll] { setAll(false); });
        connect(hide, &QAction::triggered, this, [setAll] { setAll(true); });
        ofKind->insertActions(first, {show, hide});
        ofKind->insertSeparator(first);
    }
    menu.addSeparator();
    menu.addActions({fold_, pin_, up_, down_, taller_, lower_});
    menu.addSeparator();
    menu.addActions({fitLanes_, showAll_, reset_});
}

} // namespace tilescope::ui
