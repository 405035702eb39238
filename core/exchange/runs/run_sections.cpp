#include "core/exchange/tables/sections.h"

#include "core/base/plural.h"
#include "core/exchange/runs/run_columns.h"
#include "core/exchange/tables/json_text.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/percentile.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/text.h"
#include "core/model/flags.h"
#include "core/model/losses.h"
#include "core/model/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace tilescope::exchange {

namespace {

using Json = nlohmann::ordered_json;
using query::PhaseTimes;
using query::RunRow;

/// The resolved keys of a run; an empty object where the file has something else.
Json paramsOf(const store::RunRecord& record)
{
    Json params = Json::parse(record.specJson, nullptr, false);
    return params.is_object() ? params : Json::object();
}

/// The resolved keys as the file has them, which is how they are written, unless that could break what they
/// are put into.
RawJson paramsJson(const store::RunRecord& record)
{
    const std::string& text = record.specJson;
    if (text.starts_with('{') && text.find('\n') == std::string::npos && Json::accept(text))
        return {text};
    return {paramsOf(record).dump(-1, ' ', false, Json::error_handler_t::replace)};
}

/// Empty for 0, which stands for unknown.
std::string isoTime(std::int64_t unixNs)
{
    if (unixNs == 0)
        return {};
    using namespace std::chrono;
    const auto time = floor<milliseconds>(sys_time<nanoseconds>(nanoseconds(unixNs)));
    const sys_days day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock(time - day);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                       clock.subseconds().count());
}

RawJson phasesJson(const RunRow& run)
{
    JsonObject phases;
    for (const PhaseTimes& phase : run.phases)
        phases.add(wordOf(phase.phase),
                   JsonObject().add("wall_ms", phase.wallMs).add("gpu_ms", phase.gpuMs).json());
    return phases.json();
}

std::optional<RawJson> oomJson(const std::optional<OomInfo>& oom)
{
    if (!oom)
        return {};
    return JsonObject()
        .add("requested", oom->requested)
        .add("allocated", oom->allocated)
        .add("reserved", oom->reserved)
        .add("phase", oom->phase)
        .json();
}

/// A figure of mode generate.
template <class Value> auto ofGeneration(Value query::GenerationFigures::*member)
{
    using Optional = std::conditional_t<isOptional<Value>, Value, std::optional<Value>>;
    return [member](const RunRow& run) {
        return run.generation ? Optional((*run.generation).*member) : Optional();
    };
}

/// \param isSeen  some run generates: people see the columns
template <class Columns> void addGeneration(Table& table, const Columns& column, bool isSeen)
{
    using query::GenerationFigures;
    const auto add = [&table](Column made) { table.columns.push_back(std::move(made)); };
    const auto firstToken = ofGeneration(&GenerationFigures::firstTokenMs);
    const auto rate = ofGeneration(&GenerationFigures::tokensPerSecond);
    const auto bandwidth = ofGeneration(&GenerationFigures::bandwidthPercent);
    const auto cache = ofGeneration(&GenerationFigures::cache);
    if (isSeen) {
        add(column.people("first token", firstToken, {.unit = Unit::Milliseconds, .unitGroup = 1}));
        add(column.people("tokens/s", rate));
        add(column.people("of bandwidth", bandwidth, {.unit = Unit::Percent}));
        add(column.people("KV cache", cache, {.unitGroup = 2}));
    }
    add(column.programs("first_token_ms", firstToken));
    add(column.programs("per_token_ms", ofGeneration(&GenerationFigures::perTokenMs)));
    add(column.programs("per_token_p99_ms", ofGeneration(&GenerationFigures::perTokenP99Ms)));
    add(column.programs("tokens_per_second", rate));
    add(column.programs("bytes_per_token", ofGeneration(&GenerationFigures::bytesPerToken)));
    add(column.programs("bandwidth_percent", bandwidth));
    add(column.programs("cache_bytes", cache));
}

