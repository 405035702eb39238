#include "core/exchange/export/perfetto_export.h"

#include "core/base/error.h"
#include "core/exchange/export/host_events.h"
#include "core/exchange/export/perfetto_fields.h"
#include "tests/unit/exchange/export_fixture.h"

#include <gmock/gmock.h>
#include <protozero/pbf_reader.hpp>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace tilescope::exchange {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using namespace perfetto; // NOLINT(google-build-using-namespace): field numbers
using protozero::pbf_reader;

struct GpuEvent {
    std::uint64_t id = 0;
    std::uint64_t start = 0;
    std::uint64_t duration = 0;
    std::int32_t pid = 0;
    std::int32_t gpu = 0;
    std::uint64_t queueIid = 0;
    std::string queue = {};
    std::string stage = {};
    std::string name = {};
    std::string kernel = {};
    std::vector<std::uint32_t> grid = {};
    std::map<std::string, std::uint64_t> args = {};
    std::map<std::string, std::string> extra = {};
};

struct Slice {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::string name = {};
    std::string track = {}; ///< "pid/name of the thread"
    std::uint64_t uuid = 0;
    std::map<std::string, std::string> annotations = {};
    std::vector<std::uint64_t> submits = {};
    bool isInstant = false;
};

struct ExportedTrack {
    std::uint64_t parent = 0;
    std::string name = {};
    std::int32_t pid = 0;
    std::int64_t unit = 0;
};

/// A trace as a reader that knows the format sees it.
class Decoded {
public:
    explicit Decoded(const std::string& bytes)
    {
        pbf_reader trace(bytes);
        while (trace.next(trace::kPacket))
            addPacket(trace.get_message());
    }

    std::map<std::uint64_t, ExportedTrack> tracks;
    std::vector<GpuEvent> gpu;
    std::vector<Slice> slices;
    std::map<std::string, std::vector<std::int64_t>> counters;
    std::map<std::string, std::vector<double>> readings;
    std::int64_t packets = 0;

    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (const Slice& slice : slices)
            all.push_back(slice.name);
        return all;
    }
    const Slice& slice(std::string_view name) const { return *std::ranges::find(slices, name, &Slice::name); }

