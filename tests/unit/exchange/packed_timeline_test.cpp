#include "core/exchange/export/packed_timeline.h"

#include "core/query/timeline/timeline.h"
#include "tests/support/fake_trace.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

namespace tilescope::exchange {

namespace {

using query::Hue;
using query::Lane;
using query::Timeline;
using query::Track;
using testing::FakeTrace;

// Written from the format's description, not from its writer.
std::string bytesOfBase91(const std::string& text, std::size_t size)
{
    std::string bytes;
    unsigned held = 0;
    int bits = 0;
    const auto digit = [](char c) { return unsigned(c >= '=' ? c - '=' : c - ' ' + 66); };
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        held |= (digit(text[i]) + 91 * digit(text[i + 1])) << bits;
        for (bits += 13; bits >= 8; bits -= 8, held >>= 8)
            bytes.push_back(static_cast<char>(held & 0xFF));
    }
    return bytes.substr(0, size);
}

std::string inflated(const std::string& bytes)
{
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, -15), Z_OK);
    std::string out(std::size_t{64} << 20, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = uInt(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = uInt(out.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    inflateEnd(&stream);
    return out;
}

std::string randomBytes(std::size_t size, unsigned seed)
{
    std::mt19937 random(seed);
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i)
        bytes.push_back(static_cast<char>(random() & 0xFF));
    return bytes;
}

std::int64_t signedOf(std::uint64_t value)
{
    return value % 2 ? -static_cast<std::int64_t>(value / 2) - 1 : static_cast<std::int64_t>(value / 2);
}

Timeline timelineOf(const FakeTrace& trace)
{
    query::TimelineBuilder builder(
        trace.textOf(),
        [](std::string_view name, DeviceEventKind) {
            return query::TimelineBuilder::DeviceName{std::string(name), Hue::Matmul};
        },
        timestampAt(0));
    builder.addRanges(trace.batch().ranges);
    builder.addHost(trace.batch().ops, trace.batch().apiCalls);
    builder.addDevice(trace.batch().deviceEvents);
    builder.addAllocations(trace.batch().allocEvents);
    return std::move(builder).build();
}

/// The boxes of a row that the columns describe; advances the positions in the columns.
struct Reader {
    const PackedTimeline& packed;
    std::size_t box = 0;
    std::size_t skip = 0;

    void expectRow(const Track& row, const Track* above)
    {
        std::int64_t end = 0;
        std::int64_t parent = -1;
        for (std::size_t i = 0; i < row.size(); ++i, ++box) {
            std::int64_t base = end;
            if (above) {
                parent += std::int64_t(packed.columns[PackedTimeline::Skips][skip++]);
                if (parent >= 0)
                    base = std::max(base, above->start(std::size_t(parent)));
            }
            const std::int64_t start = base + std::int64_t(packed.columns[PackedTimeline::Gaps][box]);
            end = start + std::int64_t(packed.columns[PackedTimeline::Lengths][box]);
            ASSERT_EQ(start, row.start(i));
            ASSERT_EQ(end, row.end(i));
            const PackedTimeline::Name name = packed.names.at(packed.columns[PackedTimeline::Names][box]);
            ASSERT_EQ(name.name, row.name(i));
            ASSERT_EQ(name.hue, row.hue(i));
        }
    }
};

void expectRoundTrip(const Timeline& timeline)
{
    const PackedTimeline packed = pack(timeline);
    Reader reader{packed};
    ASSERT_EQ(packed.rows.size(), timeline.lanes.size());
    for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
        const std::vector<Track>& rows = timeline.lanes[lane].rows;
        ASSERT_EQ(packed.rows[lane].size(), rows.size());
        for (std::size_t row = 0; row < rows.size(); ++row) {
            ASSERT_EQ(packed.rows[lane][row], rows[row].size());
            reader.expectRow(rows[row], row > 0 ? &rows[row - 1] : nullptr);
        }
    }
    EXPECT_EQ(reader.box, packed.boxes);
    EXPECT_EQ(reader.skip, packed.columns[PackedTimeline::Skips].size());
}

} // namespace

TEST(Base91, KeepsEveryByteInPrintableAsciiWithoutLess)
{
    for (const std::size_t size : {0, 1, 2, 3, 12, 13, 14, 1000}) {
        const std::string bytes = randomBytes(size, unsigned(size));
        const std::string text = base91(bytes);
        EXPECT_EQ(bytesOfBase91(text, size), bytes);
        for (const char c : text)
            EXPECT_TRUE(c >= ' ' && c <= '~' && c != '<') << int(c);
    }
}

