#include "core/report/run_facts.h"

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/shell_word.h"
#include "core/config/schema.h"
#include "core/config/value_text.h"
#include "core/exchange/runs/run_columns.h"
#include "core/exchange/tables/number.h"
#include "core/model/parallelism.h"
#include "core/model/text.h"
#include "core/query/advice/advice_table.h"
#include "core/query/advice/answers.h"
#include "core/query/compare/compare_tables.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/steps/step_tables.h"
#include "core/query/work/work_tables.h"
#include "core/report/advice_facts.h"
#include "core/report/block_facts.h"
#include "core/report/forecast_facts.h"
#include "core/report/rank_facts.h"
#include "core/report/tensor_facts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope::report {

namespace {

using exchange::Unit;

/// The rest of `text` after `prefix`; none if it does not begin with it.
std::optional<std::string_view> behind(std::string_view text, std::string_view prefix)
{
    if (!text.starts_with(prefix))
        return {};
    return text.substr(prefix.size());
}

Measured milliseconds(double nanoseconds)
{
    return {nanoseconds / 1e6, {}, 1, Unit::Milliseconds};
}

/// A figure of an answer or a counter in the named unit.
Measured inUnit(double value, std::string_view unit)
{
    if (unit == "ns")
        return milliseconds(value);
    if (unit == "%")
        return {value, {}, 1, Unit::Percent};
    if (unit == "B")
        return {value, {}, 1, Unit::Bytes};
    if (unit == "FLOP")
        return {value, {}, 1, Unit::Operations};
    return {value, {}, 1, Unit::None};
}

query::EventQuery onlyOf(RunId run)
{
    query::EventQuery query;
    query.run = run;
    return query;
}

std::string plainText(const nlohmann::json& value)
{
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The metrics that the table of runs has as columns.
std::optional<Fact> columnFact(const query::RunRow& row, std::string_view metric)
{
    static const exchange::RunColumns<query::RunRow> of;
    const auto* const column = columnOf<query::RunRow>(metric, {{"status", &of.status},
                                                                {"reason", &of.reason},
                                                                {"peak", &of.peakAllocated},
                                                                {"reserved", &of.peakReserved},
                                                                {"before_backward", &of.beforeBackward},
                                                                {"parameters", &of.parameters},
                                                                {"final_loss", &of.finalLoss},
                                                                {"trace_overhead", &of.traceOverhead}});
    return column ? std::optional(factOf(*column, row)) : std::nullopt;
}

/// A figure of mode generate; none for other metrics. Without a value in runs of other modes.
std::optional<Fact> generationFact(const query::RunRow& row, std::string_view metric)
{
    const query::GenerationFigures figures = row.generation.value_or(query::GenerationFigures{});
    const auto of = [](const auto& value, Unit unit) {
        return value ? std::optional(factOf(exchange::toCell(value), unit)) : std::optional(Fact());
    };
    if (metric == "first_token")
        return of(figures.firstTokenMs, Unit::Milliseconds);
    if (metric == "per_token_p99")
        return of(figures.perTokenP99Ms, Unit::Milliseconds);
    if (metric == "tokens_per_second")
        return of(figures.tokensPerSecond, Unit::None);
    if (metric == "bytes_per_token")
        return of(figures.bytesPerToken, Unit::Bytes);
    if (metric == "bandwidth")
        return of(figures.bandwidthPercent, Unit::Percent);
    if (metric == "cache_bytes")
        return row.generation ? Fact(Measured{static_cast<double>(figures.cache.count), {}, 1, Unit::Bytes})
                              : Fact();
    return {};
}

} // namespace

RunFacts::RunFacts(Recording recording, query::RunRow row)
    : recording_(std::move(recording)), row_(std::move(row))
{
    const auto params = nlohmann::json::parse(row_.record.specJson, nullptr, false);
    if (params.is_object())
        for (const auto& item : params.items())
            params_.emplace(item.key(), plainText(item.value()));
}

std::string_view RunFacts::param(std::string_view key) const
{
    const auto found = params_.find(key);
    if (found != params_.end())
        return found->second;
    return row_.record.workload == "lm" ? valueWithoutRanks(key) : std::string_view();
}

std::string RunFacts::command(std::string_view section) const
{
    return "tilescope show " + shellPath(recording_.file) + " " + std::string(section) + " --run " +
           std::to_string(row_.record.run.value);
}

Fact RunFacts::fact(const std::string& metric) const
{
    const auto found = known_.find(metric);
    return found != known_.end() ? found->second : known_.emplace(metric, read(metric)).first->second;
}

std::optional<Measured> RunFacts::number(const std::string& metric) const
{
    const Fact known = fact(metric);
    if (const auto* measured = std::get_if<Measured>(&known))
        return *measured;
    const auto* text = std::get_if<std::string>(&known);
    const auto value = text ? parseNumber<double>(*text) : std::nullopt;
    return value ? std::optional(Measured{*value, {}, 1, Unit::None}) : std::nullopt;
}

Fact RunFacts::read(const std::string& metric) const
{
    if (const auto known = columnFact(row_, metric))
        return *known;
    if (const auto known = generationFact(row_, metric))
        return *known;
    if (metric == "gpu_busy")
        return gpuBusy();
    if (metric == "mfu")
        return modelUse();
    if (const auto rest = behind(metric, "warmup."))
        return singleStep("warmup", *rest);
    if (const auto rest = behind(metric, "timed."))
        return singleStep("timed", *rest);
    if (const auto rest = behind(metric, "memory."))
        return memoryShare(*rest);
    if (const auto rest = behind(metric, "counter."))
        return counter(*rest);
    if (const auto rest = behind(metric, "answer."))
        return answer(*rest);
    if (metric == "advice")
        return adviceFact(advice(), {});
    if (const auto rest = behind(metric, "advice."))
        return adviceFact(advice(), *rest);
    if (const auto rest = behind(metric, "tensor."))
        return tensorFact(named(), *rest);
    if (metric == "residual")
        return residualFact(*this, {});
    if (const auto rest = behind(metric, "residual."))
        return residualFact(*this, *rest);
    if (const auto rest = behind(metric, "ranks."))
        return ranksFact(ranks(), *rest);
    if (const auto rest = behind(metric, "collective."))
        return collectiveFact(ranks(), *rest);
    if (const auto rest = behind(metric, "moment."))
        return momentFact(*this, *rest);
    if (const auto rest = behind(metric, "block."))
        return blockFact(*this, *rest);
    if (const auto rest = behind(metric, "forecast."))
        return forecastFact(forecast(), *rest);
    if (behind(metric, "result."))
        return environment(metric);
    const std::size_t dot = metric.find('.');
    if (fromWord<Phase>(metric.substr(0, dot)) && (dot == std::string::npos || metric.substr(dot) == ".gpu"))
        return phaseTime(metric.substr(0, dot), dot != std::string::npos);
    if (const auto found = params_.find(metric); found != params_.end()) {
        if (const config::KeyInfo* key = config::findKey(metric); key && key->type == config::ValueType::Size)
            if (const auto bytes = parseNumber<double>(found->second))
                return Measured{*bytes, {}, 1, Unit::Bytes};
        return found->second;
    }
    return {};
}

Fact RunFacts::phaseTime(std::string_view phase, bool gpu) const
{
    for (const query::PhaseTimes& times : row_.phases)
        if (wordOf(times.phase) == phase)
            return factOf(exchange::toCell(gpu ? times.gpuMs : times.wallMs), Unit::Milliseconds);
    return {};
}

Fact RunFacts::singleStep(std::string_view kind, std::string_view number) const
{
    const std::size_t at = parseNumber<std::size_t>(number).value_or(0);
    if (kind == "warmup")
        return at >= 1 && at <= row_.warmupMs.size()
                   ? Fact(Measured{row_.warmupMs[at - 1], {}, 1, Unit::Milliseconds})
                   : Fact();
    for (const Sample& sample : recording_.reader->samples(row_.record.run))
        if (sample.kind == SampleKind::Measure && sample.phase == Phase::Step &&
            static_cast<std::size_t>(sample.step) + 1 == at)
            return milliseconds(static_cast<double>(sample.wall.count()));
    return {};
}

Fact RunFacts::memoryShare(std::string_view category) const
{
    query::EventQuery query = onlyOf(row_.record.run);
    query.grouping = query::Grouping::Category;
    for (const query::MemoryGroupRow& row : query::memoryGroupsTable(*recording_.reader, query).rows)
        if (row.key == category)
            return factOf(exchange::toCell(row.held), Unit::Bytes);
    return {};
}

Fact RunFacts::counter(std::string_view metric) const
{
    for (const CounterValue& value : recording_.reader->counters(row_.record.run))
        if (value.path == "step" && value.metric == metric)
            return inUnit(value.value, value.unit);
    return {};
}

Fact RunFacts::answer(std::string_view rest) const
{
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const query::AnswersTable table =
        query::answers(*recording_.reader, onlyOf(row_.record.run), std::string(rest.substr(0, dot)));
    const query::Answer& answer = table.rows.front();
    if (dot == rest.size())
        return answer.figures.empty() ? Fact() : Fact(answer.sentence);
    for (const query::AnswerFigure& figure : answer.figures)
        if (figure.label == rest.substr(dot + 1) && figure.value)
            return inUnit(*figure.value, figure.unit);
    return {};
}

Fact RunFacts::environment(std::string_view key) const
{
    for (const EnvironmentEntry& entry : recording_.reader->environment(row_.record.run))
        if (entry.key == key) {
            if (const auto number = parseNumber<double>(entry.value); number && entry.unit == "ms")
                return Measured{*number, {}, 1, Unit::Milliseconds};
            return entry.unit.empty() ? entry.value : entry.value + " " + entry.unit;
        }
    return {};
}

const query::AdviceTable& RunFacts::advice() const
{
    if (!advice_)
        advice_ =
            std::make_shared<const query::AdviceTable>(query::advice(*recording_.reader, row_.record.run));
    return *advice_;
}

const query::NamedMemory& RunFacts::named() const
{
    if (!named_)
        named_ = std::make_shared<const query::NamedMemory>(
            query::namedMemory(query::memoryHistory(*recording_.reader, row_.record.run), {}));
    return *named_;
}

const query::RanksTable& RunFacts::ranks() const
{
    if (!ranks_)
        ranks_ = std::make_shared<const query::RanksTable>(
            query::ranks(*recording_.reader, {.run = row_.record.run}));
    return *ranks_;
}

const query::StepForecast& RunFacts::forecast() const
{
    if (!forecast_)
        forecast_ =
            std::make_shared<const query::StepForecast>(query::stepForecast(*recording_.reader, row_.record));
    return *forecast_;
}

Fact RunFacts::gpuBusy() const
{
    std::int64_t busy = 0;
    std::int64_t wall = 0;
    for (const query::StepRow& step : query::steps(*recording_.reader, onlyOf(row_.record.run)).rows) {
        if (!step.onGpu)
            return {};
        if (!step.leftOut.empty())
            continue;
        busy += step.partition.gpuBusy.count();
        wall += (step.partition.wall.end - step.partition.wall.start).count();
    }
    if (wall == 0)
        return {};
    return Measured{100 * static_cast<double>(busy) / static_cast<double>(wall), {}, 1, Unit::Percent};
}

Fact RunFacts::modelUse() const
{
    std::vector<double> shares;
    for (const query::MfuRow& row : query::mfu(*recording_.reader, onlyOf(row_.record.run)).rows)
        if (const auto share = row.mfuSheet ? row.mfuSheet : row.mfuMeasured)
            shares.push_back(100 * *share);
    const auto statistics = analysis::summarise(shares);
    if (!statistics)
        return {};
    return Measured{statistics->median, statistics->ci95, statistics->n, Unit::Percent};
}

std::optional<analysis::TimedRun> RunFacts::timed(const std::string& metric) const
{
    constexpr std::string_view kOnGpu = ".gpu";
    const bool onGpu = metric.ends_with(kOnGpu);
    const auto phase =
        fromWord<Phase>(std::string_view(metric).substr(0, metric.size() - (onGpu ? kOnGpu.size() : 0)));
    if (!phase)
        return {};
    return query::timedRun(*recording_.reader, row_.record, *phase, onGpu);
}

Fact factOf(const exchange::Cell& cell, Unit unit)
{
    if (const auto* statistics = std::get_if<analysis::Statistics>(&cell))
        return Measured{statistics->median, statistics->ci95, statistics->n, unit};
    if (const auto* text = std::get_if<std::string>(&cell))
        return *text;
    const auto* whole = std::get_if<std::int64_t>(&cell);
    const auto* number = std::get_if<double>(&cell);
    if (!whole && !number)
        return {};
    const double value = whole ? static_cast<double>(*whole) : *number;
    return unit == Unit::Nanoseconds ? milliseconds(value) : Measured{value, {}, 1, unit};
}

bool isMetric(std::string_view name)
{
    constexpr std::array kWhole{
        "status",          "reason",         "peak",        "reserved",      "before_backward",
        "parameters",      "trace_overhead", "gpu_busy",    "mfu",           "residual",
        "advice",          "final_loss",     "first_token", "per_token_p99", "tokens_per_second",
        "bytes_per_token", "bandwidth",      "cache_bytes"};
    constexpr std::array kPrefixes{"warmup.",     "timed.",  "memory.",   "counter.", "answer.",
                                   "result.",     "tensor.", "residual.", "advice.",  "ranks.",
                                   "collective.", "moment.", "block.",    "forecast."};
    const std::string_view phase = name.substr(0, name.find('.'));
    const std::string_view rest = name.substr(phase.size());
    return std::ranges::find(kWhole, name) != kWhole.end() ||
           std::ranges::any_of(kPrefixes, [&](const char* prefix) { return name.starts_with(prefix); }) ||
           (fromWord<Phase>(phase) && (rest.empty() || rest == ".gpu")) || config::findKey(name) != nullptr;
}

std::string labelOf(const RunFacts& run, const std::vector<std::string>& keys)
{
    std::string label;
    for (const std::string& key : keys)
        if (const std::string_view value = run.param(key); !value.empty())
            label += (label.empty() ? "" : ", ") + key + " " + config::valueText(key, value);
    return label;
}

bool showsInterval(double median, const std::optional<analysis::ConfidenceInterval>& interval)
{
    constexpr double kShownSpread = 0.1;
    return interval && interval->high - interval->low > kShownSpread * std::abs(median);
}

std::string textOf(const Measured& measured)
{
    const exchange::Scale scale = exchange::scaleFor(measured.unit, std::abs(measured.value));
    std::string text = scale.text(measured.value);
    if (!scale.suffix.empty())
        text += " " + scale.suffix;
    if (showsInterval(measured.value, measured.interval))
        text += fmt::format(" ({} to {})", scale.text(measured.interval->low),
                            scale.text(measured.interval->high));
    return text;
}

} // namespace tilescope::report