private:
    using Table = std::map<std::uint64_t, std::string>;

    void addPacket(pbf_reader packet)
    {
        std::uint64_t time = 0;
        std::uint32_t flags = 0;
        std::vector<pbf_reader> interned;
        std::vector<pbf_reader> trackEvents;
        std::vector<pbf_reader> stages;
        while (packet.next())
            switch (packet.tag()) {
            case packet::kTimestamp:
                time = packet.get_uint64();
                break;
            case packet::kSequenceFlags:
                flags = packet.get_uint32();
                break;
            case packet::kInternedData:
                interned.push_back(packet.get_message());
                break;
            case packet::kTrackDescriptor:
                addTrack(packet.get_message());
                break;
            case packet::kTrackEvent:
                trackEvents.push_back(packet.get_message());
                break;
            case packet::kRenderStageEvent:
                stages.push_back(packet.get_message());
                break;
            default:
                packet.skip();
            }
        EXPECT_EQ(flags, packets == 0 ? 3U : 2U);
        ++packets;
        for (pbf_reader& each : interned)
            intern(each);
        for (pbf_reader& each : stages)
            addStage(each, time);
        for (pbf_reader& each : trackEvents)
            addEvent(each, time);
    }

    void intern(pbf_reader& data)
    {
        while (data.next()) {
            const std::uint32_t kind = data.tag();
            pbf_reader entry = data.get_message();
            std::uint64_t iid = 0;
            std::string name;
            while (entry.next())
                if (entry.tag() == interned::kIid)
                    iid = entry.get_uint64();
                else if (kind == interned::kGraphicsContexts && entry.tag() == graphics_context::kPid)
                    name = std::to_string(entry.get_int32());
                else if (kind != interned::kGraphicsContexts && entry.tag() == interned::kName)
                    name = entry.get_string();
                else
                    entry.skip();
            EXPECT_NE(iid, 0U);
            EXPECT_TRUE(tables_[kind].emplace(iid, name).second) << "each text is written once";
        }
    }

    const std::string& look(std::uint32_t kind, std::uint64_t iid)
    {
        EXPECT_TRUE(tables_[kind].contains(iid)) << kind << " " << iid;
        return tables_[kind][iid];
    }

    void addTrack(pbf_reader descriptor)
    {
        std::uint64_t uuid = 0;
        ExportedTrack track;
        while (descriptor.next())
            switch (descriptor.tag()) {
            case track_descriptor::kUuid:
                uuid = descriptor.get_uint64();
                break;
            case track_descriptor::kParent:
                track.parent = descriptor.get_uint64();
                break;
            case track_descriptor::kName:
                track.name = descriptor.get_string();
                break;
            case track_descriptor::kProcess: {
                pbf_reader process = descriptor.get_message();
                while (process.next())
                    if (process.tag() == track_descriptor::kProcessPid)
                        track.pid = process.get_int32();
                    else if (process.tag() == track_descriptor::kProcessName)
                        track.name = process.get_string();
                    else
                        process.skip();
                break;
            }
            case track_descriptor::kThread: {
                pbf_reader thread = descriptor.get_message();
                while (thread.next())
                    if (thread.tag() == track_descriptor::kThreadPid)
                        track.pid = thread.get_int32();
                    else if (thread.tag() == track_descriptor::kThreadName)
                        track.name = thread.get_string();
                    else
                        thread.skip();
                break;
            }
            case track_descriptor::kCounter: {
                pbf_reader counter = descriptor.get_message();
                while (counter.next(track_descriptor::kCounterUnit))
                    track.unit = counter.get_enum();
                break;
            }
            default:
                descriptor.skip();
            }
        EXPECT_TRUE(track.parent == 0 || tracks.contains(track.parent));
        EXPECT_TRUE(tracks.emplace(uuid, track).second);
    }

    void addEvent(pbf_reader& event, std::uint64_t time)
    {
        std::int32_t type = 0;
        std::int64_t value = 0;
        std::optional<double> reading;
        Slice slice{.start = time, .end = time};
        while (event.next())
            switch (event.tag()) {
            case track_event::kType:
                type = event.get_enum();
                break;
            case track_event::kTrackUuid:
                slice.uuid = event.get_uint64();
                break;
            case track_event::kNameIid:
                slice.name = look(interned::kEventNames, event.get_uint64());
                break;
            case track_event::kCounterValue:
                value = event.get_int64();
                break;
            case track_event::kDoubleCounterValue:
                reading = event.get_double();
                break;
            case track_event::kAnnotation: {
                pbf_reader one = event.get_message();
                std::string key;
                while (one.next())
                    if (one.tag() == annotation::kNameIid)
                        key = look(interned::kAnnotationNames, one.get_uint64());
                    else if (one.tag() == annotation::kStringIid)
                        slice.annotations[key] = look(interned::kAnnotationStrings, one.get_uint64());
                    else
                        slice.annotations[key] = std::to_string(one.get_int64());
                break;
            }
            case track_event::kGpuCorrelation: {
                pbf_reader correlation = event.get_message();
                while (correlation.next(track_event::kSubmittedEvents))
                    slice.submits.push_back(correlation.get_uint64());
                break;
            }
            default:
                event.skip();
            }
        ASSERT_TRUE(tracks.contains(slice.uuid));
        const ExportedTrack& track = tracks[slice.uuid];
        slice.track = track.name;
        std::vector<std::size_t>& open = open_[slice.uuid];
        if (type == track_event::kCounterType) {
            reading ? readings[track.name].push_back(*reading) : counters[track.name].push_back(value);
        } else if (type == track_event::kSliceEnd) {
            ASSERT_FALSE(open.empty());
            slices[open.back()].end = time;
            open.pop_back();
        } else {
            slice.isInstant = type == track_event::kInstant;
            if (!slice.isInstant)
                open.push_back(slices.size());
            slices.push_back(slice);
        }
    }

    void addStage(pbf_reader& message, std::uint64_t time)
    {
        GpuEvent event{.start = time};
        while (message.next())
            switch (message.tag()) {
            case render_stage::kEventId:
                event.id = message.get_uint64();
                break;
            case render_stage::kDuration:
                event.duration = message.get_uint64();
                break;
            case render_stage::kContext:
                event.pid = std::stoi(look(interned::kGraphicsContexts, message.get_uint64()));
                break;
            case render_stage::kGpuId:
                event.gpu = message.get_int32();
                break;
            case render_stage::kQueueIid:
                event.queueIid = message.get_uint64();
                event.queue = look(interned::kGpuSpecifications, event.queueIid);
                break;
            case render_stage::kStageIid:
                event.stage = look(interned::kGpuSpecifications, message.get_uint64());
                break;
            case render_stage::kNameIid:
                event.name = look(interned::kEventNames, message.get_uint64());
                break;
            case render_stage::kKernelIid:
                event.kernel = look(interned::kComputeKernels, message.get_uint64());
                break;
            case render_stage::kLaunch:
                addLaunch(event, message.get_message());
                break;
            case render_stage::kExtraData: {
                pbf_reader extra = message.get_message();
                extra.next(render_stage::kExtraName);
                const std::string key = extra.get_string();
                extra.next(render_stage::kExtraValue);
                event.extra[key] = extra.get_string();
                break;
            }
            default:
                message.skip();
            }
        gpu.push_back(event);
    }

    void addLaunch(GpuEvent& event, pbf_reader launch)
    {
        while (launch.next())
            if (launch.tag() == render_stage::kGridSize) {
                pbf_reader sizes = launch.get_message();
                while (sizes.next())
                    event.grid.push_back(sizes.get_uint32());
            } else if (launch.tag() == render_stage::kLaunchArgs) {
                pbf_reader arg = launch.get_message();
                arg.next(render_stage::kArgNameIid);
                const std::string& name = look(interned::kComputeArgNames, arg.get_uint64());
                arg.next(render_stage::kArgUint);
                event.args[name] = arg.get_uint64();
            } else {
                launch.skip();
            }
    }

    std::map<std::uint32_t, Table> tables_;
    std::map<std::uint64_t, std::vector<std::size_t>> open_;
};

