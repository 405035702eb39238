#include "core/query/runs/run_tables.h"

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/model/losses.h"
#include "core/model/text.h"
#include "core/query/runs/first_tokens.h"
#include "core/query/runs/milliseconds.h"
#include "core/query/runs/run_contents.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace tilescope::query {

namespace {

[[noreturn]] void throwNoSuchRun(const store::RunReader& reader, RunId run)
{
    const std::vector<RunId> there = reader.runIds();
    throw Error{.what = "there is no run " + std::to_string(run.value),
                .where = reader.file().string(),
                .remedy = there.empty() ? "the file has no runs" : "the file has run " + listOf(there)};
}

/// The highest that the memory of a device stood by the events of a recording; without a device, that of the host.
/// None without events.
std::optional<Bytes> peakOfEvents(const store::RunReader& reader, RunId run)
{
    if (reader.counts(run).allocEvents == 0)
        return {};
    std::map<DeviceIndex, std::int64_t> peaks;
    for (const store::TrackInfo& track : reader.tracks(run))
        if (track.kind == store::LaneKind::Memory)
            reader.eachPoints(run, track, [&](std::span<const store::MemoryPoint> points) {
                for (const store::MemoryPoint& point : points)
                    peaks[track.device] = std::max(peaks[track.device], point.allocated);
                return true;
            });
    if (peaks.empty()) // of a run that was not sealed
        reader.eachAllocEvent({.run = run}, [&peaks](const AllocEvent& event) {
            peaks[event.device] = std::max(peaks[event.device], event.allocated);
            return true;
        });
    if (peaks.size() > 1)
        peaks.erase(DeviceIndex{});
    std::int64_t highest = 0;
    for (const auto& [device, peak] : peaks)
        highest = std::max(highest, peak);
    return Bytes{highest};
}

RunRow rowOf(store::RunRecord record, const std::vector<Sample>& samples)
{
    RunRow row{.record = std::move(record), .phases = {}, .warmupMs = {}};
    const bool generates = std::ranges::find(samples, Phase::Prefill, &Sample::phase) != samples.end();
    for (const auto& [phase, word] : enumWords<Phase>()) {
        std::vector<double> wall;
        std::vector<double> gpu;
        std::vector<std::pair<std::int64_t, double>> tokens;
        for (const Sample& sample : samples) {
            if (sample.phase != phase || sample.kind != SampleKind::Measure)
                continue;
            wall.push_back(milliseconds(sample.wall));
            if (generates)
                tokens.emplace_back(sample.step, wall.back());
            if (sample.gpu)
                gpu.push_back(milliseconds(*sample.gpu));
        }
        if (!wall.empty())
            row.phases.push_back(
                {phase, analysis::summarise(wall), analysis::summarise(gpu), std::move(tokens)});
    }
    for (const Sample& sample : samples)
        if (sample.phase == Phase::Step && sample.kind == SampleKind::Warmup)
            row.warmupMs.push_back(milliseconds(sample.wall));
    return row;
}

} // namespace

const std::optional<analysis::Statistics>& RunRow::stepMs() const
{
    static const std::optional<analysis::Statistics> none;
    const auto step = std::find_if(phases.begin(), phases.end(),
                                   [](const PhaseTimes& p) { return p.phase == Phase::Step; });
    return step == phases.end() ? none : step->wallMs;
}

std::string listOf(const std::vector<RunId>& runs)
{
    constexpr int kMost = 10; // numbers and ranges: a file may have 100,000 runs
    std::string text;
    int count = 0;
    for (std::size_t i = 0; i < runs.size(); ++count) {
        if (count == kMost)
            return text + " and " + std::to_string(runs.size() - i) + " more";
        std::size_t last = i;
        while (last + 1 < runs.size() && runs[last + 1].value == runs[last].value + 1)
            ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(runs[i].value);
        if (last > i)
            text += (last == i + 1 ? ", " : " to ") + std::to_string(runs[last].value);
        i = last + 1;
    }
    return text;
}

RunsTable runs(const store::RunReader& reader, std::optional<RunId> run)
{
    RunsTable table;
    reader.atOnce([&] {
        if (!run) {
            table.rows = runs(reader, RunId{std::numeric_limits<std::int64_t>::min()},
                              RunId{std::numeric_limits<std::int64_t>::max()});
            return;
        }
        table.rows = runs(reader, *run, *run);
        if (table.rows.empty())
            throwNoSuchRun(reader, *run);
    });
    return table;
}

std::vector<RunRow> runs(const store::RunReader& reader, RunId first, RunId last)
{
    std::vector<RunRow> rows;
    reader.atOnce([&] {
        std::vector<store::RunRecord> records;
        reader.eachRun(first, last, [&records](store::RunRecord&& record) {
            records.push_back(std::move(record));
            return true;
        });
        rows = runRows(reader, std::move(records));
    });
    return rows;
}