/// A parameter as people read it: text without quotes.
std::string plainText(const Json& value)
{
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<double> phaseMedian(const RunRow& row, Phase phase)
{
    for (const PhaseTimes& times : row.phases)
        if (times.phase == phase && times.wallMs)
            return times.wallMs->median;
    return {};
}

/// The name of a phase beside the value of the loss and the key `loss` of the spec.
std::string phaseTitle(Phase phase)
{
    return phase == Phase::Loss ? "phase loss" : std::string(wordOf(phase));
}

/// The median of a phase with its interval, and its extremes, in one unit.
std::string statisticText(const analysis::Statistics& statistics)
{
    const Scale scale = scaleFor(Unit::Milliseconds, statistics.median);
    std::string text = scale.text(statistics.median) + " " + scale.suffix;
    const auto& interval = statistics.ci95;
    text += interval ? " (95 % " + scale.text(interval->low) + " to " + scale.text(interval->high) +
                           (statistics.assumesIndependence ? " if the steps are independent)" : ")")
                     : " (" + std::string(noInterval(statistics)) + ")";
    text += ", min " + scale.text(statistics.min) + ", max " + scale.text(statistics.max);
    if (const auto p95 = percentile95(statistics))
        text += ", p95 " + scale.text(*p95);
    return text + ", n " + std::to_string(statistics.n);
}

std::string bytesText(const std::optional<Bytes>& bytes)
{
    return bytes ? withUnit(static_cast<double>(bytes->count), Unit::Bytes) : "-";
}

} // namespace

std::string describeRun(const store::RunRecord& run)
{
    std::string text = "Run " + std::to_string(run.run.value) + ": " + run.name + " (" + run.workload + ")";
    if (!run.result.device.empty())
        text += " on " + run.result.device;
    return text + ", " + std::string(wordOf(run.result.status));
}

Table tableOf(std::shared_ptr<const query::RunList> runs)
{
    const ColumnsOf column(runs, *runs);
    const RunColumns<RunRow> of;
    Table table{.rows = runs->size()};
    table.whyEmpty = "The file has no runs.";
    const auto add = [&table](Column made) { table.columns.push_back(std::move(made)); };
    add(column("run", "run", [](const RunRow& r) { return r.record.run.value; }, {.keep = 2}));
    add(column.programs("uid", [](const RunRow& r) { return r.record.uid; }));
    add(column("name", "name", [](const RunRow& r) { return r.record.name; }, {.keep = 0, .elidable = true}));
    add(column(of.workload));
    if (runs->anyVarying())
        add(column.people("what differs",
                          [runs](const RunRow& r) { return config::labelOf(runs->varying(r.record)); },
                          {.keep = 2, .elidable = true, .hasPairs = true}));
    add(column(of.status));
    add(column(of.reason));
    add(column("device", "device", [](const RunRow& r) { return cellOrNull(r.record.result.device); },
               {.keep = 0}));
    add(column.programs("params", [](const RunRow& r) { return paramsJson(r.record); }));
    add(column(of.parameters));
    add(column(of.step));
    add(column(of.interval));
    add(column(of.samples));
    for (const Phase phase : runs->timedPhases())
        if (phase != Phase::Step)
            add(column.people(phaseTitle(phase), [phase](const RunRow& r) { return phaseMedian(r, phase); },
                              {.unit = Unit::Milliseconds, .keep = 0, .unitGroup = 1}));
    add(column.programs("phases", phasesJson));
    addGeneration(table, column, std::ranges::count(runs->timedPhases(), Phase::Prefill) > 0);
    add(column.programs("warmup_ms", [](const RunRow& r) { return jsonList(r.warmupMs); }));
    add(column(of.beforeBackward));
    add(column(of.peakAllocated));
    add(column(of.peakReserved));
    add(column(of.traceOverhead));
    add(column(of.losses));
    add(column.programs("oom", [](const RunRow& r) { return oomJson(r.record.result.oom); }));
    add(column.programs("flags", [](const RunRow& r) { return jsonList(r.record.result.flags); }));
    if (runs->anyFlags())
        add(column(of.flags));
    add(column.programs("started",
                        [](const RunRow& r) { return cellOrNull(isoTime(r.record.startedUnixNs)); }));
    add(column.programs("seconds", [](const RunRow& r) {
        return static_cast<double>(r.record.result.duration.count()) / 1e9;
    }));
    add(column.programs("note", [](const RunRow& r) { return cellOrNull(r.record.note); }));
    add(column.programs("tag", [](const RunRow& r) { return cellOrNull(r.record.tag); }));
    table.notes = runs->reasons();
    return table;
}

