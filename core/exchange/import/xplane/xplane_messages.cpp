#include "core/exchange/import/xplane/xplane_messages.h"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include <algorithm>

namespace tilescope::exchange {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

std::string_view viewOf(const protozero::data_view& view)
{
    return {view.data(), view.size()};
}
protozero::data_view dataOf(std::string_view view)
{
    return {view.data(), view.size()};
}

/// Runs `work`; what protozero throws, and nothing else, becomes XplaneDamage.
template <class Work> void parsing(Work&& work)
{
    try {
        work();
    } catch (const protozero::exception& exception) {
        throw XplaneDamage(exception.what());
    }
}

/// Reads an integer, or skips a field that has another type.
bool takeInteger(pbf_reader& message, std::int64_t& value)
{
    if (message.wire_type() != pbf_wire_type::varint) {
        message.skip();
        return false;
    }
    value = message.get_int64();
    return true;
}
bool takeText(pbf_reader& message, std::string_view& value)
{
    if (message.wire_type() != pbf_wire_type::length_delimited) {
        message.skip();
        return false;
    }
    value = viewOf(message.get_view());
    return true;
}

XStat readStat(std::string_view bytes, const std::map<std::int64_t, std::string_view>& names)
{
    XStat stat;
    pbf_reader message(dataOf(bytes));
    while (message.next()) {
        std::int64_t value = 0;
        switch (message.tag()) {
        case 1:
            takeInteger(message, stat.key);
            break;
        case 3: // unsigned
        case 4:
            if (takeInteger(message, value))
                stat.number = value;
            break;
        case 5:
            takeText(message, stat.text);
            break;
        case 7:
            if (takeInteger(message, value))
                if (const auto name = names.find(value); name != names.end())
                    stat.text = name->second;
            break;
        default:
            message.skip();
        }
    }
    return stat;
}

/// An entry of a map from ids to messages whose name is field 2.
void readName(std::string_view bytes, std::map<std::int64_t, std::string_view>& names)
{
    std::int64_t key = 0;
    std::string_view value;
    std::string_view name;
    pbf_reader entry(dataOf(bytes));
    while (entry.next())
        if (entry.tag() == 1)
            takeInteger(entry, key);
        else if (entry.tag() == 2)
            takeText(entry, value);
        else
            entry.skip();
    pbf_reader message(dataOf(value));
    while (message.next())
        if (message.tag() == 2)
            takeText(message, name);
        else
            message.skip();
    names[key] = name;
}

XLine readLine(std::string_view bytes)
{
    XLine line;
    line.bytes = bytes;
    std::string_view display;
    pbf_reader message(dataOf(bytes));
    while (message.next())
        switch (message.tag()) {
        case 1:
            takeInteger(message, line.id);
            break;
        case 2:
            takeText(message, line.name);
            break;
        case 3:
            takeInteger(message, line.timestampNs);
            break;
        case 11:
            takeText(message, display);
            break;
        default:
            message.skip();
        }
    if (!display.empty())
        line.name = display;
    return line;
}

void readEvent(std::string_view bytes, const XLine& line, XEvent& event)
{
    event.key = event.offsetPs = event.durationPs = 0;
    event.isSum = false;
    event.stats.clear();
    pbf_reader message(dataOf(bytes));
    std::string_view stat;
    std::int64_t ignored = 0;
    while (message.next())
        switch (message.tag()) {
        case 1:
            takeInteger(message, event.key);
            break;
        case 2:
            takeInteger(message, event.offsetPs);
            break;
        case 3:
            takeInteger(message, event.durationPs);
            break;
        case 4:
            if (takeText(message, stat))
                event.stats.push_back(readStat(stat, *line.statNames));
            break;
        case 5:
            event.isSum = takeInteger(message, ignored);
            break;
        default:
            message.skip();
        }
}

void readPlane(std::string_view bytes, XPlane& plane)
{
    std::vector<std::string_view> stats;
    std::string_view part;
    pbf_reader message(dataOf(bytes));
    while (message.next())
        switch (message.tag()) {
        case 2:
            takeText(message, plane.name);
            break;
        case 3:
            if (takeText(message, part))
                plane.lines.push_back(readLine(part));
            break;
        case 4:
            if (takeText(message, part))
                readName(part, plane.eventNames);
            break;
        case 5:
            if (takeText(message, part))
                readName(part, plane.statNames);
            break;
        case 6:
            if (takeText(message, part))
                stats.push_back(part);
            break;
        default:
            message.skip();
        }
    // Stats refer to names that come after them.
    for (const std::string_view stat : stats)
        plane.stats.push_back(readStat(stat, plane.statNames));
    for (XLine& line : plane.lines)
        line.statNames = &plane.statNames;
}

const XStat* find(const std::vector<XStat>& stats, const std::map<std::int64_t, std::string_view>& names,
                  std::string_view name)
{
    const auto found = std::ranges::find_if(stats, [&](const XStat& stat) {
        const auto known = names.find(stat.key);
        return known != names.end() && known->second == name;
    });
    return found == stats.end() ? nullptr : &*found;
}

} // namespace

std::int64_t XLine::countEvents() const
{
    std::int64_t events = 0;
    parsing([&] {
        pbf_reader message(dataOf(bytes));
        while (message.next()) {
            events += message.tag() == 4 ? 1 : 0;
            message.skip();
        }
    });
    return events;
}

void XLine::eachEvent(const std::function<void(const XEvent&)>& take) const
{
    parsing([&] {
        XEvent event;
        std::string_view part;
        pbf_reader message(dataOf(bytes));
        while (message.next())
            if (message.tag() != 4) {
                message.skip();
            } else if (takeText(message, part)) {
                readEvent(part, *this, event);
                take(event);
            }
    });
}

std::string_view XPlane::nameOf(const XEvent& event) const
{
    const auto found = eventNames.find(event.key);
    return found == eventNames.end() ? std::string_view() : found->second;
}

const XStat* XPlane::stat(std::string_view wanted) const
{
    return find(stats, statNames, wanted);
}

const XStat* XPlane::stat(const XEvent& event, std::string_view wanted) const
{
    return find(event.stats, statNames, wanted);
}

XSpace::XSpace(std::string_view bytes)
{
    parsing([&] {
        std::string_view part;
        pbf_reader message(dataOf(bytes));
        while (message.next()) {
            const auto tag = message.tag();
            if (tag != 1 && tag != 4)
                message.skip();
            else if (!takeText(message, part))
                continue;
            else if (tag == 1)
                readPlane(part, planes.emplace_back());
            else if (host.empty())
                host = part;
        }
    });
}

std::string_view firstPlaneName(std::string_view head)
{
    // A plane is longer than the head; its name is among its first fields.
    constexpr char kPlane = 1 << 3 | 2;
    if (head.empty() || head.front() != kPlane)
        return {};
    try {
        const char* at = head.data() + 1;
        const char* end = head.data() + head.size();
        const std::uint64_t length = protozero::decode_varint(&at, end);
        const std::size_t there = std::min<std::uint64_t>(length, static_cast<std::uint64_t>(end - at));
        pbf_reader plane(at, there);
        std::string_view name;
        while (plane.next()) {
            if (plane.tag() == 2)
                return takeText(plane, name) ? name : std::string_view();
            if (plane.tag() != 1)
                return {};
            plane.skip();
        }
    } catch (const protozero::exception&) {
        return {};
    }
    return {};
}

} // namespace tilescope::exchange