class PerfettoExporting : public Exporting {
protected:
    std::string bytesOf(const std::filesystem::path& file, const ExportOptions& options = {})
    {
        const store::RunReader reader(file);
        std::ostringstream out;
        figures = writePerfetto(out, reader, runOf(reader), options);
        return out.str();
    }

    PerfettoFigures figures;
};

TEST_F(PerfettoExporting, WritesKernelsWithLaunchAndLink)
{
    const Decoded trace(bytesOf(twoRanks()));
    ASSERT_EQ(trace.gpu.size(), 4U);
    const GpuEvent& kernel = trace.gpu.front();
    EXPECT_EQ(kernel.stage, kHostileNameWritten);
    EXPECT_EQ(kernel.name, kHostileNameWritten);
    EXPECT_EQ(kernel.kernel, kHostileNameWritten);
    EXPECT_EQ(kernel.queue, "stream 7 (rank 0)");
    EXPECT_EQ(kernel.start, 1500U);
    EXPECT_EQ(kernel.duration, 277U);
    EXPECT_THAT(kernel.grid, ElementsAre(3, 2, 1));
    EXPECT_EQ(kernel.args.at("registers_per_thread"), 40U);
    EXPECT_EQ(kernel.args.at("shared_mem_dynamic"), 1024U);
    EXPECT_EQ(kernel.extra.at("correlation"), "5");
    EXPECT_EQ(kernel.extra.at("collective"), "all_reduce");
    EXPECT_EQ(kernel.extra.at("ranks"), "0,1");
    EXPECT_EQ(kernel.extra.at("message bytes"), "64");
    EXPECT_EQ(trace.gpu.back().stage, "Memcpy HtoD (Pinned -> Device)");
    EXPECT_EQ(trace.gpu.back().extra.at("bytes"), "4096");
    EXPECT_NE(trace.gpu.front().gpu, trace.gpu.back().gpu) << "two ranks, two devices";
    EXPECT_NE(trace.gpu.front().pid, trace.gpu.back().pid) << "equal pids of two hosts stay apart";

    std::multiset<std::uint64_t> submitted;
    for (const Slice& slice : trace.slices)
        submitted.insert(slice.submits.begin(), slice.submits.end());
    EXPECT_THAT(submitted, UnorderedElementsAre(1, 2, 3, 4)) << "each event has one launch";
    EXPECT_EQ(figures.flows, 4);
    EXPECT_EQ(figures.launches, 0) << "all calls were recorded";
}

TEST_F(PerfettoExporting, NestsSlicesAndDropsNone)
{
    const std::filesystem::path file = twoRanks();
    const Decoded trace(bytesOf(file));
    const store::EventCounts counts = store::RunReader(file).counts(RunId{1});
    EXPECT_EQ(static_cast<std::int64_t>(trace.slices.size()),
              counts.ranges + counts.ops + counts.apiCalls + counts.frames);
    EXPECT_EQ(trace.slice("aten::mm").end - trace.slice("aten::mm").start, 200U);
    EXPECT_EQ(trace.slice("aten::mm").annotations.at("shapes"), "bf16[4, 8] f32[]");
    EXPECT_EQ(trace.slice("aten::mm").annotations.at("sequence"), "7");
    const Slice& instant = trace.slice(kHostileNameWritten);
    EXPECT_EQ(instant.start, 1150U);
    EXPECT_EQ(instant.end, 1150U);

    const Slice& first = trace.slice("first");
    const Slice& second = trace.slice("second");
    EXPECT_EQ(first.end, 1500U);
    EXPECT_EQ(second.start, 1400U);
    EXPECT_EQ(second.end, 1700U);
    EXPECT_NE(first.uuid, second.uuid) << "they overlap";
    EXPECT_EQ(trace.tracks.at(second.uuid).parent, first.uuid);
    EXPECT_EQ(second.track, first.track) << "a track of the same name";
    EXPECT_EQ(figures.moreTracks, 2);
}