/// `1.579 after 10 timed steps (the first: 1.83)`
std::string lossText(const RunResult& result)
{
    if (!result.finalLoss())
        return {};
    const std::size_t count = result.losses.size();
    std::string text = Scale{}.text(*result.finalLoss());
    if (count > 1 && result.losses.front())
        text += " after " + counted(static_cast<std::int64_t>(count), "timed step") +
                " (the first: " + Scale{}.text(*result.losses.front()) + ")";
    return text;
}

/// \param add  a line: its name and text
template <class Add> void addGenerationLines(const query::GenerationFigures& figures, const Add& add)
{
    if (figures.firstTokenMs)
        add("first token", statisticText(*figures.firstTokenMs));
    if (figures.perTokenMs)
        add("per token", statisticText(*figures.perTokenMs));
    if (figures.perTokenP99Ms)
        add("per token, p99", withUnit(*figures.perTokenP99Ms, Unit::Milliseconds));
    if (figures.tokensPerSecond)
        add("tokens per second", Scale{}.text(*figures.tokensPerSecond));
    if (figures.bytesPerToken)
        add("read per token", withUnit(*figures.bytesPerToken, Unit::Bytes));
    if (figures.bandwidthPercent)
        add("of the measured bandwidth", withUnit(*figures.bandwidthPercent, Unit::Percent));
    add("KV cache", bytesText(figures.cache));
}

Table sheetOf(const RunRow& run)
{
    auto lines = std::make_shared<std::vector<std::pair<std::string, std::string>>>();
    const auto add = [&lines](std::string key, std::string value) {
        if (!value.empty() && value != "-")
            lines->emplace_back(std::move(key), std::move(value));
    };
    const store::RunRecord& record = run.record;
    const RunResult& result = record.result;
    add("status", std::string(wordOf(result.status)));
    add("reason", result.reason);
    add("device", result.device);
    add("parameters", result.parameters ? Scale{}.text(*result.parameters) : "");
    for (const PhaseTimes& phase : run.phases) {
        const std::string name = phaseTitle(phase.phase);
        if (phase.wallMs)
            add(name, statisticText(*phase.wallMs));
        if (phase.gpuMs)
            add(name + " on GPU", statisticText(*phase.gpuMs));
    }
    if (run.generation)
        addGenerationLines(*run.generation, add);
    std::string warmup;
    const Scale scale =
        scaleFor(Unit::Milliseconds,
                 run.warmupMs.empty() ? 0 : *std::max_element(run.warmupMs.begin(), run.warmupMs.end()));
    for (const double wall : run.warmupMs)
        warmup += (warmup.empty() ? "" : ", ") + scale.text(wall);
    add("warm-up steps", warmup.empty() ? "" : warmup + " " + scale.suffix);
    add("before backward", bytesText(result.beforeBackward));
    add("peak " + std::string(record.traits().heldWord()), bytesText(result.peakAllocated));
    add("peak reserved", bytesText(result.peakReserved));
    add("tracing cost",
        result.traceOverhead ? Scale{}.text(*result.traceOverhead) + " times a timed step" : "");
    add("final loss", lossText(result));
    if (result.oom)
        add("out of memory", "in " + result.oom->phase + ": asked for " + bytesText(result.oom->requested) +
                                 ", had " + bytesText(result.oom->allocated) + " allocated, " +
                                 bytesText(result.oom->reserved) + " reserved");
    for (const std::string& flag : result.flags)
        add("flag " + std::string(flagName(flag)), describeFlag(flag));
    add("started", isoTime(record.startedUnixNs));
    add("took", withUnit(static_cast<double>(result.duration.count()), Unit::Nanoseconds));
    add("program", record.program);
    add("uid", record.uid);
    add("tag", record.tag);
    add("note", record.note);
    // Named: items() refers to it, and a temporary would be gone before the loop begins.
    const Json params = paramsOf(record);
    for (const auto& [key, value] : params.items())
        add(key, plainText(value));

    Table table{.heading = describeRun(record), .rows = lines->size()};
    table.columns = {{.key = "key",
                      .title = "key",
                      .cell = [lines](std::size_t row) { return Cell((*lines)[row].first); },
                      .keep = 2},
                     {.key = "value",
                      .title = "value",
                      .cell = [lines](std::size_t row) { return Cell((*lines)[row].second); },
                      .elidable = true,
                      .keep = 2}};
    return table;
}

