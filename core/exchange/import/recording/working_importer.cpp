#include "core/exchange/import/recording/working_importer.h"

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/plural.h"
#include "core/exchange/import/recording/recorded_collectives.h"
#include "core/exchange/import/recording/recorded_samples.h"
#include "core/exchange/import/snapshot_import.h"
#include "core/exchange/tables/text.h"
#include "core/model/flags.h"
#include "core/model/text.h"
#include "core/record/process_end.h"
#include "core/record/process_identity.h"
#include "core/record/working_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tilescope::exchange {

namespace {

constexpr const char* kStillRuns = "a process still runs: what it does from now on is missing";

/// Why a recording has no end.
/// \param noted  what `tilescope record` saw of the process' end; empty: nothing
std::string withoutEnd(const std::string& noted)
{
    const std::string lost = "; what it did last, usually less than 0.1 s, may be missing";
    if (noted.starts_with(record::kEndingSignal))
        return "the recording of a process has no end: " + noted + " killed the process" + lost;
    if (noted.starts_with(record::kExitStatus))
        return "the recording of a process has no end: the process ended without exit(), with " + noted +
               lost;
    if (!noted.empty())
        return noted + "; what the process did from then on is missing";
    return "the recording of a process has no end: the process ended without exit()" + lost;
}

/// Reads one process into the builder. One thread.
class WorkingReader {
public:
    WorkingReader(TraceBuilder& builder, const ImportWatch& watch, std::string file)
        : builder_(builder), watch_(watch), file_(std::move(file))
    {
    }

    void read(const std::filesystem::path& file)
    {
        const record::WorkingFileEnd end = record::readWorkingFile(
            file, [this](record::ProcessFacts&& facts) { take(facts); },
            [this](record::WorkingBlock&& block) { take(std::move(block)); });
        const std::string noted = record::endOf(file);
        const bool runs =
            noted == record::kRunsElsewhere ||
            record::stillRuns(facts_["host"], parseNumber<std::int64_t>(facts_["pid"]).value_or(0),
                              {.started = facts_["started"], .space = facts_["pid_namespace"]});
        const bool gaveUp = facts_.contains("record_ended");
        const bool hasEnd = gaveUp || facts_.contains(record::kFinished.first);
        if (!hasEnd)
            facts_["record_ended"] = runs ? kStillRuns : withoutEnd(noted);
        // A process that runs may be writing its last block.
        if (gaveUp || ((end.isCut || !hasEnd) && !runs))
            builder_.addLoss(RecordLoss::SourceCut);
        addEnvironment();
        if (process_)
            collectives_.addTo(builder_, process_);
        if (process_ && !samples_.threads.empty())
            builder_.addHostSamples(process_, std::move(samples_));
        if (process_ && !kernelSamples_.empty()) {
            builder_.keepKernelText(!facts_.contains("no_cubins"), facts_.contains("sources"));
            builder_.addKernelSamples(
                process_, kernelSamples_.take(facts_["inside_kernels"],
                                              [this](std::int32_t ordinal) { return device(ordinal); }));
        }
        for (const auto& [key, count] : losses_)
            builder_.addLoss(key.first, count, key.second);
        builder_.countRecord(records_);
    }

    std::int64_t ranges() const { return ranges_; }

