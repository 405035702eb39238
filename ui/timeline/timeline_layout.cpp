#include "ui/timeline/timeline_layout.h"

#include "core/model/metric.h"
#include "ui/theme/theme.h"
#include "ui/timeline/lane_curve.h"

#include <QFontMetrics>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace tilescope::ui {

using query::Lane;

namespace {

/// \param room  -1 to 0: from least to dense, to 1: usual, to 2: close, and to 3: tall
LaneSizes sizesFor(double room)
{
    const Sizes& s = sizes();
    const auto pick = [&](double least, double dense, double usual, double close, double tall) {
        return s.of(room <= 0   ? dense + room * (dense - least)
                    : room <= 1 ? dense + room * (usual - dense)
                    : room <= 2 ? usual + (room - 1) * (close - usual)
                                : close + (room - 2) * (tall - close));
    };
    LaneSizes result;
    result.label = s.of(152);
    result.overview = s.of(60);
    result.ruler = s.of(24);
    result.header = pick(20, 22, 24, 24, 24);
    result.difference = pick(28, 30, 36, 36, 36);
    result.range = pick(15, 15, 16, 21, 21); // they contain names
    result.op = pick(3, 6, 11, 16, 34);
    result.stream = pick(16, 20, 30, 32, 32);
    result.busy = pick(14, 15, 16, 20, 20);
    result.memory = pick(24, 28, 36, 36, 140);
    result.folded = pick(15, 16, 20, 20, 20);
    result.gap = pick(1, 2, 4, 4, 4);
    // A label has two lines, or one at the lowest density.
    result.labelled = room < 0 ? result.folded : 2 * result.busy;
    return result;
}

bool hasDeviceLanes(const query::Timeline& timeline)
{
    return std::ranges::any_of(timeline.lanes, [](const Lane& lane) {
        return lane.kind == Lane::Kind::Stream || lane.kind == Lane::Kind::Busy;
    });
}

/// The height that lanes of these sizes leave; negative: they do not fit.
int roomIn(const std::vector<TimelineSection>& sections, const LaneSizes& sizes, int height)
{
    return height - sizes.overview - sizes.ruler - layOut(sections, sizes).height;
}

/// Sizes at which the ops that are wide enough to be seen have room for their names, and others share a row.
LaneSizes naming(LaneSizes lanes, double nanosecondsPerPixel)
{
    constexpr double kNamed = 18;
    constexpr double kVisible = 3; // pixels
    lanes.op = std::max(lanes.op, sizes().of(kNamed));
    lanes.leastBox = kVisible * nanosecondsPerPixel;
    return lanes;
}

LaneSizes withSpare(LaneSizes sizes, const std::vector<TimelineSection>& sections, int height)
{
    sizes.spare = std::max(0, roomIn(sections, sizes, height) / std::max(1, int(sections.size())));
    return sizes;
}

/// Op rows grow until they are as high as their names need at most, then memory.
LaneSizes filled(LaneSizes lanes, const std::vector<TimelineSection>& sections, int height)
{
    constexpr double kHighestOp = 72;
    for (LaneSizes higher = lanes; lanes.op < sizes().of(kHighestOp); lanes = higher) {
        ++higher.op;
        if (roomIn(sections, higher, height) < 0)
            break;
    }
    return withSpare(lanes, sections, height);
}

// A share of the dense heights, so that all lanes fit in `height`.
LaneSizes sharing(const std::vector<TimelineSection>& sections, int height)
{
    LaneSizes sizes = LaneSizes::of(LaneSizes::Density::Dense);
    sizes.gap = 1;
    double low = 0;
    double high = 1;
    constexpr int kSteps = 14; // to a tenth of a pixel in all
    for (int step = 0; step < kSteps; ++step) {
        sizes.share = (low + high) / 2;
        (roomIn(sections, sizes, height) >= 0 ? low : high) = sizes.share;
    }
    sizes.share = low;
    return withSpare(sizes, sections, height);
}

} // namespace

LaneSizes LaneSizes::of(Density density)
{
    return sizesFor(double(density));
}