Table tableOf(std::shared_ptr<const query::SamplesTable> samples)
{
    using Row = query::SampleRow;
    const auto column = columnsOf(samples);
    Table table{.rows = samples->rows.size()};
    table.columns = {
        column("run", "run", [](const Row& row) { return row.run.value; }),
        column("step", "step", [](const Row& row) { return row.sample.step; }),
        column("kind", "kind", [](const Row& row) { return wordOf(row.sample.kind); }),
        column("phase", "phase", [](const Row& row) { return wordOf(row.sample.phase); }),
        column("wall_ns", "wall", [](const Row& row) { return row.sample.wall; }, {.unitGroup = 1}),
        column("gpu_ns", "GPU", [](const Row& row) { return row.sample.gpu; }, {.unitGroup = 1}),
        column.programs("typical", [](const Row& row) { return row.sample.kind != SampleKind::Warmup; }),
        column.programs("why", [](const Row& row) {
            return cellOrNull(row.sample.kind == SampleKind::Warmup ? "warms up" : "");
        })};
    addRowProcess(table, column, &Row::process);
    table.whyEmpty = "No step was measured.";
    return table;
}

Table tableOf(std::shared_ptr<const query::LossesTable> losses)
{
    using Row = query::LossRow;
    const auto column = columnsOf(losses);
    Table table{.rows = losses->rows.size()};
    table.columns = {
        column("run", "run", [](const Row& row) { return row.run.value; }),
        column("kind", "what was lost", [](const Row& row) { return row.loss.kind; }, {.keep = 2}),
        column("severity", "severity", [](const Row& row) { return row.loss.severity; },
               {.meaning = Meaning::Severity}),
        column("count", "count", [](const Row& row) { return row.loss.count; }, {.keep = 2}),
        column("detail", "detail", [](const Row& row) { return cellOrNull(row.loss.detail); },
               {.elidable = true})};
    const std::string checked =
        Scale{}.text(losses->recordsChecked) + " " + plural(losses->recordsChecked, "record") + " checked";
    table.whyEmpty = losses->recordsChecked > 0 ? "Nothing lost (" + checked + ")" : "Nothing was traced";
    // Records that are left out on purpose are listed but are not losses.
    const bool any = std::any_of(losses->rows.begin(), losses->rows.end(),
                                 [](const Row& row) { return isLost(row.loss.severity); });
    if (table.rows > 0)
        table.notes.push_back(!any ? "Nothing lost (" + checked + ")." : checked + ".");
    return table;
}

Table tableOf(std::shared_ptr<const query::EnvironmentTable> environment)
{
    const auto column = columnsOf(environment);
    Table table{.heading = describeRun(environment->run), .rows = environment->rows.size()};
    table.columns = {column("key", "key", &EnvironmentEntry::key, {.keep = 2}),
                     column("value", "value", &EnvironmentEntry::value, {.keep = 2, .elidable = true}),
                     column("unit", "unit",
                            [](const EnvironmentEntry& entry) { return cellOrNull(entry.unit); },
                            {.keep = 2})};
    table.whyEmpty =
        "Run " + std::to_string(environment->run.run.value) + " recorded nothing about its machine.";
    return table;
}

} // namespace tilescope::exchange
