#include "ui/timeline/timeline_path.h"

#include "core/exchange/tables/sections.h"
#include "core/query/file_session.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/number_text.h"
#include "ui/kit/section_table.h"
#include "ui/kit/view_command.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/timeline/timeline_view.h"

#include <QAction>

#include <algorithm>
#include <string>
#include <utility>

namespace tilescope::ui {

namespace {

using query::Lane;
using query::PathSegmentRow;

// The innermost box of a lane of the segment's thread or stream that is open in its middle; otherwise the lane alone.
struct SegmentPlace {
    std::size_t lane = 0;
    std::size_t row = 0;
    std::optional<std::size_t> box;
};

std::optional<SegmentPlace> segmentPlace(const query::Timeline& timeline, const PathSegmentRow& segment,
                                         std::int64_t middle)
{
    std::optional<SegmentPlace> place;
    for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
        const Lane& lane = timeline.lanes[l];
        const bool isIts = segment.thread
                               ? (lane.kind == Lane::Kind::Thread || lane.kind == Lane::Kind::Ranges) &&
                                     lane.thread == segment.thread
                               : lane.kind == Lane::Kind::Stream && lane.device == segment.device &&
                                     lane.stream == segment.stream;
        if (!isIts || (place && place->box && lane.kind == Lane::Kind::Ranges))
            continue; // ops and calls say more than ranges
        SegmentPlace here{l, 0, {}};
        for (std::size_t row = 0; row < lane.rows.size(); ++row)
            if (const auto box = timeline.hit(lane.rows[row], middle, 0)) {
                here.row = row;
                here.box = box;
            }
        if (!place || here.box)
            place = here;
    }
    return place;
}

// Between ops a thread is in a range only; the chain stays in the lane of its ops.
std::pair<std::size_t, std::size_t> drawnIn(const query::Timeline& timeline, const SegmentPlace& place)
{
    const Lane& range = timeline.lanes[place.lane];
    for (std::size_t l = 0; l < timeline.lanes.size() && range.kind == Lane::Kind::Ranges; ++l)
        if (timeline.lanes[l].kind == Lane::Kind::Thread && timeline.lanes[l].thread == range.thread)
            return {l, 0};
    return {place.lane, place.row};
}

} // namespace

TimelinePath::TimelinePath(TimelineView& view, TimelinePanel& panel, QObject* page)
    : QObject(page), view_(view), panel_(panel),
      action_(addKey(
          view, tr("Critical path of the step"), {Qt::Key_X}, [] {}, Qt::WidgetShortcut, tr("Timeline")))
{
    action_->setCheckable(true);
    action_->setEnabled(false);
    connect(action_, &QAction::toggled, this, &TimelinePath::toggle);
    connect(&panel_, &TimelinePanel::segmentChosen, this, &TimelinePath::goTo);
}

// The path of other runs is another one.
void TimelinePath::setRuns(std::vector<SelectedRun> runs)
{
    reading_.cancel();
    runs_ = std::move(runs);
    command_.clear();
    boxes_.clear();
    action_->setEnabled(!runs_.empty());
    if (action_->isChecked())
        read();
}

void TimelinePath::toggle(bool shows)
{
    if (shows)
        return read();
    reading_.cancel();
    command_.clear();
    boxes_.clear();
    view_.setPath({});
    panel_.showSpan();
    panel_.follow(view_.scene());
}

