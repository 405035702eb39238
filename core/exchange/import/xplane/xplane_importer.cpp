#include "core/exchange/import/xplane/xplane_importer.h"

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/plural.h"
#include "core/exchange/import/import_progress.h"
#include "core/exchange/import/xplane/xplane_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace tilescope::exchange {

namespace {

constexpr Bytes kLargestFile{std::int64_t{4} << 30};
constexpr std::string_view kDevicePlane = "/device:GPU:";
constexpr std::string_view kHostPlane = "/host:";

std::optional<std::int64_t> numberIn(std::string_view text)
{
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} ? std::optional(number) : std::nullopt;
}

/// Calls `take(key, value)` for each word `key:value` of a text: `grid:32,16,2 block:256,1,1 occ_pct:0`.
template <class Take> void eachDetail(std::string_view text, Take&& take)
{
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
        const std::string_view word = text.substr(0, end);
        if (const std::size_t colon = word.find(':'); colon != std::string_view::npos)
            take(word.substr(0, colon), word.substr(colon + 1));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

std::uint32_t boundedCount(std::optional<std::int64_t> value)
{
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value.value_or(0), 0, kMost));
}

std::array<std::uint32_t, 3> dimensionsIn(std::string_view text)
{
    std::array<std::uint32_t, 3> sizes{};
    for (std::uint32_t& size : sizes) {
        const std::size_t comma = std::min(text.find(','), text.size());
        size = boundedCount(numberIn(text.substr(0, comma)));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return sizes;
}

LaunchConfig launchIn(std::string_view details)
{
    LaunchConfig launch;
    eachDetail(details, [&](std::string_view key, std::string_view value) {
        if (key == "grid")
            launch.grid = dimensionsIn(value);
        else if (key == "block")
            launch.block = dimensionsIn(value);
        else if (key == "regs")
            launch.registersPerThread = boundedCount(numberIn(value));
        else if (key == "static_shared")
            launch.staticShared = boundedCount(numberIn(value));
        else if (key == "dynamic_shared" || key == "group_mem")
            launch.dynamicShared = boundedCount(numberIn(value));
        else if (key == "private_mem")
            launch.localPerThread = boundedCount(numberIn(value));
    });
    return launch;
}

CopyKind copyKindOf(std::string_view name)
{
    struct Word {
        std::string_view text;
        CopyKind kind;
    };
    constexpr std::array kWords{Word{"H2D", CopyKind::HostToDevice},
                                Word{"HtoD", CopyKind::HostToDevice},
                                Word{"D2H", CopyKind::DeviceToHost},
                                Word{"DtoH", CopyKind::DeviceToHost},
                                Word{"D2D", CopyKind::DeviceToDevice},
                                Word{"DtoD", CopyKind::DeviceToDevice},
                                Word{"H2H", CopyKind::HostToHost},
                                Word{"P2P", CopyKind::PeerToPeer},
                                Word{"HostToDevice", CopyKind::HostToDevice},
                                Word{"DeviceToHost", CopyKind::DeviceToHost},
                                Word{"DeviceToDevice", CopyKind::DeviceToDevice}};
    const auto* word = std::ranges::find_if(
        kWords, [&](const Word& known) { return name.find(known.text) != std::string_view::npos; });
    return word == kWords.end() ? CopyKind::Other : word->kind;
}

/// Reads one file into the builder. One thread.
class XplaneReader {
public:
    XplaneReader(TraceBuilder& builder, ImportProgress& progress) : builder_(builder), progress_(progress) {}

    void read(const XSpace& space)
    {
        TracedProcess facts{.host = space.host,
                            .clock = builder_.addClock({.name = space.host, .method = ""})};
        for (const XPlane& plane : space.planes)
            if (const XStat* start = plane.stat("profile_start_time"))
                facts.startedUnixNs = start->number;
        process_ = builder_.addProcess(std::move(facts));
        for (const XPlane& plane : space.planes)
            if (plane.name.starts_with(kDevicePlane))
                readDevice(plane);
            else if (plane.name.starts_with(kHostPlane))
                for (const XLine& line : plane.lines)
                    readThread(plane, line);
            else
                for (const XLine& line : plane.lines)
                    loseOther(plane, line);
    }

    std::int64_t ranges() const { return ranges_; }

private:
    void lose(const XLine& line, std::string_view what, RecordLoss kind = RecordLoss::SourceNotStored)
    {
        const std::int64_t events = line.countEvents();
        builder_.countRecord(events);
        if (events > 0)
            builder_.addLoss(kind, events, what);
    }

    /// Counts the events of a plane that is not read: of another device, or of facts without times.
    void loseOther(const XPlane& plane, const XLine& line)
    {
        constexpr std::size_t kLongest = 40;
        if (plane.name.starts_with("/device:"))
            lose(line, plane.name.substr(0, kLongest), RecordLoss::DeviceNotRead);
        else
            lose(line, "planes that are no device");
    }

    /// False for an event without a place in time: a sum over many, or damage.
    bool isTimed(const XLine& line, const XEvent& event)
    {
        progress_.step();
        builder_.countRecord();
        constexpr std::int64_t kLatest = std::int64_t{1} << 61;
        if (event.isSum) {
            builder_.addLoss(RecordLoss::SourceNotStored, 1, "sums over several events");
            return false;
        }
        if (line.timestampNs < -kLatest || line.timestampNs > kLatest || event.offsetPs < 0 ||
            event.durationPs < 0 ||
            event.durationPs > std::numeric_limits<std::int64_t>::max() - event.offsetPs) {
            builder_.addLoss(RecordLoss::SourceUnreadable, 1, line.name);
            return false;
        }
        return true;
    }
    static Timestamp at(const XLine& line, std::int64_t offsetPs)
    {
        constexpr std::int64_t kPsPerNs = 1000;
        return timestampAt(line.timestampNs + offsetPs / kPsPerNs);
    }
    static std::uint32_t correlationOf(const XPlane& plane, const XEvent& event)
    {
        const XStat* stat = plane.stat(event, "correlation_id");
        return stat && stat->number ? boundedCount(*stat->number) : 0;
    }

    void readDevice(const XPlane& plane)
    {
        constexpr std::int64_t kMostDevices = 4096;
        const auto ordinal = numberIn(plane.name.substr(kDevicePlane.size()));
        if (!ordinal || *ordinal < 0 || *ordinal >= kMostDevices) {
            for (const XLine& line : plane.lines)
                lose(line, "GPUs without a number", RecordLoss::SourceUnreadable);
            return;
        }
        if (plane.lines.empty())
            return;
        TracedDevice facts;
        facts.ordinal = static_cast<std::int32_t>(*ordinal);
        if (const XStat* memory = plane.stat("memory_size"); memory && memory->number)
            facts.memory = Bytes{*memory->number};
        if (const XStat* cores = plane.stat("core_count"); cores && cores->number)
            facts.multiprocessors = static_cast<std::int32_t>(boundedCount(*cores->number) & 0xffff);
        if (const XStat* name = plane.stat("device_type_string"))
            facts.name = name->text;
        const XStat* major = plane.stat("compute_cap_major");
        const XStat* minor = plane.stat("compute_cap_minor");
        if (major && minor && major->number && minor->number)
            facts.capability = std::to_string(*major->number) + "." + std::to_string(*minor->number);
        const DeviceIndex device = builder_.addDevice(process_, std::move(facts));
        for (const XLine& line : plane.lines)
            // Other lines repeat the same time, by module, op or step.
            if (line.name.starts_with("Stream"))
                readStream(plane, line, device);
            else
                lose(line, "lines that XLA derives from the streams");
    }

    void readStream(const XPlane& plane, const XLine& line, DeviceIndex device)
    {
        const StreamId stream = builder_.stream(process_, device, line.id);
        line.eachEvent([&](const XEvent& event) {
            if (!isTimed(line, event))
                return;
            ForeignActivity activity;
            activity.name = plane.nameOf(event);
            if (activity.name.empty())
                activity.name = "(unnamed kernel)";
            activity.device = device;
            activity.stream = stream;
            activity.correlation = correlationOf(plane, event);
            activity.start = at(line, event.offsetPs);
            activity.end = at(line, event.offsetPs + event.durationPs);
            describe(plane, event, activity);
            builder_.addActivity(activity);
        });
    }

    static void describe(const XPlane& plane, const XEvent& event, ForeignActivity& activity)
    {
        const XStat* copy = plane.stat(event, "memcpy_details");
        const XStat* set = plane.stat(event, "memset_details");
        if (const XStat* details = plane.stat(event, "kernel_details"))
            activity.launch = launchIn(details->text);
        else if (copy || activity.name.starts_with("Memcpy") || activity.name.starts_with("Copy")) {
            activity.kind = DeviceEventKind::Memcpy;
            activity.copy = copyKindOf(activity.name);
        } else if (set || activity.name.starts_with("Memset") || activity.name.starts_with("Fill"))
            activity.kind = DeviceEventKind::Memset;
        if (const XStat* details = copy ? copy : set)
            eachDetail(details->text, [&](std::string_view key, std::string_view value) {
                if (key == "size" || key == "num_bytes")
                    activity.bytes = std::max<std::int64_t>(numberIn(value).value_or(0), 0);
            });
    }

    void readThread(const XPlane& plane, const XLine& line)
    {
        const ThreadId thread = builder_.thread(process_, line.id, line.name);
        line.eachEvent([&](const XEvent& event) {
            if (isTimed(line, event))
                addHostEvent(plane, thread, event, at(line, event.offsetPs),
                             at(line, event.offsetPs + event.durationPs));
        });
    }

    void addHostEvent(const XPlane& plane, ThreadId thread, const XEvent& event, Timestamp start,
                      Timestamp end)
    {
        std::string_view name = plane.nameOf(event);
        const bool isCall = name.starts_with("hip") || name.starts_with("cu");
        const std::uint32_t correlation = isCall ? correlationOf(plane, event) : 0;
        if (correlation != 0) {
            // The op of XLA that the call launches stands on the call, not around it.
            if (const XStat* op = plane.stat(event, "hlo_op"); op && !op->text.empty())
                builder_.addOp({.thread = thread, .name = op->text, .start = start, .end = end});
            builder_.addApiCall(thread, name, correlation, start, end);
            return;
        }
        if (start == end) {
            builder_.addLoss(RecordLoss::SourceNotStored, 1, "host events without a duration");
            return;
        }
        if (name.starts_with('$')) { // of the Python tracer: $train.py:96 step
            builder_.addFrame(thread, name.substr(1), start, end);
            return;
        }
        ++ranges_;
        if (name.empty())
            name = "(unnamed range)";
        const XStat* step = plane.stat(event, "step_num");
        if (step && step->number)
            builder_.addRange(thread, std::string(name) + " " + std::to_string(*step->number), start, end,
                              SpanKind::Step);
        else
            builder_.addRange(thread, name, start, end);
    }

    TraceBuilder& builder_;
    ImportProgress& progress_;
    ProcessIndex process_;
    std::int64_t ranges_ = 0;
};

} // namespace

bool XplaneImporter::matches(std::string_view head, const std::filesystem::path&) const
{
    const std::string_view name = firstPlaneName(head);
    return name.starts_with(kHostPlane) || name.starts_with("/device:") || name == "Task Environment";
}

std::string XplaneImporter::read(const std::filesystem::path& file, TraceBuilder& builder,
                                 const ImportWatch& watch) const
{
    const std::string bytes = readInputFile(file, kLargestFile, "profile of JAX");
    const std::int64_t before = builder.kernels();
    try {
        const XSpace space(bytes);
        std::int64_t events = 0;
        for (const XPlane& plane : space.planes)
            for (const XLine& line : plane.lines)
                events += line.countEvents();
        ImportProgress progress(watch, file.string(), events);
        XplaneReader reader(builder, progress);
        reader.read(space);
        return fmt::format("{}: {}, {}", file.filename().string(),
                           counted(builder.kernels() - before, "kernel"), counted(reader.ranges(), "range"));
    } catch (const XplaneDamage& damage) {
        throw Error{.what = std::string("not a whole profile of JAX: ") + damage.what(),
                    .where = file.string(),
                    .remedy = "copy it again"};
    }
}

} // namespace tilescope::exchange