TEST_F(PerfettoExporting, StandsInForLaunchesWithoutCalls)
{
    const Decoded trace(bytesOf(ownRun()));
    EXPECT_EQ(figures.launches, 2);
    EXPECT_EQ(figures.flows, 2);
    std::vector<std::uint64_t> times;
    for (const Slice& slice : trace.slices)
        if (slice.isInstant) {
            EXPECT_EQ(slice.name, "launch");
            EXPECT_EQ(slice.submits.size(), 1U);
            times.push_back(slice.start);
        }
    EXPECT_THAT(times, UnorderedElementsAre(1030, 1040));
    ASSERT_EQ(trace.gpu.size(), 3U);
    EXPECT_EQ(trace.gpu[0].queue, trace.gpu[1].queue);
    EXPECT_NE(trace.gpu[0].queueIid, trace.gpu[1].queueIid) << "they overlap on one stream";
    EXPECT_EQ(trace.gpu[0].queueIid, trace.gpu[2].queueIid);
}

TEST_F(PerfettoExporting, CountsMemoryInBytes)
{
    const Decoded trace(bytesOf(ownRun()));
    EXPECT_THAT(trace.counters.at("GPU 0 memory allocated"), ElementsAre(100, 0));
    EXPECT_THAT(trace.counters.at("GPU 0 memory reserved"), ElementsAre(200, 100));
    EXPECT_EQ(figures.counters, 4);
    for (const auto& [uuid, track] : trace.tracks)
        EXPECT_EQ(track.unit, track.name.starts_with("GPU") ? track_descriptor::kUnitBytes : 0);
}

TEST_F(PerfettoExporting, WritesCountersThatWereReadWhileTheRunWasTraced)
{
    const std::filesystem::path file = ownRun();
    RunId run;
    {
        testing::FakeTrace trace;
        trace.step(0, 1000, 2000).kernel("gemm", 1100, 1900);
        store::RunWriter writer(file, trace.strings());
        run = writer.beginRun({"x", "lm", R"({"workload":"lm"})", "h", "Tilescope test"});
        writer.write(trace.batch());
        writer.writeCounterTracks(std::array{CounterTrack{.name = "Power",
                                                          .unit = "W",
                                                          .device = DeviceIndex{0},
                                                          .end = at(2000),
                                                          .points = {{at(1000), 412'345}, {at(1500), 1}}}});
        writer.endRun({});
    }
    const Decoded trace(bytesOf(file));
    EXPECT_THAT(trace.readings.at("GPU 0 Power"), ElementsAre(412.345, 0.001));
    EXPECT_EQ(figures.readings, 2);
}

TEST_F(PerfettoExporting, LeavesOutWhoRecorded)
{
    const std::filesystem::path file = twoRanks();
    const std::string anonymous = bytesOf(file);
    for (const char* secret : {"secret-host", "ada/", "train.py "})
        EXPECT_THAT(anonymous, Not(HasSubstr(secret)));
    EXPECT_THAT(anonymous, HasSubstr(kHomeNameWritten));
    const std::string named = bytesOf(file, {.withIdentity = true});
    for (const std::string_view secret : {std::string_view("secret-host"), kHomeName})
        EXPECT_THAT(named, HasSubstr(secret));
}

TEST_F(PerfettoExporting, RefusesARunWithoutEvents)
{
    const std::filesystem::path file = folder / "empty.tscope";
    StringTable strings;
    {
        store::RunWriter writer(file, strings);
        writer.beginRun({"x", "lm", R"({"workload":"lm"})", "h", "Tilescope test"});
        writer.endRun({});
    }
    EXPECT_THROW(bytesOf(file), Error);
}

TEST_F(Exporting, HostEventsComeInOrderHoweverFewAreReadAtOnce)
{
    const store::RunReader reader(twoRanks());
    std::vector<std::vector<std::pair<Timestamp, Timestamp>>> readings;
    for (const std::size_t most : {1, 2, 3, 1000}) {
        std::vector<std::pair<Timestamp, Timestamp>> events;
        eachHostEvent(
            reader, RunId{1},
            [&](const HostEvent& event) { events.emplace_back(startOf(event), endOf(event)); }, most);
        readings.push_back(events);
    }
    const store::EventCounts counts = reader.counts(RunId{1});
    for (const auto& events : readings) {
        EXPECT_EQ(events, readings.front());
        EXPECT_EQ(static_cast<std::int64_t>(events.size()),
                  counts.ranges + counts.ops + counts.apiCalls + counts.frames);
        EXPECT_TRUE(std::ranges::is_sorted(events, {}, [](const auto& event) { return event.first; }));
    }
}

} // namespace
} // namespace tilescope::exchange