    /// The memory snapshot that the process left, if PyTorch's own recorder noted its allocations. Its times are
    /// the wall clock's; it does not say which thread asked: the main one, in most programs.
    void readSnapshot(const std::filesystem::path& folder)
    {
        const auto name = facts_.find("snapshot");
        if (name == facts_.end() || !process_)
            return;
        const std::int64_t offset = parseNumber<std::int64_t>(facts_["unix_ns"]).value_or(0) -
                                    parseNumber<std::int64_t>(facts_["steady_ns"]).value_or(0);
        const ThreadId main = builder_.thread(process_, parseNumber<std::int64_t>(facts_["pid"]).value_or(0));
        ImportedSnapshot snapshot = readSnapshotFile(folder / name->second, builder_.strings());
        for (AllocEvent& event : snapshot.trace.allocEvents) {
            event.time -= Nanoseconds(offset);
            event.device = device(event.device.value);
            event.path = {};
            event.op = {};
            builder_.addAllocation(main, event);
        }
        for (const Loss& loss : snapshot.trace.losses)
            addLoss(builder_.strings().text(loss.kind), loss.count);
    }

private:
    void take(const record::ProcessFacts& facts)
    {
        for (const auto& [key, value] : facts)
            facts_[key] = validUtf8(value);
        if (process_)
            return;
        const std::string host = facts_["host"];
        // The steady clocks of one host are the same clock; the wall clock places them on one axis.
        const auto steady = parseNumber<std::int64_t>(facts_["steady_ns"]);
        const auto wall = parseNumber<std::int64_t>(facts_["unix_ns"]);
        const std::int64_t offset = steady && wall ? *wall - *steady : 0;
        const ClockIndex clock =
            builder_.addClock({.name = host, .offset = Nanoseconds(offset), .method = "wall clock"});
        const auto small = [this](const char* key) -> std::optional<std::int32_t> {
            const auto number = parseNumber<std::int64_t>(facts_[key]);
            if (!number || *number < 0 || *number > std::numeric_limits<std::int32_t>::max())
                return std::nullopt;
            return static_cast<std::int32_t>(*number);
        };
        process_ = builder_.addProcess({.pid = parseNumber<std::int64_t>(facts_["pid"]).value_or(0),
                                        .host = host,
                                        .name = facts_["name"],
                                        .commandLine = facts_["command"],
                                        .rank = small("rank"),
                                        .worldSize = small("world"),
                                        .startedUnixNs = wall,
                                        .clock = clock});
    }

    /// Facts for the table of the environment. A process may correct a fact until its end.
    void addEnvironment()
    {
        for (const auto& [fact, key] : {std::pair{"device_untraced", "record.device"},
                                        {"record_ended", "record.ended"},
                                        {"cost", "record.cost"},
                                        {"window", "record.part"},
                                        {"missed", "record.missed"},
                                        {"memory", "record.memory"},
                                        {"profiler", "record.profiler"},
                                        {"modules", "record.modules"},
                                        {"ops", "record.ops"},
                                        {"graphs", "record.graphs"},
                                        {"host_samples", "record.host_samples"},
                                        {"inside", "record.inside"},
                                        {"folder", "record.folder"},
                                        {"packages", "record.packages"},
                                        {"load", "load"},
                                        {"processors", "cpu.threads"},
                                        {"torch", "torch"}})
            if (const auto known = facts_.find(fact); known != facts_.end() && !known->second.empty())
                builder_.addEnvironment({.key = key, .value = known->second}, process_);
        for (const auto& [fact, key] :
             {std::pair{"inside_cycles", kInsideCycles}, {"inside_others", kInsideOthers}})
            if (const auto known = facts_.find(fact); known != facts_.end())
                if (const auto number = parseNumber<std::int64_t>(known->second))
                    builder_.addNumber(key, *number, process_);
        if (const auto reason = facts_.find("device_untraced"); reason != facts_.end())
            builder_.addFlag(flagText(FlagKind::Untraced, reason->second));
        // The nodes of each graph.
        for (const auto& [fact, value] : facts_)
            if (fact.starts_with("graph "))
                builder_.addEnvironment({.key = "record." + fact, .value = value});
    }

    void take(record::WorkingBlock&& block)
    {
        if (!process_)
            take(record::ProcessFacts{});
        // It went on: what was to replace the process could not be executed.
        if (block.hasEvents())
            facts_.erase(record::kFinished.first);
        for (std::string& text : block.strings)
            strings_.push_back(validUtf8(text));
        launches_.insert(launches_.end(), block.launches.begin(), block.launches.end());
        for (const record::ThreadRow& row : block.threads)
            builder_.thread(process_, row.thread, text(row.name));
        for (const record::DeviceRow& row : block.devices)
            builder_.addDevice(process_, {.ordinal = row.ordinal,
                                          .uuid = std::string(text(row.uuid)),
                                          .name = std::string(text(row.name)),
                                          .host = facts_["host"]});
        for (const record::RangeRow& row : block.ranges)
            add(row);
        for (const record::CallRow& row : block.calls)
            add(row);
        for (const record::ActivityRow& row : block.activities)
            add(row);
        for (const record::OpRow& row : block.ops)
            add(row);
        for (const record::FrameRow& row : block.frames)
            builder_.addFrame(thread(row.thread), text(row.name), timestampAt(row.start),
                              timestampAt(row.end));
        for (const record::AllocRow& row : block.allocations)
            add(row);
        for (const record::HeldRow& row : block.held)
            add(row);
        for (const record::CollectiveRow& row : block.collectives)
            collectives_.addCall(row, [this](std::uint32_t string) { return text(string); });
        for (const record::StackRow& row : block.stacks)
            add(row);
        for (const record::SampleRow& row : block.samples)
            add(row);
        if (const std::int64_t wrong =
                kernelSamples_.add(block, [this](std::uint32_t string) { return text(string); }))
            builder_.addLoss(RecordLoss::SourceUnreadable, wrong);
        for (const record::LossRow& row : block.losses)
            if (const auto kind = lossCalled(text(row.name)))
                losses_[{*kind, {}}] = row.count;
        records_ = block.recordsChecked;
        if (watch_ && !watch_(0.5))
            throw Error{.what = "the import was cancelled", .where = file_, .kind = ErrorKind::Failure};
    }