LaneSizes LaneSizes::forWindow(double nanosecondsPerPixel, const std::vector<TimelineSection>& sections,
                               int height)
{
    constexpr double kReadable = 1500; // ns a pixel: host ops begin to be wide enough for a name
    constexpr double kClose = 500;
    const auto fits = [&](const LaneSizes& sizes) { return roomIn(sections, sizes, height) >= 0; };
    constexpr int kGrades = 8; // between two densities
    const bool hasDevice = std::ranges::any_of(
        sections, [](const TimelineSection& section) { return hasDeviceLanes(*section.timeline); });
    if (!hasDevice) {
        // Host ops are all there is to read: their names need height, not a zoom.
        const bool isAlone = sections.size() < 2;
        for (int grade = int(Density::Tall) * kGrades; isAlone && grade > int(Density::Usual) * kGrades;
             --grade)
            if (const LaneSizes taller = sizesFor(double(grade) / kGrades); fits(taller))
                return filled(taller, sections, height);
        for (int grade = int(Density::Tall) * kGrades; grade >= -kGrades; --grade)
            if (const LaneSizes named = naming(sizesFor(double(grade) / kGrades), nanosecondsPerPixel);
                fits(named))
                return filled(named, sections, height);
    }
    const LaneSizes close = of(Density::Close);
    if (nanosecondsPerPixel < kClose || (nanosecondsPerPixel < kReadable && fits(close)))
        return close;
    const LaneSizes usual = of(Density::Usual);
    if (sections.size() < 2 || fits(usual))
        return usual;
    for (int grade = kGrades - 1; grade >= -kGrades; --grade)
        if (const LaneSizes smaller = sizesFor(double(grade) / kGrades); fits(smaller))
            return smaller;
    // A pair is seen whole as long as the names of its lanes can be read.
    const int line = QFontMetrics(Theme::instance().small()).ascent();
    if (const LaneSizes shared = sharing(sections, height);
        sections.size() == 2 && shared.share * shared.labelled >= line)
        return shared;
    return usual; // lanes that scroll anyway need not be small
}

LaneSizes LaneSizes::fitting(const std::vector<TimelineSection>& sections, int height)
{
    constexpr int kGrades = 32;
    for (int grade = kGrades; grade >= -kGrades; --grade)
        if (const LaneSizes sizes = sizesFor(double(grade) / kGrades); roomIn(sections, sizes, height) >= 0)
            return withSpare(sizes, sections, height);
    return sharing(sections, height);
}
namespace {

constexpr double kLeastLane = 4; // pixels

int usualRowHeight(const Lane& lane, const LaneSizes& sizes)
{
    switch (lane.kind) {
    case Lane::Kind::Ranges:
    case Lane::Kind::Frames:
        return sizes.range;
    case Lane::Kind::Thread:
        return sizes.op;
    case Lane::Kind::Stream:
        // Streams that overlap themselves share the height of two.
        return lane.rows.size() > 1 ? std::max(sizes.op, 2 * sizes.stream / int(lane.rows.size()))
                                    : sizes.stream;
    case Lane::Kind::Busy:
        return sizes.busy;
    case Lane::Kind::Memory:
    case Lane::Kind::Counter:
        return 0;
    }
    return 0;
}

int rowHeightOf(const Lane& lane, const LaneSizes& sizes, double tall)
{
    return int(usualRowHeight(lane, sizes) * tall);
}

// The rows of a thread that hold a box of at least that length, or lie above one that does.
int fullRows(const Lane& lane, double leastBox)
{
    const int all = int(lane.rows.size());
    if (lane.kind != Lane::Kind::Thread || leastBox <= 0)
        return all;
    int rows = all;
    while (rows > 1 && double(lane.rows[std::size_t(rows - 1)].longest()) < leastBox)
        --rows;
    return rows;
}

constexpr int kLowRow = 4; // pixels

int heightOf(const Lane& lane, const LaneSizes& sizes, double tall, double leastBox)
{
    if (lane.kind == Lane::Kind::Memory)
        return int(sizes.memory * tall);
    if (lane.kind == Lane::Kind::Counter)
        return int(sizes.labelled * tall);
    const int full = fullRows(lane, leastBox);
    const int rows = rowHeightOf(lane, sizes, tall) * full + (full < int(lane.rows.size()) ? kLowRow : 0);
    const int least = int((lane.detail.empty() ? sizes.folded : sizes.labelled) * tall);
    return lane.kind == Lane::Kind::Busy ? rows : std::max(rows, least);
}

} // namespace

int TimelineLayout::topOf(const Band& band, int scroll) const
{
    if (band.isPinned)
        return band.top;
    const int top = band.top - scroll;
    if (band.kind != Band::Kind::Header)
        return top;
    return std::max(top, std::min(pinnedHeight, band.end - scroll - band.height));
}

const Band* TimelineLayout::at(int y, int scroll) const
{
    const auto isAt = [&](const Band& band) {
        const int top = topOf(band, scroll);
        return y >= top && y < top + band.height;
    };
    // Pinned lanes cover headers, which cover other lanes.
    for (const Band& band : bands)
        if (band.isPinned && isAt(band))
            return &band;
    if (y < pinnedHeight)
        return nullptr;
    for (const Band& band : bands)
        if (band.kind == Band::Kind::Header && isAt(band))
            return &band;
    for (const Band& band : bands)
        if (!band.isPinned && isAt(band))
            return &band;
    return nullptr;
}

