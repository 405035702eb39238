#include "core/exchange/export/packed_timeline.h"

#include "core/base/error.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace tilescope::exchange {

namespace {

using query::Lane;
using query::Timeline;
using query::Track;

std::uint64_t zigzag(std::int64_t value)
{
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

template <class Visit> void eachRow(const Timeline& timeline, const Visit& visit)
{
    for (const Lane& lane : timeline.lanes)
        for (const Track& row : lane.rows)
            visit(row);
}

std::uint64_t keyOf(std::uint32_t name, query::Hue hue)
{
    return std::uint64_t{name} << 8 | static_cast<std::uint64_t>(hue);
}

/// Numbers the pairs of name and hue that occur, the most frequent first, so that they take fewer bytes.
class Numbering {
public:
    explicit Numbering(const Timeline& timeline)
    {
        std::unordered_map<std::uint64_t, std::size_t> counts;
        eachRow(timeline, [&](const Track& row) {
            for (std::size_t i = 0; i < row.size(); ++i)
                ++counts[keyOf(row.name(i), row.hue(i))];
        });
        std::vector<std::pair<std::size_t, std::uint64_t>> order;
        for (const auto& [key, count] : counts)
            order.emplace_back(std::numeric_limits<std::size_t>::max() - count, key);
        std::ranges::sort(order);
        for (const auto& [count, key] : order) {
            numbers_.emplace(key, static_cast<std::uint32_t>(names.size()));
            names.push_back({static_cast<std::uint32_t>(key >> 8), static_cast<query::Hue>(key & 0xFF)});
        }
    }
    std::uint32_t of(std::uint32_t name, query::Hue hue) const { return numbers_.at(keyOf(name, hue)); }

    std::vector<PackedTimeline::Name> names;

private:
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

void packCurve(const Lane& lane, PackedTimeline& packed)
{
    // Both curves at the times of either.
    const query::StepCurve& allocated = lane.kind == Lane::Kind::Counter ? lane.values : lane.allocated;
    const query::StepCurve& reserved = lane.reserved;
    std::vector<std::int64_t> times;
    for (std::size_t i = 0; i < allocated.size(); ++i)
        times.push_back(allocated.time(i));
    for (std::size_t i = 0; i < reserved.size(); ++i)
        times.push_back(reserved.time(i));
    std::ranges::sort(times);
    times.erase(std::unique(times.begin(), times.end()), times.end());
    std::int64_t time = 0;
    std::array<std::int64_t, 2> before{};
    for (const std::int64_t at : times) {
        packed.columns[PackedTimeline::Times].push_back(static_cast<std::uint64_t>(at - time));
        const std::array<std::int64_t, 2> values{allocated.empty() ? 0 : allocated.at(at),
                                                 reserved.empty() ? 0 : reserved.at(at)};
        packed.columns[PackedTimeline::Allocated].push_back(zigzag(values[0] - before[0]));
        packed.columns[PackedTimeline::Reserved].push_back(zigzag(values[1] - before[1]));
        time = at;
        before = values;
    }
    packed.curves.back().points = times.size();
}

/// \param above  the row above; null for the first
void packRow(const Track& row, const Track* above, const Numbering& numbering, PackedTimeline& packed)
{
    std::int64_t end = 0;
    std::size_t begun = 0; // boxes of the row above that start no later
    for (std::size_t i = 0; i < row.size(); ++i) {
        std::int64_t base = end;
        if (above) {
            const std::size_t before = begun;
            while (begun < above->size() && above->start(begun) <= row.start(i))
                ++begun;
            packed.columns[PackedTimeline::Skips].push_back(begun - before);
            if (begun > 0)
                base = std::max(base, above->start(begun - 1));
        }
        packed.columns[PackedTimeline::Gaps].push_back(static_cast<std::uint64_t>(row.start(i) - base));
        packed.columns[PackedTimeline::Lengths].push_back(static_cast<std::uint64_t>(row.length(i)));
        packed.columns[PackedTimeline::Names].push_back(numbering.of(row.name(i), row.hue(i)));
        end = row.end(i);
    }
    packed.boxes += row.size();
}

/// DEFLATE blocks of the bytes that end at a byte's border; none is the last of its stream.
std::string deflatedPart(std::string_view bytes, int strategy)
{
    z_stream stream{};
    constexpr int kRaw = -15; // window of 32 KiB, no header
    constexpr int kMemory = 9;
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kRaw, kMemory, strategy) != Z_OK)
        throw Error{.what = "not enough memory to compress the page",
                    .where = "share",
                    .remedy = "close other programs",
                    .kind = ErrorKind::Failure};
    std::string out;
    std::array<char, 1 << 16> room{};
    while (!bytes.empty()) {
        constexpr std::size_t kMost = 1 << 30; // zlib counts in 32 bits
        const std::string_view now = bytes.substr(0, kMost);
        bytes.remove_prefix(now.size());
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(now.data()));
        stream.avail_in = static_cast<uInt>(now.size());
        do {
            stream.next_out = reinterpret_cast<Bytef*>(room.data());
            stream.avail_out = room.size();
            deflate(&stream, bytes.empty() ? Z_SYNC_FLUSH : Z_NO_FLUSH);
            out.append(room.data(), room.size() - stream.avail_out);
        } while (stream.avail_out == 0);
    }
    deflateEnd(&stream);
    return out;
}

} // namespace