// Of the step that the run under the cursor, or of the selection, is aligned at.
void TimelinePath::read()
{
    const TimelineScene& scene = view_.scene();
    const std::size_t s = view_.commandSection();
    if (s >= scene.sections.size() || s >= runs_.size())
        return;
    const TimelineSection& section = scene.sections[s];
    std::optional<query::TimelineStep> step = section.step;
    if (scene.selected && scene.selected->section == s) {
        const query::Track& row =
            section.timeline->lanes[scene.selected->item.lane].rows[scene.selected->item.row];
        const std::int64_t at = row.start(scene.selected->item.index);
        for (const query::TimelineStep& each : section.timeline->steps)
            if (each.start <= at && at < each.end)
                step = each;
    }
    query::PathQuery wanted{.run = runs_[s].key.run, .topology = runs_[s].process};
    // Segments are only those of one step; a recording without steps is one.
    wanted.step = step ? step->step : kNoStep;
    reading_.start(
        [run = runs_[s], wanted, timeline = section.timeline, process = step ? step->process : ProcessIndex{},
         s](const query::Cancelled& cancelled) {
            Found found;
            auto session = run.file->borrow();
            query::PathTable table = query::criticalPaths(session->reader(), wanted, cancelled);
            // One process, so that the chain is one: that of the step, otherwise the first.
            if (table.rows.size() > 1) {
                const auto its = std::ranges::find(table.rows, process, &query::PathRow::process);
                table.rows = {its == table.rows.end() ? table.rows.front() : *its};
            }
            SelectedRun of = run;
            of.span.reset();
            ViewCommand command(of, "path");
            if (wanted.step != kNoStep)
                command.add("--step", std::to_string(*wanted.step));
            if (of.process.empty() && !table.rows.empty() && table.rows.front().rank)
                command.add("--rank", std::to_string(*table.rows.front().rank));
            found.command = command.add(of.process).text();
            auto path = std::make_shared<ScenePath>();
            for (const query::PathRow& row : table.rows)
                for (const PathSegmentRow& segment : row.segments) {
                    const std::int64_t start = (row.wall.start + segment.start - timeline->origin).count();
                    const std::int64_t end = start + segment.duration.count();
                    const auto place = segmentPlace(*timeline, segment, start + (end - start) / 2);
                    found.boxes.push_back(
                        place && place->box
                            ? std::optional(SectionItem{s, {place->lane, place->row, *place->box}})
                            : std::nullopt);
                    if (place) {
                        const auto [lane, row] = drawnIn(*timeline, *place);
                        path->parts.push_back({s, lane, row, start, end});
                    }
                }
            found.table = std::make_shared<const query::PathTable>(std::move(table));
            found.path = std::move(path);
            return found;
        },
        [this](Found found) { show(std::move(found)); },
        [this](const QString& sentence) { panel_.showPath(tr("Critical path"), sentence, {}); });
}

void TimelinePath::show(Found found)
{
    boxes_ = std::move(found.boxes);
    command_ = found.command;
    view_.setPath(found.path);
    const exchange::Table segments = exchange::pathSegmentsOf(found.table);
    QString title = tr("Critical path");
    QStringList shares;
    if (!found.table->rows.empty()) {
        const query::PathRow& row = found.table->rows.front();
        if (row.step)
            title += tr(" of step %1").arg(*row.step);
        if (!row.title.empty())
            title += QStringLiteral(", ") + QString::fromStdString(row.title);
        const analysis::PathParts& of = row.parts;
        std::vector<std::pair<Nanoseconds, analysis::PathPart>> sorted;
        for (std::size_t i = 0; i < analysis::kPathParts; ++i)
            sorted.emplace_back(of[static_cast<analysis::PathPart>(i)], static_cast<analysis::PathPart>(i));
        std::ranges::sort(sorted, std::greater{});
        for (const auto& [time, part] : sorted)
            if (time.count() > 0)
                shares << QStringLiteral("%1 %2").arg(QString::fromStdString(std::string(wordOf(part))),
                                                      timeText(double(time.count())));
    }
    panel_.showPath(title,
                    shares.isEmpty() ? QString::fromStdString(segments.whyEmpty)
                                     : shares.join(QStringLiteral(", ")),
                    sectionTable(segments));
    emit panel_.selectionText(
        tr("The critical path has %1.").arg(counted(std::int64_t(segments.rows), "segment")));
}

void TimelinePath::goTo(std::size_t segment)
{
    if (segment >= boxes_.size() || !boxes_[segment])
        return;
    panel_.keep(true);
    view_.reveal(*boxes_[segment]);
    view_.select(boxes_[segment]);
    panel_.keep(false);
}

} // namespace tilescope::ui