int TimelineLayout::coveredHeight() const
{
    const auto header = std::ranges::find(bands, Band::Kind::Header, &Band::kind);
    return pinnedHeight + (header == bands.end() ? 0 : header->height);
}

namespace {

// The lane that gets the remaining height; null if all are hidden.
std::optional<std::size_t> growingLane(const TimelineSection& section)
{
    std::optional<std::size_t> grows;
    bool isMemory = false;
    for (std::size_t v = 0; v < section.lanes.size(); ++v) {
        const LaneView& view = section.lanes[v];
        if (view.hidden || isMemory)
            continue;
        grows = v;
        isMemory = !view.folded && section.timeline->lanes[view.lane].kind == Lane::Kind::Memory;
    }
    return grows;
}

// Whole pixels of a lane and of its rows, which do not depend on how many rows others have.
std::pair<int, int> heightsOf(const Lane& lane, const LaneView& view, const LaneSizes& sizes, double stretch)
{
    const int rows = std::max(1, int(lane.rows.size()));
    double height = view.folded ? sizes.folded : heightOf(lane, sizes, view.tall, sizes.leastBox / stretch);
    const double row = view.folded ? std::max(1, sizes.folded / rows) : rowHeightOf(lane, sizes, view.tall);
    if (sizes.share == 1)
        return {int(height), int(row)};
    if (!view.folded)
        height = std::max(height, double(sizes.labelled)); // all have a label to be read
    height = std::max(kLeastLane, height * sizes.share);
    return {int(height), isCurve(lane) ? 0 : std::max(1, int(row * sizes.share))};
}

} // namespace

TimelineLayout layOut(const std::vector<TimelineSection>& sections, const LaneSizes& sizes, int mostPinned)
{
    TimelineLayout layout;
    int y = 0;
    const auto place = [&](std::size_t s, std::size_t v, bool isPinned) {
        const LaneView& view = sections[s].lanes[v];
        const Lane& lane = sections[s].timeline->lanes[view.lane];
        auto [height, row] = heightsOf(lane, view, sizes, sections[s].stretch);
        height += !isPinned && growingLane(sections[s]) == v ? sizes.spare : 0;
        Band band{Band::Kind::Lane, s, v, y, height, row, isPinned};
        band.rows =
            view.folded ? int(lane.rows.size()) : fullRows(lane, sizes.leastBox / sections[s].stretch);
        band.low = kLowRow;
        layout.bands.push_back(band);
        y += height + sizes.gap;
    };
    std::vector<LanePlace> pinned;
    for (std::size_t s = 0; s < sections.size(); ++s)
        for (std::size_t v = 0; v < sections[s].lanes.size(); ++v) {
            const LaneView& view = sections[s].lanes[v];
            if (!view.pinned || view.hidden)
                continue;
            const int needed =
                heightsOf(sections[s].timeline->lanes[view.lane], view, sizes, sections[s].stretch).first +
                sizes.gap;
            if (y + needed > mostPinned)
                continue;
            pinned.push_back({s, v});
            place(s, v, true);
        }
    layout.pinnedHeight = y;
    const auto placeTitle = [&](std::size_t s) {
        const int height =
            sizes.share == 1 ? sizes.folded : std::max(int(kLeastLane), int(sizes.labelled * sizes.share));
        layout.bands.push_back({Band::Kind::Counters, s, 0, y, height, 0});
        y += height + sizes.gap;
    };
    for (std::size_t s = 0; s < sections.size(); ++s) {
        if (s > 0) {
            layout.bands.push_back({Band::Kind::Difference, s, 0, y, sizes.difference, 0});
            y += sizes.difference;
        }
        const std::size_t header = layout.bands.size();
        layout.bands.push_back({Band::Kind::Header, s, 0, y, sizes.header, 0});
        y += sizes.header + sizes.gap;
        const std::vector<std::size_t> counters = counterGroup(sections[s]);
        for (std::size_t v = 0; v < sections[s].lanes.size(); ++v) {
            if (!counters.empty() && counters.front() == v)
                placeTitle(s);
            if (!sections[s].lanes[v].hidden && std::ranges::find(pinned, LanePlace{s, v}) == pinned.end())
                place(s, v, false);
        }
        layout.bands[header].end = y;
    }
    layout.height = y;
    return layout;
}

