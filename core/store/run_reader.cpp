#include "core/store/run_reader.h"

#include "core/model/text.h"
#include "core/store/rows/columns.h"
#include "core/store/rows/counter_rows.h"
#include "core/store/rows/memory_rows.h"
#include "core/store/rows/process_rows.h"
#include "core/store/rows/stored_rows.h"
#include "core/store/tracks/call_totals_reader.h"
#include "core/store/tracks/packed_track.h"
#include "core/store/tracks/path_totals_reader.h"
#include "core/store/tracks/totals_reader.h"

#include <algorithm>
#include <limits>

namespace tilescope::store {

namespace fs = std::filesystem;

class RunReader::Impl : public StoredRows {
public:
    using StoredRows::StoredRows;
};

RunReader::RunReader(const fs::path& file)
{
    translating(file, [&] { impl_ = std::make_unique<Impl>(file); });
}
RunReader::~RunReader() = default;
RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;

void RunReader::atOnce(const std::function<void()>& work) const
{
    impl_->use(work);
}

std::vector<RunRecord> RunReader::runs() const
{
    return impl_->use([this] { return impl_->runs({}); });
}

std::optional<RunRecord> RunReader::run(RunId id) const
{
    return impl_->use([&]() -> std::optional<RunRecord> {
        auto records = impl_->runs(id.value);
        return records.empty() ? std::nullopt : std::optional(std::move(records.front()));
    });
}

void RunReader::eachRun(const std::function<bool(RunRecord&&)>& take) const
{
    eachRun(RunId{std::numeric_limits<std::int64_t>::min()}, RunId{std::numeric_limits<std::int64_t>::max()},
            take);
}

void RunReader::eachRun(RunId first, RunId last, const std::function<bool(RunRecord&&)>& take) const
{
    impl_->use([&] { impl_->eachRun(first.value, last.value, take); });
}

std::vector<RunId> RunReader::runIds() const
{
    return impl_->use([&] { return impl_->runIds(); });
}

std::vector<RunId> RunReader::runsWithRanges() const
{
    return impl_->use([&] {
        std::vector<RunId> ids;
        SQLite::Statement row(impl_->database(),
                              "select distinct run from chunk where source = 'range' order by run");
        while (row.executeStep())
            ids.push_back(RunId{row.getColumn(0).getInt64()});
        return ids;
    });
}

std::vector<Phase> RunReader::timedPhases() const
{
    return impl_->use([&] {
        std::vector<Phase> phases;
        SQLite::Statement row(impl_->database(), "select distinct phase from sample where kind = ?");
        row.bind(1, std::string(wordOf(SampleKind::Measure)));
        while (row.executeStep())
            if (const auto phase = fromWord<Phase>(row.getColumn(0).getText()))
                phases.push_back(*phase);
        return phases;
    });
}

void RunReader::eachSample(std::span<const RunId> runs,
                           const std::function<void(RunId, const Sample&)>& take) const
{
    // Columns by number: a file has many samples, and looking up a name takes longer than reading a value.
    enum Column { Step = 2, Kind, PhaseWord, Wall, Gpu };
    impl_->use([&] {
        impl_->eachRow(runs, "sample", [&](RunId run, SQLite::Statement& row) {
            const auto kind = fromWord<SampleKind>(row.getColumn(Kind).getText());
            const auto phase = fromWord<Phase>(row.getColumn(PhaseWord).getText());
            if (!kind || !phase)
                impl_->damaged("a sample of run " + std::to_string(run.value) +
                               " has an unknown kind or phase");
            const SQLite::Column gpu = row.getColumn(Gpu);
            take(run,
                 {row.getColumn(Step).getInt(), *kind, *phase, Nanoseconds(row.getColumn(Wall).getInt64()),
                  gpu.isNull() ? std::nullopt : std::optional(Nanoseconds(gpu.getInt64()))});
        });
    });
}

std::vector<Sample> RunReader::samples(RunId run) const
{
    std::vector<Sample> samples;
    eachSample({&run, 1}, [&samples](RunId, const Sample& sample) { samples.push_back(sample); });
    return samples;
}

std::vector<EnvironmentEntry> RunReader::environment(RunId run) const
{
    return impl_->use([&] {
        std::vector<EnvironmentEntry> entries;
        impl_->eachRow(run, "environment", [&](SQLite::Statement& row) {
            entries.push_back({store::text(row, "key"), store::text(row, "value"), store::text(row, "unit")});
        });
        return entries;
    });
}

std::vector<ThreadName> RunReader::threads(RunId run) const
{
    return impl_->use([&] { return readThreads(*impl_, run); });
}

RunTopology RunReader::topology(RunId run) const
{
    return impl_->use([&] { return readTopology(*impl_, run); });
}

std::vector<Collective> RunReader::collectives(RunId run) const
{
    return impl_->use([&] { return readCollectives(*impl_, run); });
}

std::vector<Wait> RunReader::waits(RunId run) const
{
    return impl_->use([&] { return readWaits(*impl_, run); });
}

std::vector<CounterValue> RunReader::counters(RunId run) const
{
    return impl_->use([&] {
        std::vector<CounterValue> counters;
        impl_->eachRow(run, "counter", [&](SQLite::Statement& row) {
            counters.push_back({store::text(row, "path"), store::text(row, "metric"),
                                row.getColumn("value").getDouble(), store::text(row, "unit"),
                                row.getColumn("instances").getInt64(), row.getColumn("passes").getInt64()});
        });
        return counters;
    });
}

std::vector<CounterTrack> RunReader::counterTracks(RunId run) const
{
    return impl_->use([&] { return readCounterTracks(*impl_, run); });
}

MemoryFacts RunReader::memory(RunId run) const
{
    return impl_->use([&] { return readMemory(*impl_, run); });
}

std::vector<Ceiling> RunReader::ceilings() const
{
    return impl_->use([&] {
        std::vector<Ceiling> ceilings;
        impl_->eachSharedRow("ceiling", [&](SQLite::Statement& row) {
            ceilings.push_back({store::text(row, "device"), store::text(row, "device_name"),
                                store::text(row, "kind"), row.getColumn("value").getDouble(),
                                store::text(row, "unit"), row.getColumn("n").getInt64(),
                                row.getColumn("spread").getDouble(), row.getColumn("measured").getInt64(),
                                store::text(row, "program")});
        });
        return ceilings;
    });
}

void RunReader::eachLoss(std::span<const RunId> runs,
                         const std::function<void(RunId, LossRecord&&)>& take) const
{
    RunId current;
    std::vector<LossRecord> losses;
    const auto hand = [&] {
        for (LossRecord& loss : losses)
            take(current, std::move(loss));
        losses.clear();
    };
    impl_->use([&] {
        impl_->eachRow(runs, "loss", [&](RunId run, SQLite::Statement& row) {
            if (run != current)
                hand();
            current = run;
            LossRecord loss{store::text(row, "kind"), store::text(row, "severity"),
                            row.getColumn("count").getInt64(), store::text(row, "detail")};
            const auto same = std::ranges::find_if(losses, [&loss](const LossRecord& other) {
                return other.kind == loss.kind && other.severity == loss.severity &&
                       other.detail == loss.detail;
            });
            if (same == losses.end())
                losses.push_back(std::move(loss));
            else
                same->count += loss.count;
        });
        hand();
    });
}

std::vector<RunReader::LossRecord> RunReader::losses(RunId run) const
{
    std::vector<LossRecord> losses;
    eachLoss({&run, 1}, [&losses](RunId, LossRecord&& loss) { losses.push_back(std::move(loss)); });
    return losses;
}

std::int64_t RunReader::recordsChecked(RunId run) const
{
    const auto record = this->run(run);
    return record ? record->recordsChecked : 0;
}

void RunReader::eachRange(const EventWindow& window, const Take<Range>& take) const
{
    impl_->use([&] { impl_->eachEvent<Range>(EventKind::Range, window, rangeFrom, take); });
}

void RunReader::eachOp(const EventWindow& window, const Take<Op>& take) const
{
    impl_->use([&] { impl_->eachEvent<Op>(EventKind::Op, window, opFrom, take); });
}

void RunReader::eachApiCall(const EventWindow& window, const Take<ApiCall>& take) const
{
    impl_->use([&] { impl_->eachEvent<ApiCall>(EventKind::ApiCall, window, apiCallFrom, take); });
}

void RunReader::eachAllocEvent(const EventWindow& window, const Take<AllocEvent>& take) const
{
    impl_->use([&] { impl_->eachEvent<AllocEvent>(EventKind::Allocation, window, allocationFrom, take); });
}

void RunReader::eachFrame(const EventWindow& window, const Take<Frame>& take) const
{
    impl_->use([&] { impl_->eachEvent<Frame>(EventKind::Frame, window, frameFrom, take); });
}

void RunReader::eachDeviceEvent(const EventWindow& window, const Take<DeviceEvent>& take) const
{
    impl_->use([&] { impl_->eachDeviceEvent(window, take); });
}

TraceBatch RunReader::newEvents(RunId run, EventMark& mark, std::size_t most) const
{
    return impl_->use([&] { return impl_->newEvents(run, mark, most); });
}

std::vector<TrackInfo> RunReader::tracks(RunId run) const
{
    return impl_->use([&] {
        std::vector<TrackInfo> tracks;
        impl_->eachRow(run, "track", [&](SQLite::Statement& row) {
            const auto kind = laneKindOf(store::text(row, "kind"));
            if (!kind)
                impl_->damaged("a track of run " + std::to_string(run.value) + " has an unknown kind");
            const auto id = [&row]<class IdType>(const char* column, IdType) {
                const auto value = integer(row, column);
                return value ? IdType{static_cast<decltype(IdType::value)>(*value)} : IdType::none();
            };
            tracks.push_back({.id = row.getColumn("id").getInt64(),
                              .kind = *kind,
                              .device = id("device", DeviceIndex{}),
                              .stream = id("stream", StreamId{}),
                              .thread = id("thread", ThreadId{}),
                              .row = static_cast<std::size_t>(row.getColumn("row").getInt64()),
                              .events = row.getColumn("events").getInt64()});
        });
        return tracks;
    });
}

std::optional<RunTotals> RunReader::totals(RunId run) const
{
    return impl_->use([&]() -> std::optional<RunTotals> {
        RunTotals totals = readTotals(*impl_, run);
        if (totals.kernels.empty() && totals.paths.empty() && totals.steps.empty())
            return {};
        return totals;
    });
}

std::optional<CallTotals> RunReader::callTotals(RunId run) const
{
    return impl_->use([&] { return readCallTotals(*impl_, run); });
}

std::vector<StepTotal> RunReader::stepTotals(RunId run) const
{
    return impl_->use([&] { return readStepTotals(*impl_, run); });
}

std::vector<StepPathTotal> RunReader::pathTotals(RunId run) const
{
    return impl_->use([&] { return readPathTotals(*impl_, run); });
}

std::vector<PackedBoxes> RunReader::packedBoxes(RunId run, const TrackInfo& track) const
{
    std::vector<PackedBoxes> pieces;
    impl_->use([&] {
        impl_->eachPiece(run, track, [&pieces](std::string_view bytes) {
            pieces.emplace_back(std::string(bytes));
            return std::optional(pieces.back().size());
        });
    });
    return pieces;
}

void RunReader::eachBoxes(RunId run, const TrackInfo& track,
                          const std::function<bool(std::span<const Box>)>& take) const
{
    impl_->use([&] { impl_->eachPacked<Box>(run, track, unpackBoxes, take); });
}

void RunReader::eachPoints(RunId run, const TrackInfo& track,
                           const std::function<bool(std::span<const MemoryPoint>)>& take) const
{
    impl_->use([&] { impl_->eachPacked<MemoryPoint>(run, track, unpackPoints, take); });
}

EventCounts RunReader::counts(RunId run) const
{
    return impl_->use([&] {
        const auto rows = [&](std::string_view table) { return impl_->directory(run, table).rows(); };
        return EventCounts{.ranges = rows("range"),
                           .ops = rows("op"),
                           .apiCalls = rows("api_call"),
                           .deviceEvents = rows("kernel") + rows("copy"),
                           .allocEvents = rows("allocation"),
                           .frames = rows("frame")};
    });
}

std::string_view RunReader::text(StringId id) const
{
    if (!id)
        return {};
    // Texts never change: those that are known cost no look at the file.
    if (const std::optional<std::string_view> known = impl_->knownText(id.value))
        return *known;
    return impl_->use([&] { return impl_->text(id.value); });
}

StringId RunReader::find(std::string_view text) const
{
    return impl_->use([&] {
        SQLite::Statement row(impl_->database(), "select id from string where text = ?");
        row.bind(1, std::string(text));
        return row.executeStep() ? StringId{row.getColumn(0).getUInt()} : StringId::none();
    });
}

std::optional<std::pair<Timestamp, Timestamp>> RunReader::span(RunId run) const
{
    return impl_->use([&]() -> std::optional<std::pair<Timestamp, Timestamp>> {
        SQLite::Statement row(impl_->database(), "select min(start), max(end) from chunk where run = ?");
        row.bind(1, run.value);
        if (!row.executeStep() || row.getColumn(0).isNull())
            return {};
        const std::int64_t origin = impl_->frameOf(run).clockOrigin;
        return std::pair(timestampAt(origin + row.getColumn(0).getInt64()),
                         timestampAt(origin + row.getColumn(1).getInt64() + 1));
    });
}

const fs::path& RunReader::file() const
{
    return impl_->file();
}

} // namespace tilescope::store