    void add(const record::StackRow& row)
    {
        const bool isOutermost = row.caller == record::kNoString;
        if (!isOutermost && row.caller >= samples_.stacks.size())
            builder_.addLoss(RecordLoss::SourceUnreadable);
        samples_.stacks.push_back(
            {.caller = isOutermost || row.caller >= samples_.stacks.size() ? kNoStack : row.caller,
             .function = std::string(text(row.name)),
             .line = row.line});
    }

    void add(const record::SampleRow& row)
    {
        if (row.stack >= samples_.stacks.size()) {
            builder_.addLoss(RecordLoss::SourceUnreadable);
            return;
        }
        const ThreadId id = thread(row.thread);
        const auto [place, isNew] = sampled_.try_emplace(id, samples_.threads.size());
        if (isNew)
            samples_.threads.push_back({.thread = id});
        samples_.threads[place->second].samples.push_back(
            {.time = timestampAt(row.time), .stack = row.stack, .state = row.state});
    }

    void add(const record::RangeRow& row)
    {
        ++ranges_;
        const std::string step = row.step > 0 ? fmt::format("step_{}", row.step - 1) : std::string();
        builder_.addRange(thread(row.thread), row.step > 0 ? step : text(row.name), timestampAt(row.start),
                          timestampAt(row.end), row.step > 0 ? SpanKind::Step : SpanKind::Range,
                          text(row.backwardPath));
    }

    void add(const record::CallRow& row)
    {
        const ThreadId caller = thread(row.thread);
        const Timestamp start = timestampAt(row.start);
        const Timestamp end = timestampAt(row.end);
        if (row.kind == static_cast<std::uint32_t>(ApiKind::Overhead))
            builder_.addOverhead(caller, text(row.name), start, end);
        else
            builder_.addApiCall(caller, text(row.name), row.correlation, start, end);
    }

    void add(const record::ActivityRow& row)
    {
        if (row.launch >= launches_.size() || row.kind > static_cast<std::uint8_t>(DeviceEventKind::Memset) ||
            row.copy > static_cast<std::uint8_t>(CopyKind::Other)) {
            builder_.addLoss(RecordLoss::SourceUnreadable);
            return;
        }
        const DeviceIndex device = builder_.device(process_, row.device);
        // Kernels of a graph, or a graph as a whole, which has no grid.
        const bool isOfGraph =
            row.graphNode != 0 || (row.kind == static_cast<std::uint8_t>(DeviceEventKind::Kernel) &&
                                   launches_[row.launch].grid[0] == 0);
        // A launch may have many activities (of a graph).
        if (row.launched != 0 && row.correlation != 0 && launched_.insert(row.correlation).second)
            builder_.addLaunch(thread(row.launchThread), row.correlation, timestampAt(row.launched),
                               isOfGraph ? std::string_view() : text(row.path));
        if (row.kind == static_cast<std::uint8_t>(DeviceEventKind::Kernel) && !isOfGraph)
            collectives_.addKernel(row, text(row.name));
        builder_.addActivity({.kind = static_cast<DeviceEventKind>(row.kind),
                              .name = text(row.name),
                              .device = device,
                              .stream = builder_.stream(process_, device, row.stream),
                              .correlation = row.correlation,
                              .graphNode = row.graphNode,
                              .copy = static_cast<CopyKind>(row.copy),
                              .bytes = row.bytes,
                              .launch = launches_[row.launch],
                              .path = isOfGraph ? text(row.path) : std::string_view(),
                              .start = timestampAt(row.start),
                              .end = timestampAt(row.end)});
    }

