#include "core/query/run_tables.h"

#include "core/base/error.h"
#include "core/model/text.h"

#include <algorithm>

namespace tilescope::query {

namespace {

/// `1 to 4, 7`: the runs that are there, for a message.
std::string listOf(const std::vector<store::RunRecord>& records)
{
    std::string text;
    for (std::size_t i = 0; i < records.size();) {
        std::size_t last = i;
        while (last + 1 < records.size() && records[last + 1].run.value == records[last].run.value + 1)
            ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(records[i].run.value);
        if (last > i)
            text += (last == i + 1 ? ", " : " to ") + std::to_string(records[last].run.value);
        i = last + 1;
    }
    return text;
}

[[noreturn]] void throwNoSuchRun(const store::RunReader& reader, RunId run)
{
    const std::vector<store::RunRecord> there = reader.runs();
    throw Error{.what = "there is no run " + std::to_string(run.value),
                .where = reader.file().string(),
                .mend = there.empty() ? "the file has no runs" : "the file has run " + listOf(there)};
}

double milliseconds(Nanoseconds time)
{
    return static_cast<double>(time.count()) / 1e6;
}

RunRow rowOf(const store::RunReader& reader, store::RunRecord record)
{
    const std::vector<Sample> samples = reader.samples(record.run);
    RunRow row{.record = std::move(record), .phases = {}, .warmupMs = {}};
    for (const auto& [phase, word] : enumWords<Phase>()) {
        std::vector<double> wall;
        std::vector<double> gpu;
        for (const Sample& sample : samples) {
            if (sample.phase != phase || sample.kind != SampleKind::Measure)
                continue;
            wall.push_back(milliseconds(sample.wall));
            if (sample.gpu)
                gpu.push_back(milliseconds(*sample.gpu));
        }
        if (!wall.empty())
            row.phases.push_back({phase, analysis::summarise(wall), analysis::summarise(gpu)});
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

RunsTable runs(const store::RunReader& reader, std::optional<RunId> run)
{
    RunsTable table;
    for (store::RunRecord& record : chooseRuns(reader, run))
        table.rows.push_back(rowOf(reader, std::move(record)));
    return table;
}

SamplesTable samples(const store::RunReader& reader, std::optional<RunId> run)
{
    SamplesTable table;
    for (const store::RunRecord& record : chooseRuns(reader, run))
        for (const Sample& sample : reader.samples(record.run))
            table.rows.push_back({record.run, sample});
    return table;
}

LossesTable losses(const store::RunReader& reader, std::optional<RunId> run)
{
    LossesTable table;
    for (const store::RunRecord& record : chooseRuns(reader, run)) {
        for (store::RunReader::LossRecord& loss : reader.losses(record.run))
            table.rows.push_back({record.run, std::move(loss)});
        table.recordsChecked += reader.recordsChecked(record.run);
    }
    return table;
}

EnvironmentTable environment(const store::RunReader& reader, std::optional<RunId> run)
{
    EnvironmentTable table{.run = chooseRun(reader, run), .rows = {}};
    table.rows = reader.environment(table.run.run);
    return table;
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
    std::vector<store::RunRecord> records = chooseRuns(reader, run);
    if (records.empty())
        throw Error{.what = "the file has no runs", .where = reader.file().string()};
    return std::move(records.back());
}

} // namespace tilescope::query