std::vector<std::string> planesOf(std::span<const std::uint64_t> column)
{
    std::uint64_t most = 0;
    for (const std::uint64_t value : column)
        most |= value;
    std::vector<std::string> planes;
    for (int shift = 0; shift < 64 && most >> shift != 0; shift += 8) {
        std::string& plane = planes.emplace_back();
        plane.reserve(column.size());
        for (const std::uint64_t value : column)
            plane.push_back(static_cast<char>(value >> shift & 0xFF));
    }
    return planes;
}

PackedTimeline pack(const Timeline& timeline)
{
    PackedTimeline packed;
    Numbering numbering(timeline);
    for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
        const Lane& lane = timeline.lanes[i];
        std::vector<std::size_t>& rows = packed.rows.emplace_back();
        for (std::size_t row = 0; row < lane.rows.size(); ++row) {
            packRow(lane.rows[row], row > 0 ? &lane.rows[row - 1] : nullptr, numbering, packed);
            rows.push_back(lane.rows[row].size());
        }
        if (lane.allocated.empty() && lane.reserved.empty() && lane.values.empty())
            continue; // not a curve, or one without points
        packed.curves.push_back({.lane = i});
        packCurve(lane, packed);
    }
    packed.names = std::move(numbering.names);
    return packed;
}

std::string deflated(std::span<const std::string> parts)
{
    std::string out;
    for (const std::string& part : parts) {
        std::string blocks = deflatedPart(part, Z_DEFAULT_STRATEGY);
        std::string codesOnly = deflatedPart(part, Z_HUFFMAN_ONLY);
        out += blocks.size() <= codesOnly.size() ? blocks : codesOnly;
    }
    // An empty last block: the final bit, fixed codes, their end of block.
    constexpr std::string_view kEnd("\x03\x00", 2);
    return out.append(kEnd);
}

std::string base91(std::string_view bytes)
{
    const auto digit = [](unsigned value) {
        constexpr unsigned kUpper = '~' - '=' + 1;
        return static_cast<char>(value < kUpper ? '=' + value : ' ' + (value - kUpper));
    };
    std::string out;
    out.reserve(bytes.size() * 16 / 13 + 2);
    unsigned held = 0;
    int bits = 0;
    const auto put = [&] {
        const unsigned value = held & 0x1FFF;
        out.push_back(digit(value % 91));
        out.push_back(digit(value / 91));
        held >>= 13;
        bits -= 13;
    };
    for (const char byte : bytes) {
        held |= unsigned{static_cast<unsigned char>(byte)} << bits;
        bits += 8;
        if (bits >= 13)
            put();
    }
    if (bits > 0)
        put();
    return out;
}

std::string base64(std::string_view bytes)
{
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const auto byte = [&](std::size_t at) {
            return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
        };
        const unsigned three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
        out.push_back(kDigits[three >> 18]);
        out.push_back(kDigits[three >> 12 & 63]);
        out.push_back(i + 1 < bytes.size() ? kDigits[three >> 6 & 63] : '=');
        out.push_back(i + 2 < bytes.size() ? kDigits[three & 63] : '=');
    }
    return out;
}

} // namespace tilescope::exchange
