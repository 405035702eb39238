#include "ui/timeline/timeline_ties.h"

#include <algorithm>

namespace tilescope::ui {

using query::Lane;
using query::TimelineItem;

namespace {

constexpr int kLaunchesAfterMs = 120;
constexpr std::size_t kMostLaunches = 300; // lines a screen: more hide each other

const query::TimelineName& nameOf(const query::Timeline& timeline, const TimelineItem& item)
{
    return timeline.names[timeline.lanes[item.lane].rows[item.row].name(item.index)];
}

} // namespace

TimelineTies::TimelineTies(Workspace& workspace, TimelineView& view, QObject* parent)
    : QObject(parent), workspace_(workspace), view_(view)
{
    launchesSoon_.setSingleShot(true);
    connect(&launchesSoon_, &QTimer::timeout, this, &TimelineTies::findLaunches);
    connect(&view_, &TimelineView::selectionChanged, this, &TimelineTies::follow);
    connect(&view_, &TimelineView::windowChanged, this, [this] { launchesSoon_.start(kLaunchesAfterMs); });
    connect(&workspace_, &Workspace::kernelChanged, this, &TimelineTies::followKernel);
}

void TimelineTies::setRuns(std::vector<SelectedRun> runs)
{
    runs_ = std::move(runs);
    kernel_.clear();
    follow();
    followKernel();
    launchesSoon_.start(kLaunchesAfterMs);
}

void TimelineTies::forget()
{
    linking_.cancel();
    ringing_.cancel();
    launching_.cancel();
    links_ = {};
    of_.reset();
    instances_.reset();
}

void TimelineTies::grow(std::vector<SelectedRun> runs)
{
    runs_ = std::move(runs);
    if (!kernel_.empty())
        findInstances();
    launchesSoon_.start(kLaunchesAfterMs);
}

// Links of the selected box; the instances of its kernel, or those of the kernel that another page chose.
void TimelineTies::follow()
{
    links_ = {};
    of_.reset();
    const TimelineScene& scene = view_.scene();
    if (!scene.selected || scene.selected->section >= runs_.size()) {
        linking_.cancel();
        kernel_.clear();
        instances_.reset();
        ringing_.cancel();
        emit changed();
        return;
    }
    const SectionItem selected = *scene.selected;
    const auto timeline = scene.sections[selected.section].timeline;
    linking_.start(
        [run = runs_[selected.section], timeline, item = selected.item](const query::Cancelled& cancelled) {
            return run.file->borrow()->links(run.key.run, *timeline, item, cancelled);
        },
        [this, selected](query::ItemLinks links) {
            links_ = std::move(links);
            of_ = selected;
            view_.setLinks(sceneLinks());
            emit changed();
        },
        // The details, which read the same file, show the error.
        [this](const QString&) { emit changed(); });
    if (timeline->lanes[selected.item.lane].kind == Lane::Kind::Stream) {
        const std::string& name = nameOf(*timeline, selected.item).text;
        ringKernel(name);
        workspace_.setKernel(QString::fromStdString(name));
    } else {
        kernel_.clear();
        instances_.reset();
        ringing_.cancel();
    }
    emit changed();
}

void TimelineTies::followKernel()
{
    if (!workspace_.kernel().isEmpty())
        ringKernel(workspace_.kernel().toStdString());
}

void TimelineTies::ringKernel(const std::string& name)
{
    if (name == kernel_) { // known, or being looked for
        view_.setInstances(instances_);
        return;
    }
    kernel_ = name;
    instances_.reset();
    view_.setInstances(nullptr);
    findInstances();
}

void TimelineTies::findInstances()
{
    std::vector<std::shared_ptr<const query::Timeline>> timelines;
    for (const TimelineSection& section : view_.scene().sections)
        timelines.push_back(section.timeline);
    ringing_.start(
        [timelines, name = kernel_](const query::Cancelled& cancelled) {
            auto boxes = std::make_shared<BoxSet>();
            for (std::size_t s = 0; s < timelines.size(); ++s)
                eachInstance(
                    *timelines[s], name, [&](const TimelineItem& item) { boxes->add(s, item); }, cancelled);
            return std::shared_ptr<const BoxSet>(std::move(boxes));
        },
        [this](std::shared_ptr<const BoxSet> boxes) {
            instances_ = std::move(boxes);
            view_.setInstances(instances_);
            emit changed();
        },
        [this](const QString&) { emit changed(); });
}

void TimelineTies::findLaunches()
{
    struct Part {
        SelectedRun run;
        std::shared_ptr<const query::Timeline> timeline;
        std::int64_t from, to;
    };
    std::vector<Part> parts;
    const TimelineScene& scene = view_.scene();
    for (std::size_t s = 0; s < scene.sections.size() && s < runs_.size(); ++s)
        parts.push_back({runs_[s], scene.sections[s].timeline,
                         std::int64_t(scene.sections[s].toTimeline(scene.window.from)),
                         std::int64_t(scene.sections[s].toTimeline(scene.window.to))});
    if (parts.empty())
        return launching_.cancel();
    launching_.start(
        [parts](const query::Cancelled& cancelled) {
            std::vector<SceneLink> links;
            for (std::size_t s = 0; s < parts.size(); ++s) {
                const auto session = parts[s].run.file->borrow();
                for (const query::LaunchLink& link :
                     launchesWithin(session->reader(), parts[s].run.key.run, *parts[s].timeline,
                                    parts[s].from, parts[s].to, kMostLaunches, cancelled))
                    links.push_back({SceneLink::Kind::Launch, {s, link.host}, {s, link.device}});
            }
            return links;
        },
        [this](std::vector<SceneLink> links) { view_.setLaunches(std::move(links)); },
        [this](const QString&) { view_.setLaunches({}); });
}

std::vector<SceneLink> TimelineTies::sceneLinks() const
{
    std::vector<SceneLink> scene;
    const auto here = [this](const TimelineItem& item) { return SectionItem{of_->section, item}; };
    const SectionItem& self = *of_;
    if (links_.launch)
        scene.push_back({SceneLink::Kind::Launch, here(*links_.launch), self});
    for (const TimelineItem& item : links_.launched)
        scene.push_back({SceneLink::Kind::Launch, self, here(item)});
    // Autograd links ops; a kernel's op is the one that launched it.
    const SectionItem op = links_.launch ? here(*links_.launch) : self;
    if (links_.forward)
        scene.push_back({SceneLink::Kind::Autograd, here(*links_.forward), op});
    for (const TimelineItem& item : links_.backward)
        scene.push_back({SceneLink::Kind::Autograd, op, here(item)});
    for (std::size_t i = 1; i < links_.collective.size(); ++i)
        scene.push_back(
            {SceneLink::Kind::Collective, here(links_.collective[i - 1]), here(links_.collective[i])});
    return scene;
}

std::optional<SectionItem> TimelineTies::acrossLaunch() const
{
    if (!of_ || (!links_.launch && links_.launched.empty()))
        return {};
    return SectionItem{of_->section, links_.launch ? *links_.launch : links_.launched.front()};
}

std::optional<SectionItem> TimelineTies::launchingFrame() const
{
    if (!of_ || !links_.frame)
        return {};
    return SectionItem{of_->section, *links_.frame};
}

std::optional<SectionItem> TimelineTies::acrossAutograd() const
{
    if (!of_ || (!links_.forward && links_.backward.empty()))
        return {};
    return SectionItem{of_->section, links_.forward ? *links_.forward : links_.backward.front()};
}

std::optional<SectionItem> TimelineTies::nextRank() const
{
    if (!of_ || links_.collective.empty())
        return {};
    const auto self = std::ranges::find(links_.collective, of_->item);
    const bool isLast = self == links_.collective.end() || self + 1 == links_.collective.end();
    return SectionItem{of_->section, isLast ? links_.collective.front() : *(self + 1)};
}

std::optional<SectionItem> TimelineTies::instance(int by) const
{
    const TimelineScene& scene = view_.scene();
    if (!instances_ || instances_->empty())
        return {};
    return instances_->neighbour(scene.sections, scene.selected, by);
}

std::size_t TimelineTies::currentInstance() const
{
    const TimelineScene& scene = view_.scene();
    if (!instances_ || !scene.selected)
        return 0;
    const TimelineItem& item = scene.selected->item;
    if (nameOf(*scene.sections[scene.selected->section].timeline, item).text != kernel_ ||
        scene.sections[scene.selected->section].timeline->lanes[item.lane].kind != Lane::Kind::Stream)
        return 0;
    return instances_->rank(scene.sections, *scene.selected) + 1;
}

} // namespace tilescope::ui
