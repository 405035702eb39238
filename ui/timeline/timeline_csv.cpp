#include "ui/timeline/timeline_csv.h"

#include "core/exchange/tables/text.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/timeline/timeline_scene.h"

#include <QObject>

#include <algorithm>
#include <charconv>

namespace tilescope::ui {

namespace {

using query::Lane;
using query::StepCurve;
using query::Timeline;
using query::Track;

constexpr std::size_t kFewestBuckets = 50;  // a row
constexpr std::size_t kMostBuckets = 2'000; // as many as a screen has pixels

// A line of the table; what does not apply stays empty.
struct Line {
    std::string_view kind;
    std::size_t depth = 0;
    std::string_view name = {};
    std::string_view family = {};
    std::int64_t start = 0;
    std::int64_t duration = 0;
    std::int64_t events = -1;
    std::int64_t covered = -1;
    std::int64_t bytes = -1;
};

class Writer {
public:
    explicit Writer(char separator) : separator_(separator)
    {
        text_ = "run,lane,depth,kind,name,family,start_ns,duration_ns,events,covered_ns,bytes\r\n";
        text_.replace(',', separator);
    }

    void beginLane(const TimelineExcerpt& excerpt, const Lane& lane)
    {
        lane_ = escaped(excerpt.run.toStdString()) + separator_ + escaped(lane.title) + separator_;
        zero_ = excerpt.zero;
    }
    void write(const Line& line)
    {
        text_.append(lane_.data(), qsizetype(lane_.size()));
        number(std::int64_t(line.depth), separator_);
        field(line.kind);
        field(line.name);
        field(line.family);
        number(line.start - zero_, separator_);
        number(line.duration, separator_);
        optional(line.events, separator_);
        optional(line.covered, separator_);
        optional(line.bytes, '\r');
        text_.append('\n');
        ++lines_;
    }
    std::size_t lines() const { return lines_; }
    QByteArray take() { return std::move(text_); }

private:
    std::string escaped(std::string_view text) const
    {
        std::string field = exchange::csvField(text);
        if (separator_ == '\t') // some programs split quoted cells at tabs
            std::replace(field.begin(), field.end(), '\t', ' ');
        return field;
    }
    void field(std::string_view text)
    {
        const std::string field = escaped(text);
        text_.append(field.data(), qsizetype(field.size()));
        text_.append(separator_);
    }
    void number(std::int64_t value, char end)
    {
        char digits[24];
        const auto [last, error] = std::to_chars(std::begin(digits), std::end(digits), value);
        text_.append(digits, last - digits);
        text_.append(end);
    }
    void optional(std::int64_t value, char end)
    {
        if (value < 0)
            text_.append(end);
        else
            number(value, end);
    }