    static std::optional<RecordLoss> lossCalled(std::string_view name)
    {
        const auto* const info = std::ranges::find(kLosses, name, &LossInfo::name);
        return info == std::end(kLosses) ? std::nullopt : std::optional(info->kind);
    }

    void addLoss(std::string_view name, std::int64_t count)
    {
        if (const auto kind = lossCalled(name))
            builder_.addLoss(*kind, count);
    }

    void add(const record::OpRow& row)
    {
        builder_.addOp({.thread = thread(row.thread),
                        .name = text(row.name),
                        .shapes = text(row.shapes),
                        .sequence = row.sequence,
                        .isBackward = row.isBackward != 0,
                        .start = timestampAt(row.start),
                        .end = timestampAt(row.end)});
    }

    void add(const record::AllocRow& row)
    {
        if (row.action > static_cast<std::uint32_t>(AllocAction::Oom)) {
            builder_.addLoss(RecordLoss::SourceUnreadable);
            return;
        }
        builder_.addAllocation(thread(row.thread),
                               {.time = timestampAt(row.time),
                                .action = static_cast<AllocAction>(row.action),
                                .device = device(row.device),
                                .address = row.address,
                                .bytes = row.bytes,
                                .allocated = row.device < 0 ? -1 : row.allocated,
                                .reserved = row.device < 0 ? -1 : row.reserved,
                                .pool = row.pool},
                               text(row.backwardPath));
    }

    void add(const record::HeldRow& row)
    {
        const auto category = fromWord<MemoryCategory>(text(row.category));
        if (!category) {
            builder_.addLoss(RecordLoss::SourceUnreadable);
            return;
        }
        builder_.addHeld(process_, device(row.device),
                         {.time = timestampAt(row.time),
                          .category = *category,
                          .address = row.address,
                          .bytes = row.bytes,
                          .name = std::string(text(row.name)),
                          .shape = std::string(text(row.shape)),
                          .dtype = std::string(text(row.dtype))});
    }

    /// \param ordinal  CUDA's number; below 0: the CPU
    DeviceIndex device(std::int32_t ordinal)
    {
        return ordinal < 0 ? DeviceIndex{} : builder_.device(process_, ordinal);
    }

    ThreadId thread(std::uint32_t native) { return builder_.thread(process_, native); }

    std::string_view text(std::uint32_t string) const
    {
        return string < strings_.size() ? std::string_view(strings_[string]) : std::string_view();
    }

    TraceBuilder& builder_;
    const ImportWatch& watch_;
    std::string file_;
    std::map<std::string, std::string> facts_;
    ProcessIndex process_;
    std::vector<std::string> strings_;
    std::vector<LaunchConfig> launches_;
    std::set<std::uint32_t> launched_;
    RecordedCollectives collectives_;
    HostSamples samples_;
    RecordedSamples kernelSamples_;
    std::map<ThreadId, std::size_t> sampled_;                           ///< index in samples_.threads
    std::map<std::pair<RecordLoss, std::string>, std::int64_t> losses_; ///< totals of the latest block
    std::int64_t records_ = 0;
    std::int64_t ranges_ = 0;
};

} // namespace

bool WorkingImporter::matches(std::string_view head, const std::filesystem::path& /*file*/) const
{
    return record::isWorkingFile(head);
}

std::string WorkingImporter::read(const std::filesystem::path& file, TraceBuilder& builder,
                                  const ImportWatch& watch) const
{
    const std::int64_t before = builder.kernels();
    WorkingReader reader(builder, watch, file.string());
    reader.read(file);
    try {
        reader.readSnapshot(file.parent_path());
    } catch (const Error& error) {
        builder.addLoss(RecordLoss::SourceUnreadable);
        builder.addEnvironment({.key = "record.memory", .value = error.sentence()});
    }
    const std::string name = validUtf8(file.filename().string());
    return fmt::format("{}: {}, {}", name, counted(builder.kernels() - before, "kernel"),
                       counted(reader.ranges(), "range"));
}

} // namespace tilescope::exchange