std::vector<RunRow> runRows(const store::RunReader& reader, std::vector<store::RunRecord> records)
{
    std::vector<RunId> ids;
    for (const store::RunRecord& record : records)
        ids.push_back(record.run);
    std::vector<RunRow> rows;
    std::vector<Sample> samples;
    FirstTokens firstTokens(reader);
    for (store::RunRecord& record : records)
        if (!record.result.peakAllocated && record.coversRecording())
            record.result.peakAllocated = peakOfEvents(reader, record.run);
    const auto finish = [&] {
        rows.push_back(rowOf(std::move(records[rows.size()]), samples));
        rows.back().generation = generationFigures(reader, rows.back().record, samples);
        firstTokens.addRepeats(rows.back().generation, rows.back().record);
        samples.clear();
    };
    // Samples arrive grouped by run; a run may have none.
    reader.eachSample(ids, [&](RunId run, const Sample& sample) {
        while (ids[rows.size()] != run)
            finish();
        samples.push_back(sample);
    });
    while (rows.size() < ids.size())
        finish();
    return rows;
}

SamplesTable samples(const store::RunReader& reader, std::optional<RunId> run)
{
    SamplesTable table;
    reader.atOnce([&] {
        RowProcess process;
        reader.eachSample(chooseRunIds(reader, run), [&](RunId of, const Sample& sample) {
            if (table.rows.empty() || table.rows.back().run != of)
                process = rowProcess(TopologyIndex(reader.topology(of), {}), {});
            table.rows.push_back({of, process, sample});
        });
    });
    return table;
}

LossesTable losses(const store::RunReader& reader, std::optional<RunId> run)
{
    LossesTable table;
    reader.atOnce([&] {
        const std::vector<RunId> ids = chooseRunIds(reader, run);
        reader.eachLoss(ids, [&table](RunId of, store::RunReader::LossRecord&& loss) {
            table.rows.push_back({of, std::move(loss)});
        });
        if (!ids.empty())
            reader.eachRun(ids.front(), ids.back(), [&table](store::RunRecord&& record) {
                table.recordsChecked += record.recordsChecked;
                return true;
            });
    });
    return table;
}

std::string lossSentence(const store::RunReader& reader, std::optional<RunId> run)
{
    std::vector<LossRow> lost = losses(reader, run).rows;
    std::erase_if(lost, [](const LossRow& row) { return !isLost(row.loss.severity); });
    if (lost.empty())
        return {};
    // The worst first: missing records before doubtful ones, then the most.
    const auto rank = [](const LossRow& row) {
        return std::pair(row.loss.severity == wordOf(LossSeverity::Error) ? 0 : 1, -row.loss.count);
    };
    std::ranges::stable_sort(lost, {}, rank);
    std::set<RunId> runs;
    for (const LossRow& row : lost)
        runs.insert(row.run);
    const LossRow& worst = lost.front();
    const bool isIncomplete = rank(worst).first == 0;
    std::string text = runs.size() == 1 ? "Run " + std::to_string(worst.run.value) + " is "
                                        : counted(std::ssize(runs), "run") + " are ";
    text += isIncomplete ? "incomplete: " : "complete, but some figures are doubtful: ";
    if (runs.size() > 1)
        text += "most in run " + std::to_string(worst.run.value) + ", ";
    // The details are in the plural.
    text +=
        (worst.loss.count == 1 ? std::string() : std::to_string(worst.loss.count) + " ") + worst.loss.detail;
    if (lost.size() > 1)
        text += ", and " + counted(std::ssize(lost) - 1, "other kind of loss", "other kinds of losses");
    return text + ".";
}

EnvironmentTable environment(const store::RunReader& reader, std::optional<RunId> run)
{
    EnvironmentTable table{.run = chooseRun(reader, run), .rows = {}};
    if (table.run.traits().isImported)
        table.rows = factsOf(contentsOf(reader, table.run.run));
    std::ranges::move(reader.environment(table.run.run), std::back_inserter(table.rows));
    return table;
}

std::vector<RunId> chooseRunIds(const store::RunReader& reader, std::optional<RunId> run)
{
    if (!run)
        return reader.runIds();
    if (!reader.run(*run))
        throwNoSuchRun(reader, *run);
    return {*run};
}

std::vector<store::RunRecord> chooseRuns(const store::RunReader& reader, std::optional<RunId> run)
{
    if (!run)
        return reader.runs();
    std::optional<store::RunRecord> record = reader.run(*run);
    if (!record)
        throwNoSuchRun(reader, *run);
    return {std::move(*record)};
}

store::RunRecord chooseRun(const store::RunReader& reader, std::optional<RunId> run)
{
    if (!run) {
        const std::vector<RunId> ids = reader.runIds();
        if (ids.empty())
            throw Error{.what = "the file has no runs", .where = reader.file().string()};
        run = ids.back();
    }
    return std::move(chooseRuns(reader, run).front());
}

} // namespace tilescope::query