namespace {

// Whether a lane is one of the counters that are shown and hidden together. Metrics of the GPU are, where runs stand below
// each other and need the room.
bool isGrouped(const Lane& lane, bool compared)
{
    return lane.kind == Lane::Kind::Counter && (compared || !lane.isMetric());
}

bool hasManyCounters(const query::Timeline& timeline, bool compared)
{
    constexpr std::ptrdiff_t kFewCounters = 4;
    // Without a device, the rows of ops of runs that stand below each other need the room.
    const std::ptrdiff_t few = compared && !hasDeviceLanes(timeline) ? 0 : kFewCounters;
    return std::ranges::count_if(timeline.lanes,
                                 [compared](const Lane& lane) { return isGrouped(lane, compared); }) > few;
}

// Lanes that are folded at first: without events, a host thread that has next to nothing to do in the steps,
// stacks, which are deep, counters if they are many, and metrics but for the first ones.
bool isFoldedAtFirst(const query::Timeline& timeline, const Lane& lane)
{
    constexpr double kLeastShare = 0.01;
    constexpr std::string_view kUnfoldedMetrics[] = {kSmActive, kTensorActive, kDramRead, kDramWrite};
    if (lane.events() == 0 || (lane.kind == Lane::Kind::Frames && !lane.isOfPauses))
        return true;
    if (lane.isMetric())
        return std::ranges::find(kUnfoldedMetrics, lane.counter) == std::end(kUnfoldedMetrics);
    if (lane.kind == Lane::Kind::Counter)
        return hasManyCounters(timeline, false);
    if (lane.kind != Lane::Kind::Thread)
        return false;
    const auto [from, to] = timeline.interesting();
    return double(lane.rows.front().covered(from, to)) < kLeastShare * double(to - from);
}

} // namespace

std::vector<std::size_t> counterGroup(const TimelineSection& section)
{
    std::vector<std::size_t> counters;
    if (!hasManyCounters(*section.timeline, section.isCompared))
        return counters;
    for (std::size_t v = 0; v < section.lanes.size(); ++v)
        if (isGrouped(section.timeline->lanes[section.lanes[v].lane], section.isCompared))
            counters.push_back(v);
    return counters;
}

bool showsCounterGroup(const TimelineSection& section)
{
    return std::ranges::any_of(counterGroup(section),
                               [&section](std::size_t v) { return !section.lanes[v].hidden; });
}

std::optional<query::TimelineStep> TimelineSection::stepOf(const query::Lane& lane) const
{
    if (!step || !lane.process || lane.process == step->process)
        return step;
    const auto same = std::ranges::find_if(timeline->steps, [&](const query::TimelineStep& other) {
        return other.step == step->step && other.process == lane.process;
    });
    return same == timeline->steps.end() ? std::nullopt : std::optional(*same);
}

const analysis::StepPartition* TimelineSection::partition() const
{
    if (!step)
        return nullptr;
    const auto row = std::ranges::find_if(partitions, [this](const query::StepRow& each) {
        const analysis::Interval& wall = each.partition.wall;
        return each.onGpu && each.step == step->step &&
               (wall.start - timeline->origin).count() == step->start &&
               (wall.end - timeline->origin).count() == step->end;
    });
    return row == partitions.end() ? nullptr : &row->partition;
}

TimelineSection makeSection(std::shared_ptr<const query::Timeline> timeline, bool compared)
{
    TimelineSection section;
    if (const std::vector<query::TimelineStep> steps = timeline->firstSteps(); !steps.empty()) {
        section.step = steps.front();
        section.alignAt = double(section.step->start);
        section.alignedAt = QString::fromStdString(timeline->titleOf(*section.step));
        section.alignedLength = section.step->end - section.step->start;
    }
    section.isCompared = compared;
    const bool hidesCounters = compared && hasManyCounters(*timeline, compared);
    for (std::size_t i = 0; i < timeline->lanes.size(); ++i) {
        const Lane& lane = timeline->lanes[i];
        section.lanes.push_back({.lane = i,
                                 .folded = isFoldedAtFirst(*timeline, lane),
                                 .hidden = hidesCounters && isGrouped(lane, compared)});
    }
    section.timeline = std::move(timeline);
    return section;
}

TimeWindow fittingWindow(const std::vector<TimelineSection>& sections)
{
    TimeWindow window{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
    for (const TimelineSection& section : sections) {
        const auto [from, to] = section.timeline->interesting();
        window.from = std::min(window.from, section.toAxis(double(from)));
        window.to = std::max(window.to, section.toAxis(double(to)));
    }
    return sections.empty() ? TimeWindow{} : window;
}

TimeWindow wholeWindow(const std::vector<TimelineSection>& sections)
{
    TimeWindow window{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
    for (const TimelineSection& section : sections) {
        window.from = std::min(window.from, section.toAxis(0));
        window.to =
            std::max(window.to, section.toAxis(double(std::max<std::int64_t>(section.timeline->length, 1))));
    }
    return sections.empty() ? TimeWindow{} : window;
}

} // namespace tilescope::ui
