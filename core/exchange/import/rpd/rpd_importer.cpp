#include "core/exchange/import/rpd/rpd_importer.h"

#include "core/base/number_text.h"
#include "core/base/plural.h"
#include "core/exchange/import/import_progress.h"
#include "core/exchange/import/rules/event_times.h"
#include "core/model/nvtx_op.h"
#include "core/store/file/foreign_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

namespace tilescope::exchange {

namespace {

using Rows = store::ForeignDatabase::Rows;

/// Reads one file into the builder. One thread.
class RpdReader {
public:
    RpdReader(const store::ForeignDatabase& database, TraceBuilder& builder, ImportProgress& progress)
        : database_(database), builder_(builder), progress_(progress)
    {
    }

    void read()
    {
        readStrings("rocpd_string", strings_);
        readStrings("rocpd_ustring", arguments_);
        Rows metadata = database_.read("rocpd_metadata", {"tag", "value"});
        while (metadata.next())
            if (metadata.text(0) == "schema_version")
                builder_.addEnvironment({.key = "rpd.schema", .value = std::string(metadata.text(1))});
        clock_ = builder_.addClock({.name = "host", .method = ""});
        readLinks();
        readKernelLaunches();
        readCopyCalls();
        readMarkedOps();
        readCalls();
        readActivities();
        readMonitors();
        for (const char* table : {"rocpd_counter", "rocpd_stackframe", "rocpd_barrierop"})
            if (const std::int64_t rows = database_.countRows(table); rows > 0)
                builder_.addLoss(RecordLoss::SourceNotStored, rows, table);
    }

    std::int64_t ranges() const { return ranges_; }
    std::int64_t ops() const { return ops_; }

private:
    using Strings = std::unordered_map<std::int64_t, std::string>;

    /// A call that put activities on a device.
    struct Call {
        std::uint32_t correlation = 0;
        ProcessIndex process;
        LaunchConfig launch = {};
        std::int64_t kernelName = 0; ///< rocpd_string
        std::int64_t bytes = 0;
    };
    /// What rocmProfileData took out of the text of a marker.
    struct MarkedOp {
        std::int64_t name = 0;
        std::int64_t sequence = -1;
        std::string sizes;
    };

    void readStrings(std::string_view table, Strings& strings)
    {
        constexpr std::size_t kLongest = 64 << 10;
        Rows rows = database_.read(table, {"id", "string"});
        while (rows.next())
            if (const auto id = rows.integer(0))
                strings.emplace(*id, rows.text(1).substr(0, kLongest));
    }

    static std::string_view textOf(const Strings& strings, std::int64_t id)
    {
        const auto found = strings.find(id);
        return found == strings.end() ? std::string_view() : found->second;
    }

    void readLinks()
    {
        Rows rows = database_.read("rocpd_api_ops", {"api_id", "op_id"});
        while (rows.next()) {
            const auto call = rows.integer(0);
            const auto activity = rows.integer(1);
            if (!call || !activity)
                continue;
            callOf_.try_emplace(*activity, *call);
            calls_.try_emplace(*call);
        }
    }

    std::uint32_t countOf(const Rows& rows, int column) const
    {
        constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(rows.integerOr(column, 0), 0, kMost));
    }

    void readKernelLaunches()
    {
        Rows rows = database_.read("rocpd_kernelapi",
                                   {"api_ptr_id", "gridX", "gridY", "gridZ", "workgroupX", "workgroupY",
                                    "workgroupZ", "groupSegmentSize", "privateSegmentSize", "kernelName_id"});
        while (rows.next()) {
            const auto call = calls_.find(rows.integerOr(0, -1));
            if (call == calls_.end())
                continue;
            LaunchConfig& launch = call->second.launch;
            for (int i = 0; i < 3; ++i) {
                launch.grid[static_cast<std::size_t>(i)] = countOf(rows, 1 + i);
                launch.block[static_cast<std::size_t>(i)] = countOf(rows, 4 + i);
            }
            launch.dynamicShared = countOf(rows, 7);
            launch.localPerThread = countOf(rows, 8);
            call->second.kernelName = rows.integerOr(9, 0);
        }
    }