    char separator_;
    QByteArray text_;
    std::string lane_;
    std::int64_t zero_ = 0;
    std::size_t lines_ = 0;
};

// Changes of a curve within the interval, and the value at its beginning: [first, last).
std::pair<std::size_t, std::size_t> changesOf(const StepCurve& curve, const TimelineExcerpt& excerpt)
{
    std::size_t low = 0;
    std::size_t high = curve.size();
    const auto firstFrom = [&curve](std::int64_t time) {
        std::size_t from = 0;
        std::size_t to = curve.size();
        while (from < to) {
            const std::size_t middle = from + (to - from) / 2;
            if (curve.time(middle) < time)
                from = middle + 1;
            else
                to = middle;
        }
        return from;
    };
    low = firstFrom(excerpt.from);
    high = firstFrom(excerpt.to);
    const bool carries = low > 0 && (low == curve.size() || curve.time(low) > excerpt.from);
    return {low - (carries ? 1 : 0), high};
}

const std::pair<const char*, StepCurve Lane::*> kCurves[] = {{"allocated", &Lane::allocated},
                                                             {"reserved", &Lane::reserved}};

std::size_t eventsOf(const TimelineExcerpt& excerpt)
{
    std::size_t events = 0;
    for (const std::size_t at : excerpt.lanes) {
        const Lane& lane = excerpt.timeline->lanes[at];
        for (const Track& row : lane.rows) {
            const auto [first, last] = row.overlapping(excerpt.from, excerpt.to);
            events += last - first;
        }
        for (const auto& [name, curve] : kCurves) {
            const auto [first, last] = changesOf(lane.*curve, excerpt);
            events += last - first;
        }
    }
    return events;
}

std::size_t rowsOf(const TimelineExcerpt& excerpt)
{
    std::size_t rows = 0;
    for (const std::size_t at : excerpt.lanes)
        rows +=
            excerpt.timeline->lanes[at].rows.size() + (excerpt.timeline->lanes[at].allocated.empty() ? 0 : 2);
    return rows;
}

// Boxes of the busy lane have a reason; the others have a name and a family.
std::string_view familyOf(const Lane& lane, query::Hue hue)
{
    return lane.kind == Lane::Kind::Ranges ? std::string_view() : query::hueWord(hue);
}

void writeEvents(Writer& out, const TimelineExcerpt& excerpt, const Lane& lane)
{
    const Timeline& timeline = *excerpt.timeline;
    for (std::size_t depth = 0; depth < lane.rows.size(); ++depth) {
        const Track& row = lane.rows[depth];
        const auto [first, last] = row.overlapping(excerpt.from, excerpt.to);
        for (std::size_t i = first; i < last; ++i) {
            const std::string_view name =
                lane.kind == Lane::Kind::Busy ? query::hueWord(row.hue(i)) : timeline.names[row.name(i)].text;
            out.write({.kind = "event",
                       .depth = depth,
                       .name = name,
                       .family = familyOf(lane, row.hue(i)),
                       .start = row.start(i),
                       .duration = row.length(i)});
        }
    }
    for (const auto& [name, member] : kCurves) {
        const StepCurve& curve = lane.*member;
        const auto [first, last] = changesOf(curve, excerpt);
        for (std::size_t i = first; i < last; ++i) {
            const std::int64_t until = i + 1 < curve.size() ? curve.time(i + 1) : timeline.length;
            out.write({.kind = "memory",
                       .name = name,
                       .start = curve.time(i),
                       .duration = std::max<std::int64_t>(until - curve.time(i), 0),
                       .bytes = curve.value(i)});
        }
    }
}

void writeBuckets(Writer& out, const TimelineExcerpt& excerpt, const Lane& lane, std::int64_t width)
{
    constexpr std::string_view kKind = "level-of-detail bucket";
    for (std::size_t depth = 0; depth < lane.rows.size(); ++depth) {
        const Track& row = lane.rows[depth];
        for (std::int64_t from = excerpt.from; from < excerpt.to; from += width) {
            const std::int64_t to = std::min(from + width, excerpt.to);
            const auto [first, last] = row.overlapping(from, to);
            if (first == last)
                continue;
            const auto times = row.coveredByHue(from, to);
            const auto most = std::max_element(times.begin(), times.end()) - times.begin();
            out.write({.kind = kKind,
                       .depth = depth,
                       .family = familyOf(lane, query::Hue(most)),
                       .start = from,
                       .duration = to - from,
                       .events = std::int64_t(last - first),
                       .covered = row.covered(from, to)});
        }
    }
    for (const auto& [name, member] : kCurves) {
        const StepCurve& curve = lane.*member;
        if (curve.empty())
            continue;
        for (std::int64_t from = excerpt.from; from < excerpt.to; from += width) {
            const std::int64_t to = std::min(from + width, excerpt.to);
            out.write({.kind = kKind,
                       .name = name,
                       .start = from,
                       .duration = to - from,
                       .bytes = curve.extremes(from, to).second});
        }
    }
}

} // namespace

TableText timelineCsv(const std::vector<TimelineExcerpt>& excerpts, char separator, std::size_t most)
{
    std::size_t events = 0;
    std::size_t rows = 0;
    std::int64_t longest = 1;
    for (const TimelineExcerpt& excerpt : excerpts) {
        events += eventsOf(excerpt);
        rows += rowsOf(excerpt);
        longest = std::max(longest, excerpt.to - excerpt.from);
    }
    const bool buckets = events > most;
    const auto across =
        std::int64_t(std::clamp(most / std::max<std::size_t>(rows, 1), kFewestBuckets, kMostBuckets));
    const std::int64_t width = std::max<std::int64_t>(1, (longest + across - 1) / across);
    Writer out(separator);
    for (const TimelineExcerpt& excerpt : excerpts) {
        for (const std::size_t at : excerpt.lanes) {
            const Lane& lane = excerpt.timeline->lanes[at];
            out.beginLane(excerpt, lane);
            if (buckets)
                writeBuckets(out, excerpt, lane, width);
            else
                writeEvents(out, excerpt, lane);
        }
    }
    TableText csv;
    csv.holds = buckets ? QObject::tr("%1 of %2: the window's %3 are more than %4. Zoom "
                                      "in to export the events themselves.")
                              .arg(counted(std::int64_t(out.lines()), "level-of-detail bucket"),
                                   timeText(double(width)), counted(std::int64_t(events), "event"),
                                   wholeNumber(std::int64_t(most)))
                        : QObject::tr("the %1 of the window in the lanes that are shown")
                              .arg(counted(std::int64_t(out.lines()), "event"));
    csv.text = out.take();
    return csv;
}

std::vector<TimelineExcerpt> excerptsOf(const TimelineScene& scene)
{
    std::vector<TimelineExcerpt> excerpts;
    for (const TimelineSection& section : scene.sections) {
        const auto within = [&section](double time) {
            return std::int64_t(std::clamp(time, 0.0, double(section.timeline->length)));
        };
        TimelineExcerpt excerpt;
        excerpt.run = QStringLiteral("%1 %2").arg(section.source, section.title).trimmed();
        excerpt.timeline = section.timeline;
        excerpt.from = within(std::floor(section.toTimeline(scene.window.from)));
        excerpt.to = within(std::ceil(section.toTimeline(scene.window.to)));
        excerpt.zero = std::int64_t(section.alignAt);
        for (const LaneView& lane : section.lanes)
            if (!lane.hidden)
                excerpt.lanes.push_back(lane.lane);
        excerpts.push_back(std::move(excerpt));
    }
    return excerpts;
}

} // namespace tilescope::ui
