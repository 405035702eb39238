#include "core/exchange/sections.h"

#include "core/exchange/columns.h"
#include "core/exchange/number.h"
#include "core/exchange/text.h"
#include "core/model/flags.h"
#include "core/model/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

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

std::string isoTime(std::int64_t unixNs)
{
    const std::int64_t seconds = unixNs / 1'000'000'000;
    const std::int64_t milliseconds = unixNs / 1'000'000 % 1000;
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(seconds)),
                       milliseconds);
}

Cell statisticCell(const std::optional<analysis::Statistics>& statistics)
{
    return statistics ? Cell(*statistics) : Cell();
}

/// A table of one cell as JSON: the one way in which statistics are written.
std::string statisticJson(const std::optional<analysis::Statistics>& statistics)
{
    return cellJson(statisticCell(statistics));
}

RawJson phasesJson(const RunRow& run)
{
    std::string text = "{";
    for (const PhaseTimes& phase : run.phases)
        text += (text.size() > 1 ? ", " : "") + jsonString(wordOf(phase.phase)) +
                ": {\"wall_ms\": " + statisticJson(phase.wallMs) +
                ", \"gpu_ms\": " + statisticJson(phase.gpuMs) + "}";
    return {text + "}"};
}

RawJson numbersJson(const std::vector<double>& values)
{
    std::string text = "[";
    for (const double value : values)
        text += (text.size() > 1 ? ", " : "") + jsonNumber(value);
    return {text + "]"};
}

RawJson wordsJson(const std::vector<std::string>& words)
{
    std::string text = "[";
    for (const std::string& word : words)
        text += (text.size() > 1 ? ", " : "") + jsonString(word);
    return {text + "]"};
}

Cell oomJson(const std::optional<OomInfo>& oom)
{
    if (!oom)
        return {};
    const auto bytes = [](const std::optional<Bytes>& value) {
        return value ? std::to_string(value->count) : std::string("null");
    };
    return RawJson{"{\"requested\": " + bytes(oom->requested) + ", \"allocated\": " + bytes(oom->allocated) +
                   ", \"reserved\": " + bytes(oom->reserved) + ", \"phase\": " + jsonString(oom->phase) +
                   "}"};
}