TEST(Base64, IsThatOfRfc4648)
{
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Deflated, HoldsThePartsOneBehindTheOther)
{
    const std::vector<std::string> parts{"", std::string(100'000, 'a'), randomBytes(100'000, 1), "end"};
    const std::string packed = deflated(parts);
    EXPECT_EQ(inflated(packed), parts[1] + parts[2] + parts[3]);
    EXPECT_LT(packed.size(), 101'000U);
    EXPECT_EQ(inflated(deflated({})), "");
}

TEST(Planes, AreTheBytesOfAColumnFromLowToHigh)
{
    const std::vector<std::uint64_t> column{0x01'02, 0x03, 0x0A'00'0B};
    const std::vector<std::string> planes{{"\x02\x03\x0B", 3}, {"\x01\x00\x00", 3}, {"\x00\x00\x0A", 3}};
    EXPECT_EQ(planesOf(column), planes);
    EXPECT_TRUE(planesOf(std::vector<std::uint64_t>{0, 0}).empty());
    EXPECT_EQ(planesOf(std::vector<std::uint64_t>{~std::uint64_t{0}}).size(), 8U);
}

TEST(PackedTimeline, DescribesEveryBox)
{
    FakeTrace trace;
    trace.step(0, 0, 1000).range("step/forward", 10, 400).range("step/backward", 400, 990);
    trace.op("aten::linear", 20, 90);
    trace.op("aten::addmm", 30, 80).op("aten::t", 90, 90).op("aten::mm", 95, 300);
    trace.call("cudaLaunchKernel", ApiKind::Launch, 40, 45);
    trace.kernel("gemm", 50, 5'000'000'050).kernel("gemm", 60, 70).on(8).kernel("softmax", 70, 70).on(8);
    expectRoundTrip(timelineOf(trace));
}

TEST(PackedTimeline, DescribesRandomBoxesOfOverlappingRows)
{
    std::mt19937 random(7);
    FakeTrace trace;
    std::int64_t time = 0;
    for (int i = 0; i < 2'000; ++i) {
        time += random() % 50;
        trace.kernel("k" + std::to_string(random() % 300), time, time + std::int64_t(random() % 200))
            .on(7 + random() % 3);
    }
    expectRoundTrip(timelineOf(trace));
}

TEST(PackedTimeline, DescribesMemoryThatGrowsAndShrinks)
{
    FakeTrace trace;
    trace.alloc(1, 5000, 10).alloc(2, 300, 20).free(1, 5000, 30).alloc(3, 1, 70'000);
    const Timeline timeline = timelineOf(trace);
    const PackedTimeline packed = pack(timeline);
    ASSERT_EQ(packed.curves.size(), 1U);
    const Lane& lane = timeline.lanes.at(packed.curves[0].lane);
    std::int64_t time = 0;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
    for (std::size_t i = 0; i < packed.curves[0].points; ++i) {
        time += std::int64_t(packed.columns[PackedTimeline::Times][i]);
        allocated += signedOf(packed.columns[PackedTimeline::Allocated][i]);
        reserved += signedOf(packed.columns[PackedTimeline::Reserved][i]);
        EXPECT_EQ(allocated, lane.allocated.at(time));
        EXPECT_EQ(reserved, lane.reserved.at(time));
    }
    EXPECT_EQ(allocated, 301);
}

TEST(PackedTimeline, HasTheValuesOfCounters)
{
    Timeline timeline;
    Lane& lane = timeline.lanes.emplace_back();
    lane.kind = Lane::Kind::Counter;
    lane.values = query::StepCurve({10, 40, 90'000}, {1'980'000, 1'200'000, 1'755'500});
    const PackedTimeline packed = pack(timeline);
    ASSERT_EQ(packed.curves.size(), 1U);
    ASSERT_EQ(packed.curves[0].points, 3U);
    std::int64_t time = 0;
    std::int64_t value = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        time += std::int64_t(packed.columns[PackedTimeline::Times][i]);
        value += signedOf(packed.columns[PackedTimeline::Allocated][i]);
        EXPECT_EQ(packed.columns[PackedTimeline::Reserved][i], 0U);
        EXPECT_EQ(time, lane.values.time(i));
        EXPECT_EQ(value, lane.values.value(i));
    }
}

TEST(PackedTimeline, TakesAtMostFiveMegabytesForAMillionBoxes)
{
    // Noise without a pattern: kernels and gaps of some microseconds, some dozens of names.
    constexpr int kBoxes = 200'000;
    constexpr int kStreams = 16;
    std::mt19937 random(3);
    Timeline timeline;
    for (int stream = 0; stream < kStreams; ++stream) {
        query::TrackBuilder row;
        std::int64_t time = 0;
        for (int i = 0; i < kBoxes / kStreams; ++i) {
            time += std::int64_t(random() % 4'096);
            const std::int64_t end = time + 1'000 + std::int64_t(random() % 8'192);
            row.add(time, end, random() % 64, Hue::Matmul);
            time = end;
        }
        timeline.lanes.emplace_back().rows.push_back(std::move(row).build());
    }
    std::vector<std::string> parts;
    for (const std::vector<std::uint64_t>& column : pack(timeline).columns)
        for (std::string& plane : planesOf(column))
            parts.push_back(std::move(plane));
    EXPECT_LT(base91(deflated(parts)).size(), 5'000'000U / (1'000'000 / kBoxes));
}

} // namespace tilescope::exchange
