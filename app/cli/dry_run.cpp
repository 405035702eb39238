#include "app/cli/dry_run.h"

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/config/schema.h"
#include "core/config/spec_file.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/table.h"
#include "core/exchange/tables/text.h"
#include "core/model/fused_recomputation.h"
#include "core/model/text.h"
#include "core/session/supervisor/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace tilescope::cli {

namespace {

using exchange::Cell;
using exchange::Unit;
using session::PointForecast;
using session::SweepPoint;

struct Total {
    std::optional<double> seconds = 0; ///< none if unknown for some point
    double errorSeconds = 0;           ///< sum of the errors, because all points may deviate in the same
                                       ///< direction
    Bytes peak{};
    std::int64_t outOfMemory = 0;
    std::int64_t skipped = 0;
    std::int64_t unknown = 0; ///< points without a prediction of memory

    /// Relative to `seconds`.
    std::optional<double> error() const
    {
        return seconds && *seconds > 0 ? std::optional(errorSeconds / *seconds) : std::nullopt;
    }
};

Total totalOf(const std::vector<PointForecast>& forecasts)
{
    Total total;
    for (const PointForecast& point : forecasts) {
        if (point.skipped) {
            ++total.skipped;
            continue;
        }
        // Points that run out of memory end soon, so they do not count.
        if (!point.memory || !point.memory->outOfMemory)
            total.seconds = total.seconds && point.seconds ? std::optional(*total.seconds + *point.seconds)
                                                           : std::nullopt;
        total.errorSeconds += point.seconds.value_or(0) * point.error.value_or(0);
        if (!point.memory) {
            ++total.unknown;
            continue;
        }
        total.peak = std::max(total.peak, point.memory->peakAllocated);
        total.outOfMemory += point.memory->outOfMemory ? 1 : 0;
    }
    const auto isTimed = [](const PointForecast& point) { return point.seconds.has_value(); };
    if (!forecasts.empty() && std::ranges::none_of(forecasts, isTimed))
        total.seconds.reset();
    return total;
}

std::string bytesOrNull(const std::optional<Bytes>& bytes)
{
    return bytes ? std::to_string(bytes->count) : "null";
}

std::string numberOrNull(const std::optional<double>& value)
{
    return value ? exchange::jsonNumber(*value) : "null";
}

std::string categoriesJson(const predict::MemoryPrediction& memory)
{
    std::string text;
    for (std::size_t i = 0; i < memory.atPeak.size(); ++i)
        if (memory.atPeak[i] != 0)
            text +=
                fmt::format("{}{}:{}", text.empty() ? "" : ",",
                            exchange::jsonString(wordOf(static_cast<MemoryCategory>(i))), memory.atPeak[i]);
    return "{" + text + "}";
}

std::string oomJson(const std::optional<OomInfo>& oom)
{
    if (!oom)
        return "null";
    return fmt::format(R"({{"requested":{},"allocated":{},"reserved":{},"phase":{}}})",
                       bytesOrNull(oom->requested), bytesOrNull(oom->allocated), bytesOrNull(oom->reserved),
                       exchange::jsonString(oom->phase));
}

std::string memoryJson(const std::optional<predict::MemoryPrediction>& memory)
{
    if (!memory)
        return "null";
    return fmt::format(
        R"({{"peak_allocated":{},"peak_allocated_least":{},"peak_reserved":{},"before_backward":{},"at_peak":{},"out_of_memory":{}}})",
        memory->peakAllocated.count, memory->leastPeakAllocated.count, bytesOrNull(memory->peakReserved),
        bytesOrNull(memory->beforeBackward), categoriesJson(*memory), oomJson(memory->outOfMemory));
}

std::vector<RecomputedSegment> planOf(const ExperimentSpec& spec)
{
    return spec.workload == Workload::Lm && spec.mode != Mode::Forward ? recomputedSegments(spec)
                                                                       : std::vector<RecomputedSegment>{};
}

std::string segmentsJson(const std::vector<RecomputedSegment>& segments)
{
    std::string text;
    for (const RecomputedSegment& segment : segments)
        text += fmt::format(R"({}{{"begin":{},"end":{},"inner":{}}})", text.empty() ? "" : ",", segment.begin,
                            segment.end, segmentsJson(segment.inner));
    return "[" + text + "]";
}

std::string recomputationJson(const ExperimentSpec& spec)
{
    const std::vector<RecomputedSegment> plan = planOf(spec);
    if (plan.empty())
        return "null";
    const RecomputationSummary summary = summaryOf(plan, spec.layers);
    return fmt::format(R"({{"segments":{},"levels":{},"factor":{}}})", segmentsJson(plan), summary.levels,
                       exchange::jsonNumber(summary.factor));
}

/// 0 to 15, 16 to 31
std::string segmentsText(const std::vector<RecomputedSegment>& plan)
{
    constexpr std::size_t kShown = 8;
    std::vector<std::string> texts;
    for (const RecomputedSegment& segment : plan) {
        if (texts.size() == kShown) {
            texts.push_back(fmt::format("… {} to {}", plan.back().begin, plan.back().end - 1));
            break;
        }
        texts.push_back(segment.end - segment.begin == 1
                            ? std::to_string(segment.begin)
                            : fmt::format("{} to {}", segment.begin, segment.end - 1));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

/// One line for each plan of recomputation in the sweep.
void writePlans(std::ostream& out, const std::vector<SweepPoint>& points)
{
    std::vector<std::string> lines;
    for (const SweepPoint& point : points) {
        const std::vector<RecomputedSegment> plan = planOf(point.spec);
        if (plan.empty())
            continue;
        const RecomputationSummary summary = summaryOf(plan, point.spec.layers);
        std::string line =
            fmt::format("checkpointing {}, {}: segments of blocks {}", toText(point.spec.checkpointing),
                        counted(point.spec.layers, "layer"), segmentsText(plan));
        if (summary.levels > 1)
            line += fmt::format("; divided again, {} levels", summary.levels);
        line += fmt::format("; backward repeats {} forward passes of the blocks",
                            quantity::threeDigits(summary.factor));
        if (std::ranges::find(lines, line) == lines.end())
            lines.push_back(std::move(line));
    }
    for (const std::string& line : lines)
        out << line << '\n';
}

std::string ranksJson(const std::optional<predict::ParallelScaling>& ranks)
{
    if (!ranks)
        return "null";
    const auto whole = [](const std::optional<int>& number) {
        return number ? std::to_string(*number) : std::string("null");
    };
    const auto milliseconds = [](const std::optional<double>& seconds) {
        return numberOrNull(seconds ? std::optional(*seconds * 1e3) : std::nullopt);
    };
    return fmt::format(
        R"({{"fits_from":{},"bytes_sent":{:.0f},"communication_ms":{},"exposed_ms":{},"bound_from":{}}})",
        whole(ranks->fitsFrom), ranks->bytesSent, milliseconds(ranks->communicationSeconds),
        milliseconds(ranks->exposedSeconds), whole(ranks->boundFrom));
}

/// The event of a point with its forecast.
std::string pointJson(const SweepPoint& point, const PointForecast& forecast)
{
    std::string line =
        session::toJsonLine(session::PointEvent{point.index, point.of, 0, config::toJson(point.spec)});
    line.pop_back();
    const auto stepMs = forecast.stepSeconds ? std::optional(*forecast.stepSeconds * 1e3) : std::nullopt;
    return line +
           fmt::format(
               R"(,"forecast":{{"device":{},"skipped":{},"memory":{},"step_ms":{},"seconds":{},"error":{},"busy_host":{},"recomputation":{},"ranks":{}}}}})",
               exchange::jsonString(forecast.device),
               forecast.skipped ? exchange::jsonString(*forecast.skipped) : "null",
               memoryJson(forecast.memory), numberOrNull(stepMs), numberOrNull(forecast.seconds),
               numberOrNull(forecast.error), forecast.isFromBusyHost, recomputationJson(point.spec),
               ranksJson(forecast.ranks));
}

void writeJson(std::ostream& out, const std::vector<SweepPoint>& points,
               const std::vector<PointForecast>& forecasts)
{
    for (std::size_t i = 0; i < points.size(); ++i)
        out << pointJson(points[i], forecasts[i]) << '\n';
    const Total total = totalOf(forecasts);
    out << fmt::format(
               R"({{"event":"forecast","points":{},"out_of_memory":{},"skipped":{},"unknown":{},"peak_allocated":{},"seconds":{},"error":{}}})",
               points.size(), total.outOfMemory, total.skipped, total.unknown, total.peak.count,
               numberOrNull(total.seconds), numberOrNull(total.error()))
        << std::endl;
}

/// 12 %
std::string percentText(double share)
{
    return fmt::format("{:.0f} %", 100 * share);
}

Cell bytesCell(const std::optional<Bytes>& bytes)
{
    return bytes ? Cell(bytes->count) : Cell();
}

/// Prints how points with ranks depend on the number of ranks.
void addRankColumns(exchange::Table& table, const std::vector<PointForecast>& forecasts)
{
    const auto add = [&](std::string key, std::string title, Unit unit, int keep, auto value) {
        const auto cell = [&forecasts, value](std::size_t row) {
            const auto& ranks = forecasts[row].ranks;
            return ranks ? value(*ranks) : Cell();
        };
        table.columns.push_back(
            {.key = std::move(key), .title = std::move(title), .cell = cell, .unit = unit, .keep = keep});
    };
    const auto milliseconds = [](const std::optional<double>& seconds) {
        return seconds ? Cell(*seconds * 1e3) : Cell();
    };
    const auto whole = [](const std::optional<int>& number) {
        return number ? Cell(std::int64_t{*number}) : Cell();
    };
    using predict::ParallelScaling;
    add("fits_from", "fits from, ranks", Unit::None, 1, [=](const ParallelScaling& ranks) {
        return ranks.fitsFrom || !ranks.isCapacityKnown
                   ? whole(ranks.fitsFrom)
                   : Cell("none up to " + std::to_string(ParallelScaling::kMostRanks));
    });
    add("bytes_sent", "a rank sends", Unit::Bytes, 1,
        [](const ParallelScaling& ranks) { return Cell(ranks.bytesSent); });
    add("communication", "in", Unit::Milliseconds, 0,
        [=](const ParallelScaling& ranks) { return milliseconds(ranks.communicationSeconds); });
    add("exposed", "exposed", Unit::Milliseconds, 1,
        [=](const ParallelScaling& ranks) { return milliseconds(ranks.exposedSeconds); });
    add("bound_from", "bound from, ranks", Unit::None, 0,
        [=](const ParallelScaling& ranks) { return whole(ranks.boundFrom); });
    table.notes.push_back(
        "Fits from: the least number of ranks, up to " + std::to_string(ParallelScaling::kMostRanks) +
        ", with which a rank with the batch of the point fits. Bound from: the least number "
        "of ranks with which a step communicates for longer than it computes, if all ranks "
        "together keep the batch.");
}

exchange::Table tableOf(const std::vector<SweepPoint>& points, const std::vector<PointForecast>& forecasts)
{
    const auto labels = std::make_shared<const std::vector<std::string>>(session::keyLabels(points));
    const bool areNamed = session::haveSeveralNames(points);
    const auto column = [](std::string key, std::string title, auto cell, Unit unit = Unit::None) {
        return exchange::Column{.key = std::move(key), .title = std::move(title), .cell = cell, .unit = unit};
    };
    const auto memory = [&forecasts](auto value) {
        return [&forecasts, value](std::size_t row) {
            return forecasts[row].memory ? bytesCell(value(*forecasts[row].memory)) : Cell();
        };
    };
    using predict::MemoryPrediction;
    exchange::Table table{.rows = points.size()};
    table.columns = {
        column("point", "point", [&points](std::size_t row) { return Cell(points[row].index + 1); }),
        column("what", "what",
               [&points, labels, areNamed](std::size_t row) {
                   return Cell((*labels)[row].empty() && !areNamed ? points[row].spec.name : (*labels)[row]);
               }),
        column(
            "step", "a step",
            [&forecasts](std::size_t row) {
                const auto& seconds = forecasts[row].stepSeconds;
                return seconds ? Cell(*seconds * 1e3) : Cell();
            },
            Unit::Milliseconds),
        column("error", "±",
               [&forecasts](std::size_t row) {
                   const auto& error = forecasts[row].error;
                   return error ? Cell(percentText(*error)) : Cell();
               }),
        column("time", "in all",
               [&forecasts](std::size_t row) {
                   const auto& seconds = forecasts[row].seconds;
                   return seconds ? Cell(session::durationText(*seconds)) : Cell();
               }),
        column("peak", "peak allocated",
               memory([](const MemoryPrediction& m) { return std::optional(m.peakAllocated); }), Unit::Bytes),
        column("reserved", "reserved", memory([](const MemoryPrediction& m) { return m.peakReserved; }),
               Unit::Bytes),
        column("memory", "fits", [&forecasts](std::size_t row) {
            if (const auto& why = forecasts[row].skipped)
                return Cell("skipped: " + *why);
            const auto& m = forecasts[row].memory;
            if (!m)
                return Cell(std::string("not known"));
            return Cell(m->outOfMemory ? "out of memory in " + m->outOfMemory->phase : std::string("yes"));
        })};
    const auto isRange = [](const PointForecast& forecast) {
        return forecast.memory && forecast.memory->leastPeakAllocated < forecast.memory->peakAllocated;
    };
    if (const auto ranges = std::ranges::count_if(forecasts, isRange); ranges > 0) {
        double widest = 0;
        for (const PointForecast& forecast : forecasts)
            if (isRange(forecast))
                widest = std::max(widest, 1 - static_cast<double>(forecast.memory->leastPeakAllocated.count) /
                                                  static_cast<double>(forecast.memory->peakAllocated.count));
        table.notes.push_back("Peak allocated is the most: of " + counted(ranges, "point") +
                              " it may be up to " + quantity::threeDigits(100 * widest) +
                              " % lower, because it depends on whether threads of attention's backward need "
                              "scratch memory at the same instant.");
    }
    exchange::Column& what = table.columns[1];
    exchange::Column& peak = table.columns[5];
    exchange::Column& reserved = table.columns[6];
    exchange::Column& fits = table.columns.back();
    what.elidable = what.hasPairs = fits.elidable = true;
    what.keep = fits.keep = 2;
    reserved.keep = 0;
    peak.unitGroup = reserved.unitGroup = 1;
    if (areNamed) {
        exchange::Column name =
            column("name", "name", [&points](std::size_t row) { return Cell(points[row].spec.name); });
        name.elidable = true;
        name.keep = 2;
        table.columns.insert(table.columns.begin() + 1, std::move(name));
    }
    if (std::ranges::any_of(forecasts, [](const PointForecast& point) { return point.ranks.has_value(); }))
        addRankColumns(table, forecasts);
    return table;
}

std::string devicesOf(const std::vector<PointForecast>& forecasts)
{
    std::vector<std::string> names;
    for (const PointForecast& point : forecasts)
        if (std::ranges::find(names, point.device) == names.end())
            names.push_back(point.device);
    return fmt::format("{}", fmt::join(names, ", "));
}

void writeText(std::ostream& out, const std::vector<SweepPoint>& points,
               const std::vector<PointForecast>& forecasts, std::size_t present)
{
    exchange::writeTerminal(out, tableOf(points, forecasts), exchange::styleOfStandardOutput());
    writePlans(out, points);
    const Total total = totalOf(forecasts);
    if (!points.empty() && std::ranges::none_of(forecasts, [](const PointForecast& point) {
            return point.stepSeconds.has_value();
        }))
        out << "Time is not predicted: this device is not calibrated. Calibrate it with: tilescope doctor "
               "--ceilings\n";
    if (std::ranges::any_of(forecasts, &PointForecast::isFromBusyHost))
        out << "The device was calibrated while its host was busy, so the error may exceed ±. Calibrate it "
               "again with: tilescope doctor --ceilings\n";
    // Scripts read the number of points from the beginning of the last line.
    out << session::pointsText(points);
    if (!points.empty())
        out << " on " << devicesOf(forecasts);
    if (total.peak.count > 0)
        out << ", predicted peak " << exchange::withUnit(static_cast<double>(total.peak.count), Unit::Bytes);
    if (!points.empty() && total.seconds)
        out << ", about " << session::durationText(*total.seconds) << " ± "
            << percentText(total.error().value_or(0));
    if (total.outOfMemory > 0)
        out << ", " << total.outOfMemory << " out of memory";
    if (total.skipped > 0)
        out << ", " << total.skipped << " skipped";
    if (present > 0)
        out << "; " << present << " already in the file";
    out << "; nothing was run" << std::endl;
}

} // namespace

void showDryRun(std::ostream& out, const std::vector<SweepPoint>& points,
                const session::ForecastTarget& target, Format format, std::size_t present)
{
    const std::vector<PointForecast> forecasts = session::forecast(points, target);
    if (format == Format::Json)
        writeJson(out, points, forecasts);
    else
        writeText(out, points, forecasts, present);
}

Bytes capacityFrom(const std::string& text)
{
    try {
        const auto specs = config::specFromOverrides(Workload::Attention, {{"memory_limit", text}});
        if (specs.size() == 1 && specs.front().memoryLimit)
            return *specs.front().memoryLimit;
    } catch (const Error&) {
        // The message of parsing refers to the key that was used for it; replace it.
    }
    throw Error{.what = "'" + text + "' is not an amount of memory with its unit",
                .where = "--capacity",
                .remedy = "write --capacity '80 GiB'"};
}

} // namespace tilescope::cli