    void readCopyCalls()
    {
        Rows rows = database_.read("rocpd_copyapi", {"api_ptr_id", "size"});
        while (rows.next())
            if (const auto call = calls_.find(rows.integerOr(0, -1)); call != calls_.end())
                call->second.bytes = std::max<std::int64_t>(rows.integerOr(1, 0), 0);
    }

    void readMarkedOps()
    {
        Rows rows = database_.read("ext_autogradapi", {"api_ptr_id", "autogradName_id", "seq", "sizes"});
        while (rows.next())
            if (const auto call = rows.integer(0))
                markedOps_[*call] = {rows.integerOr(1, 0), rows.integerOr(2, -1), std::string(rows.text(3))};
    }

    ProcessIndex process(std::int64_t pid)
    {
        const auto [known, isNew] = processes_.try_emplace(pid);
        if (isNew)
            known->second = builder_.addProcess({.pid = pid, .clock = clock_});
        return known->second;
    }

    void readCalls()
    {
        Rows rows =
            database_.read("rocpd_api", {"id", "pid", "tid", "start", "end", "apiName_id", "args_id"});
        std::uint32_t correlations = 0;
        while (rows.next()) {
            progress_.step();
            builder_.countRecord();
            const auto times = intervalOf(rows.integer(3), rows.integer(4), "HIP calls", builder_);
            if (!times)
                continue;
            const std::int64_t id = rows.integerOr(0, 0);
            const ProcessIndex caller = process(rows.integerOr(1, 0));
            const ThreadId thread = builder_.thread(caller, rows.integerOr(2, 0));
            const std::string_view name = textOf(strings_, rows.integerOr(5, 0));
            std::uint32_t correlation = 0;
            if (const auto call = calls_.find(id); call != calls_.end()) {
                call->second.correlation = correlation = ++correlations;
                call->second.process = caller;
                if (name.starts_with("hipExtModuleLaunch") || name.starts_with("hipHccModuleLaunch"))
                    divideGrid(call->second.launch);
            }
            // Older files have the arguments among the names.
            const std::int64_t arguments = rows.integerOr(6, 0);
            const bool own = database_.hasTable("rocpd_ustring");
            addCall(id, thread, name, textOf(own ? arguments_ : strings_, arguments), correlation, *times);
        }
    }

    /// These functions take the grid in threads, not blocks.
    static void divideGrid(LaunchConfig& launch)
    {
        for (std::size_t i = 0; i < launch.grid.size(); ++i)
            if (launch.block[i] > 0)
                launch.grid[i] = launch.grid[i] / launch.block[i] + (launch.grid[i] % launch.block[i] != 0);
    }

    void addCall(std::int64_t id, ThreadId thread, std::string_view name, std::string_view arguments,
                 std::uint32_t correlation, const Interval& times)
    {
        constexpr std::array<std::string_view, 4> kPrefixes{"hip", "hsa", "cuda", "cu"};
        const auto beginsName = [&](std::string_view prefix) {
            return name.starts_with(prefix) && name.size() > prefix.size();
        };
        if (name == "UserMarker")
            addMarker(id, thread, arguments, times);
        else if (std::ranges::any_of(kPrefixes, beginsName))
            builder_.addApiCall(thread, name, correlation, times.start, times.end);
        else if (name.ends_with("Table::writeRows") || name == "hcc_activity_callback" || name == "rpdflush")
            builder_.addOverhead(thread, name, times.start, times.end);
        else
            addRange(thread, name, times);
    }