std::string joined(const std::vector<std::string>& words)
{
    return fmt::format("{}", fmt::join(words, ", "));
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

/// The interval of a median; why there is none below six values.
std::string intervalText(const analysis::Statistics& statistics, const Scale& scale)
{
    if (!statistics.ci95)
        return "n < 6: no interval";
    return scale.text(statistics.ci95->low) + " to " + scale.text(statistics.ci95->high);
}

/// The median of a phase with its interval, and its extremes, in one unit.
std::string statisticText(const analysis::Statistics& statistics)
{
    const Scale scale = scaleFor(Unit::Milliseconds, statistics.median);
    std::string text = scale.text(statistics.median) + " " + scale.suffix;
    text += (statistics.ci95 ? " (95 % " : " (") + intervalText(statistics, scale) + ")";
    text += ", min " + scale.text(statistics.min) + ", max " + scale.text(statistics.max) + ", p95 " +
            scale.text(statistics.p95);
    return text + ", n " + std::to_string(statistics.n);
}

std::string bytesText(const std::optional<Bytes>& bytes)
{
    return bytes ? withUnit(static_cast<double>(bytes->count), Unit::Bytes) : "-";
}

/// The flags' words alone; the sheet of a run has their details.
std::string wordsOf(const std::vector<std::string>& flags)
{
    std::vector<std::string> words;
    words.reserve(flags.size());
    for (const std::string& flag : flags)
        words.emplace_back(flagName(flag));
    return joined(words);
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
    const auto column = [&runs](std::string key, std::string title, auto get) {
        return Column{.key = std::move(key),
                      .title = std::move(title),
                      .cell = [runs, get](std::size_t row) -> Cell { return get((*runs)[row]); }};
    };
    const auto programs = [&column](std::string key, auto get) {
        Column made = column(std::move(key), "", get);
        made.audience = Audience::Programs;
        return made;
    };
    const auto people = [&column](std::string title, Unit unit, int keep, auto get) {
        Column made = column(title, title, get);
        made.audience = Audience::People;
        made.unit = unit;
        made.keep = keep;
        return made;
    };
    Table table{.rows = runs->size()};
    table.whyEmpty = "The file has no runs.";
    auto& columns = table.columns;
    columns.push_back(column("run", "run", [](const RunRow& r) { return Cell(r.record.run.value); }));
    columns.back().keep = 2;
    columns.push_back(programs("uid", [](const RunRow& r) { return cellOf(r.record.uid); }));
    columns.push_back(column("name", "name", [](const RunRow& r) { return cellOf(r.record.name); }));
    columns.back().elidable = true;
    columns.push_back(
        column("workload", "workload", [](const RunRow& r) { return cellOf(r.record.workload); }));
    columns.back().keep = 0;
    if (runs->anyVarying()) {
        columns.push_back(people("what differs", Unit::None, 2, [runs](const RunRow& r) {
            return cellOf(labelOf(runs->varying(r.record)));
        }));
        columns.back().elidable = true;
    }
    columns.push_back(
        column("status", "status", [](const RunRow& r) { return cellOf(wordOf(r.record.result.status)); }));
    columns.back().meaning = Meaning::Status;
    columns.back().keep = 2;
    columns.push_back(programs("reason", [](const RunRow& r) { return cellOrNull(r.record.result.reason); }));
    columns.push_back(
        column("device", "device", [](const RunRow& r) { return cellOrNull(r.record.result.device); }));
    columns.push_back(programs("params", [](const RunRow& r) { return Cell(paramsJson(r.record)); }));
    columns.push_back(
        programs("parameters", [](const RunRow& r) { return cellOf(r.record.result.parameters); }));
    columns.push_back(
        column("step_ms", "median step", [](const RunRow& r) { return statisticCell(r.stepMs()); }));
    columns.back().unit = Unit::Milliseconds;
    columns.back().statistic = true;
    columns.back().keep = 2;
    columns.push_back(people("95 % interval", Unit::None, 1, [](const RunRow& r) {
        if (!r.stepMs())
            return Cell();
        const Scale scale = scaleFor(Unit::Milliseconds, r.stepMs()->median);
        const std::string text = intervalText(*r.stepMs(), scale);
        return cellOf(r.stepMs()->ci95 ? text + " " + scale.suffix : text);
    }));
    columns.push_back(people("n", Unit::None, 0,
                             [](const RunRow& r) { return r.stepMs() ? Cell(r.stepMs()->n) : Cell(); }));
    for (const Phase phase : runs->timedPhases())
        if (phase != Phase::Step)
            columns.push_back(people(std::string(wordOf(phase)), Unit::Milliseconds, 1,
                                     [phase](const RunRow& r) { return cellOf(phaseMedian(r, phase)); }));
    columns.push_back(programs("phases", [](const RunRow& r) { return Cell(phasesJson(r)); }));
    columns.push_back(programs("warmup_ms", [](const RunRow& r) { return Cell(numbersJson(r.warmupMs)); }));
    const auto bytes = [&](std::string key, std::string title, int keep,
                           std::optional<Bytes> RunResult::*member) {
        Column made = column(std::move(key), std::move(title),
                             [member](const RunRow& r) { return cellOf(r.record.result.*member); });
        made.unit = Unit::Bytes;
        made.keep = keep;
        return made;
    };
    columns.push_back(bytes("before_backward", "before backward", 0, &RunResult::beforeBackward));
    columns.push_back(bytes("peak_allocated", "peak", 1, &RunResult::peakAllocated));
    columns.push_back(bytes("peak_reserved", "reserved", 0, &RunResult::peakReserved));
    columns.push_back(column("trace_overhead", "traced/bare",
                             [](const RunRow& r) { return cellOf(r.record.result.traceOverhead); }));
    columns.back().keep = 0;
    columns.push_back(programs("loss", [](const RunRow& r) { return cellOf(r.record.result.loss); }));
    columns.push_back(programs("oom", [](const RunRow& r) { return oomJson(r.record.result.oom); }));
    columns.push_back(
        programs("flags", [](const RunRow& r) { return Cell(wordsJson(r.record.result.flags)); }));
    if (runs->anyFlags())
        columns.push_back(people("flags", Unit::None, 2,
                                 [](const RunRow& r) { return cellOrNull(wordsOf(r.record.result.flags)); }));
    columns.push_back(
        programs("started", [](const RunRow& r) { return cellOf(isoTime(r.record.startedUnixNs)); }));
    columns.push_back(programs("seconds", [](const RunRow& r) {
        return Cell(static_cast<double>(r.record.result.duration.count()) / 1e9);
    }));
    columns.push_back(programs("note", [](const RunRow& r) { return cellOrNull(r.record.note); }));
    columns.push_back(programs("tag", [](const RunRow& r) { return cellOrNull(r.record.tag); }));
    table.notes = runs->reasons();
    return table;
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
        if (phase.wallMs)
            add(std::string(wordOf(phase.phase)), statisticText(*phase.wallMs));
        if (phase.gpuMs)
            add(std::string(wordOf(phase.phase)) + " on GPU", statisticText(*phase.gpuMs));
    }
    std::string warmup;
    const Scale scale =
        scaleFor(Unit::Milliseconds,
                 run.warmupMs.empty() ? 0 : *std::max_element(run.warmupMs.begin(), run.warmupMs.end()));
    for (const double wall : run.warmupMs)
        warmup += (warmup.empty() ? "" : ", ") + scale.text(wall);
    add("warm-up steps", warmup.empty() ? "" : warmup + " " + scale.suffix);
    add("before backward", bytesText(result.beforeBackward));
    add("peak allocated", bytesText(result.peakAllocated));
    add("peak reserved", bytesText(result.peakReserved));
    add("traced / bare step", result.traceOverhead ? Scale{}.text(*result.traceOverhead) : "");
    add("loss", result.loss ? fmt::format("{:.6g}", *result.loss) : "");
    if (result.oom)
        add("out of memory", "in " + result.oom->phase + ": asked for " + bytesText(result.oom->requested) +
                                 ", had " + bytesText(result.oom->allocated) + " allocated, " +
                                 bytesText(result.oom->reserved) + " reserved");
    for (const std::string& flag : result.flags)
        add("flag " + std::string(flagName(flag)), describeFlag(flag));
    add("started", isoTime(record.startedUnixNs));
    add("took", fmt::format("{:.3g} s", static_cast<double>(result.duration.count()) / 1e9));
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
    const auto column = [&samples](std::string key, std::string title, Unit unit, auto get) {
        return Column{.key = std::move(key),
                      .title = std::move(title),
                      .cell = [samples, get](std::size_t row) -> Cell { return get(samples->rows[row]); },
                      .unit = unit};
    };
    using Row = query::SampleRow;
    Table table{.rows = samples->rows.size()};
    table.columns = {
        column("run", "run", Unit::None, [](const Row& row) { return Cell(row.run.value); }),
        column("step", "step", Unit::None,
               [](const Row& row) { return Cell(std::int64_t{row.sample.step}); }),
        column("kind", "kind", Unit::None, [](const Row& row) { return cellOf(wordOf(row.sample.kind)); }),
        column("phase", "phase", Unit::None, [](const Row& row) { return cellOf(wordOf(row.sample.phase)); }),
        column("wall_ns", "wall", Unit::Nanoseconds, [](const Row& row) { return cellOf(row.sample.wall); }),
        column("gpu_ns", "GPU", Unit::Nanoseconds, [](const Row& row) { return cellOf(row.sample.gpu); })};
    table.whyEmpty = "No step was measured.";
    return table;
}

