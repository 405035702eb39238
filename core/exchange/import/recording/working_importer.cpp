#include "core/exchange/import/recording/working_importer.h"

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/exchange/text.h"
#include "core/record/working_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace tilescope::exchange {

namespace {

std::optional<std::int64_t> numberIn(std::string_view text)
{
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(number)
                                                                                     : std::nullopt;
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
        if (end.isCut || facts_.contains("record_ended"))
            builder_.addLoss(RecordLoss::SourceCut);
        for (const auto& [key, count] : losses_)
            builder_.addLoss(key.first, count, key.second);
        builder_.countRecord(records_);
    }

    std::int64_t ranges() const { return ranges_; }

private:
    void take(const record::ProcessFacts& facts)
    {
        for (const auto& [key, value] : facts)
            facts_[key] = validUtf8(value);
        if (const auto reason = facts_.find("device_untraced"); reason != facts_.end())
            builder_.addEnvironment({.key = "record.device", .value = reason->second});
        if (const auto reason = facts_.find("record_ended"); reason != facts_.end())
            builder_.addEnvironment({.key = "record.ended", .value = reason->second});
        if (const auto cost = facts_.find("cost"); cost != facts_.end())
            builder_.addEnvironment({.key = "record.cost", .value = cost->second});
        if (const auto part = facts_.find("window"); part != facts_.end())
            builder_.addEnvironment({.key = "record.part", .value = part->second});
        if (process_)
            return;
        const std::string host = facts_["host"];
        // The steady clocks of one host are the same clock; the wall clock places them on one axis.
        const auto steady = numberIn(facts_["steady_ns"]);
        const auto wall = numberIn(facts_["unix_ns"]);
        const std::int64_t offset = steady && wall ? *wall - *steady : 0;
        const ClockIndex clock =
            builder_.addClock({.name = host, .offset = Nanoseconds(offset), .method = "wall clock"});
        const auto small = [this](const char* key) -> std::optional<std::int32_t> {
            const auto number = numberIn(facts_[key]);
            if (!number || *number < 0 || *number > std::numeric_limits<std::int32_t>::max())
                return std::nullopt;
            return static_cast<std::int32_t>(*number);
        };
        process_ = builder_.addProcess({.pid = numberIn(facts_["pid"]).value_or(0),
                                        .host = host,
                                        .name = facts_["name"],
                                        .commandLine = facts_["command"],
                                        .rank = small("rank"),
                                        .worldSize = small("world"),
                                        .startedUnixNs = wall,
                                        .clock = clock});
    }

    void take(record::WorkingBlock&& block)
    {
        if (!process_)
            take(record::ProcessFacts{});
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
        for (const record::LossRow& row : block.losses)
            for (const LossInfo& info : kLosses)
                if (info.name == text(row.name)) {
                    losses_[{info.kind, {}}] = row.count;
                    break;
                }
        records_ = block.recordsChecked;
        if (watch_ && !watch_(0.5))
            throw Error{.what = "the import was cancelled", .where = file_, .kind = ErrorKind::Failure};
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
        // A launch may have many activities (of a graph).
        if (row.launched != 0 && row.correlation != 0 && launched_.insert(row.correlation).second)
            builder_.addLaunch(thread(row.launchThread), row.correlation, timestampAt(row.launched),
                               text(row.backwardPath));
        builder_.addActivity({.kind = static_cast<DeviceEventKind>(row.kind),
                              .name = text(row.name),
                              .device = device,
                              .stream = builder_.stream(process_, device, row.stream),
                              .correlation = row.correlation,
                              .graphNode = row.graphNode,
                              .copy = static_cast<CopyKind>(row.copy),
                              .bytes = row.bytes,
                              .launch = launches_[row.launch],
                              .start = timestampAt(row.start),
                              .end = timestampAt(row.end)});
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
    const std::string name = validUtf8(file.filename().string());
    return fmt::format("{}: {}, {}", name, counted(builder.kernels() - before, "kernel"),
                       counted(reader.ranges(), "range"));
}

} // namespace tilescope::exchange