    void addMarker(std::int64_t id, ThreadId thread, std::string_view text, const Interval& times)
    {
        if (times.start == times.end) {
            builder_.addLoss(RecordLoss::SourceNotStored, 1, "roctx marks");
            return;
        }
        std::optional<NvtxOp> op = parseNvtxOp(text);
        if (const auto marked = markedOps_.find(id); marked != markedOps_.end()) {
            const std::string_view name = textOf(strings_, marked->second.name);
            op = NvtxOp{.name = name.empty() ? text : name,
                        .sequence = marked->second.sequence,
                        .shapes = shapesOfSizes(marked->second.sizes)};
            op->isBackward = isBackwardOp(op->name);
        }
        if (!op)
            return addRange(thread, text, times);
        builder_.addOp({.thread = thread,
                        .name = op->name,
                        .shapes = op->shapes,
                        .sequence = op->sequence,
                        .isBackward = op->isBackward,
                        .start = times.start,
                        .end = times.end});
        ++ops_;
    }

    void addRange(ThreadId thread, std::string_view name, const Interval& times)
    {
        builder_.addRange(thread, name.empty() ? "(unnamed range)" : name, times.start, times.end);
        ++ranges_;
    }

    void readActivities()
    {
        Rows rows = database_.read("rocpd_op",
                                   {"id", "gpuId", "queueId", "start", "end", "description_id", "opType_id"});
        while (rows.next()) {
            progress_.step();
            builder_.countRecord();
            readActivity(rows);
        }
    }

    /// Values of sensors of the GPUs that are used, each from its start to its end.
    void readMonitors()
    {
        constexpr double kMost = 4e15; // so that differences of thousandths fit 64 bits
        std::map<std::pair<std::int64_t, std::string>, CounterTrack> tracks;
        Rows rows = database_.read("rocpd_monitor", {"deviceId", "monitorType", "start", "end", "value"});
        while (rows.next()) {
            builder_.countRecord();
            const auto start = rows.integer(2);
            const auto end = rows.integer(3);
            const auto value = parseNumber<double>(rows.text(4));
            const std::int64_t gpu = rows.integerOr(0, -1);
            const bool isUsed = gpu >= 0 && gpu <= std::numeric_limits<std::int32_t>::max() &&
                                builder_.knownDevice({}, static_cast<std::int32_t>(gpu));
            if (!start || !end || !value || std::isnan(*value) || !isUsed) {
                builder_.addLoss(RecordLoss::SourceNotStored, 1, "rocpd_monitor");
                continue;
            }
            CounterTrack& track = tracks[{gpu, std::string(rows.text(1))}];
            track.points.push_back(
                {timestampAt(*start), std::llround(std::clamp(*value, -kMost, kMost) * kPartsOfCounterUnit)});
            track.end = std::max(track.end, timestampAt(*end));
        }
        for (auto& [key, track] : tracks) {
            track.name = key.second;
            track.device = builder_.knownDevice({}, static_cast<std::int32_t>(key.first));
            builder_.addCounter(processes_.begin()->second, std::move(track));
        }
    }

    void readActivity(const Rows& rows)
    {
        constexpr std::int64_t kMostDevices = 4096;
        const auto times = intervalOf(rows.integer(3), rows.integer(4), "device activities", builder_);
        const std::int64_t gpu = rows.integerOr(1, 0);
        if (!times)
            return;
        if (gpu < 0 || gpu >= kMostDevices) {
            builder_.addLoss(RecordLoss::SourceUnreadable, 1, "device activities");
            return;
        }
        ForeignActivity activity;
        if (!describe(activity, textOf(strings_, rows.integerOr(6, 0)))) {
            builder_.addLoss(RecordLoss::SourceNotStored, 1, "barriers of queues");
            return;
        }
        const auto link = callOf_.find(rows.integerOr(0, 0));
        const auto call = link == callOf_.end() ? calls_.end() : calls_.find(link->second);
        // An activity without a call is taken to be of the first process.
        ProcessIndex owner = call == calls_.end() ? ProcessIndex{} : call->second.process;
        if (!owner)
            owner = processes_.empty() ? process(0) : processes_.begin()->second;
        if (activity.kind == DeviceEventKind::Kernel) {
            activity.name = textOf(strings_, rows.integerOr(5, 0));
            if (activity.name.empty() && call != calls_.end())
                activity.name = textOf(strings_, call->second.kernelName);
            if (activity.name.empty())
                activity.name = "(unnamed kernel)";
        }
        if (call != calls_.end()) {
            activity.correlation = call->second.correlation;
            activity.launch = activity.kind == DeviceEventKind::Kernel ? call->second.launch : LaunchConfig{};
            activity.bytes = activity.kind == DeviceEventKind::Memcpy ? call->second.bytes : 0;
        }
        activity.device = builder_.device(owner, static_cast<std::int32_t>(gpu));
        activity.stream = builder_.stream(owner, activity.device, rows.integerOr(2, 0));
        activity.start = times->start;
        activity.end = times->end;
        builder_.addActivity(activity);
    }