Table tableOf(std::shared_ptr<const query::LossesTable> losses)
{
    const auto column = [&losses](std::string key, std::string title, auto get) {
        return Column{.key = std::move(key),
                      .title = std::move(title),
                      .cell = [losses, get](std::size_t row) -> Cell { return get(losses->rows[row]); }};
    };
    using Row = query::LossRow;
    Table table{.rows = losses->rows.size()};
    table.columns = {column("run", "run", [](const Row& row) { return Cell(row.run.value); }),
                     column("kind", "what was lost", [](const Row& row) { return cellOf(row.loss.kind); }),
                     column("severity", "severity", [](const Row& row) { return cellOf(row.loss.severity); }),
                     column("count", "count", [](const Row& row) { return Cell(row.loss.count); }),
                     column("detail", "detail", [](const Row& row) { return cellOrNull(row.loss.detail); })};
    table.columns[1].keep = table.columns[3].keep = 2;
    table.columns[2].meaning = Meaning::Severity;
    table.columns[4].elidable = true;
    const std::string checked = Scale{}.text(losses->recordsChecked) + " records checked";
    table.whyEmpty = losses->recordsChecked > 0 ? "Nothing lost (" + checked + ")" : "Nothing was traced";
    // What was left out by intent is told, and is no loss.
    const bool onlyTold = std::all_of(losses->rows.begin(), losses->rows.end(), [](const Row& row) {
        return row.loss.severity == wordOf(LossSeverity::Info);
    });
    if (table.rows > 0)
        table.notes.push_back(onlyTold ? "Nothing lost (" + checked + ")." : checked + ".");
    return table;
}

Table tableOf(std::shared_ptr<const query::EnvironmentTable> environment)
{
    const auto column = [&environment](std::string key, auto get) {
        return Column{
            .key = key,
            .title = key,
            .cell = [environment, get](std::size_t row) -> Cell { return get(environment->rows[row]); },
            .keep = 2};
    };
    Table table{.heading = describeRun(environment->run), .rows = environment->rows.size()};
    table.columns = {column("key", [](const EnvironmentEntry& entry) { return cellOf(entry.key); }),
                     column("value", [](const EnvironmentEntry& entry) { return cellOf(entry.value); }),
                     column("unit", [](const EnvironmentEntry& entry) { return cellOrNull(entry.unit); })};
    table.columns[1].elidable = true;
    table.whyEmpty =
        "Run " + std::to_string(environment->run.run.value) + " recorded nothing about its machine.";
    return table;
}

} // namespace tilescope::exchange