    /// Fills kind and name of an activity; false for one that does no work.
    static bool describe(ForeignActivity& activity, std::string_view type)
    {
        struct Copy {
            std::string_view type;
            CopyKind kind;
            std::string_view name;
        };
        constexpr std::array kCopies{Copy{"HostToDevice", CopyKind::HostToDevice, "Memcpy HtoD"},
                                     Copy{"DeviceToHost", CopyKind::DeviceToHost, "Memcpy DtoH"},
                                     Copy{"DeviceToDevice", CopyKind::DeviceToDevice, "Memcpy DtoD"},
                                     Copy{"HostToHost", CopyKind::HostToHost, "Memcpy HtoH"}};
        if (type.starts_with("Copy") || type.starts_with("copy")) {
            const auto* copy = std::ranges::find_if(
                kCopies, [&](const Copy& known) { return type.find(known.type) != std::string_view::npos; });
            activity.kind = DeviceEventKind::Memcpy;
            activity.copy = copy == kCopies.end() ? CopyKind::Other : copy->kind;
            activity.name = copy == kCopies.end() ? "Memcpy" : copy->name;
        } else if (type.starts_with("Fill")) {
            activity.kind = DeviceEventKind::Memset;
            activity.name = "Memset";
        } else {
            return !type.starts_with("Barrier") && !type.starts_with("Marker");
        }
        return true;
    }

    const store::ForeignDatabase& database_;
    TraceBuilder& builder_;
    ImportProgress& progress_;
    ClockIndex clock_;
    Strings strings_;
    Strings arguments_;
    std::unordered_map<std::int64_t, std::int64_t> callOf_; ///< id of rocpd_api, by id of rocpd_op
    std::unordered_map<std::int64_t, Call> calls_;          ///< by id of rocpd_api
    std::unordered_map<std::int64_t, MarkedOp> markedOps_;  ///< by id of rocpd_api
    std::unordered_map<std::int64_t, ProcessIndex> processes_;
    std::int64_t ranges_ = 0;
    std::int64_t ops_ = 0;
};

} // namespace

bool RpdImporter::matches(std::string_view head, const std::filesystem::path& file) const
{
    if (!store::ForeignDatabase::isDatabase(head))
        return false;
    const store::ForeignDatabase database(file);
    return database.hasColumn("rocpd_string", "string") &&
           (database.hasTable("rocpd_op") || database.hasTable("rocpd_api"));
}

std::string RpdImporter::read(const std::filesystem::path& path, TraceBuilder& builder,
                              const ImportWatch& watch) const
{
    const store::ForeignDatabase database(path);
    ImportProgress progress(watch, path.string(),
                            database.aboutRows("rocpd_api") + database.aboutRows("rocpd_op"));
    const std::int64_t before = builder.kernels();
    RpdReader reader(database, builder, progress);
    reader.read();
    return fmt::format("{}: {}, {}, {}", path.filename().string(),
                       counted(builder.kernels() - before, "kernel"), counted(reader.ranges(), "range"),
                       counted(reader.ops(), "op"));
}

} // namespace tilescope::exchange
