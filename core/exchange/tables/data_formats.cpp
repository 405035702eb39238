#include "core/exchange/tables/table.h"

#include "core/exchange/tables/json_text.h"
#include "core/exchange/tables/percentile.h"
#include "core/exchange/tables/text.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>
#include <vector>

namespace tilescope::exchange {

namespace {

using analysis::ConfidenceInterval;
using analysis::Statistics;

std::string jsonInterval(const ConfidenceInterval& interval)
{
    return "[" + jsonNumber(interval.low) + ", " + jsonNumber(interval.high) + "]";
}

/// What the interval of a statistic assumes; none: nothing.
std::optional<std::string_view> assumptionOf(const Statistics& statistics)
{
    return statistics.assumesIndependence ? std::optional<std::string_view>("independent values")
                                          : std::nullopt;
}

std::string jsonStatistics(const Statistics& statistics)
{
    return JsonObject()
        .add("mean", statistics.mean)
        .add("std", statistics.standardDeviation)
        .add("median", statistics.median)
        .add("min", statistics.min)
        .add("max", statistics.max)
        .add("p95", percentile95(statistics))
        .add("n", statistics.n)
        .add("n_effective", statistics.effective)
        .add("ci95", statistics.ci95)
        .add("ci95_assumes", assumptionOf(statistics))
        .json()
        .text;
}

struct JsonCell {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return jsonNumber(value); }
    std::string operator()(const std::string& value) const { return jsonString(value); }
    std::string operator()(const Statistics& value) const { return jsonStatistics(value); }
    std::string operator()(const ConfidenceInterval& value) const { return jsonInterval(value); }
    std::string operator()(const RawJson& value) const { return escapeJsonForTerminal(value.text); }
};

struct CsvCell {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const
    {
        const std::string text = jsonNumber(value);
        return text == "null" ? std::string() : text;
    }
    std::string operator()(const std::string& value) const { return csvField(value); }
    std::string operator()(const Statistics& value) const { return csvField(jsonStatistics(value)); }
    std::string operator()(const ConfidenceInterval& value) const { return csvField(jsonInterval(value)); }
    std::string operator()(const RawJson& value) const { return csvField(escapeJsonForTerminal(value.text)); }
};

constexpr std::array kFigures{"mean", "std",         "median",   "min",       "max",         "p95",
                              "n",    "n_effective", "ci95_low", "ci95_high", "ci95_assumes"};

/// The figures of a statistic in the order of kFigures; all empty if it was not measured.
std::array<Cell, kFigures.size()> figuresOf(const Cell& cell)
{
    const auto* statistics = std::get_if<Statistics>(&cell);
    if (!statistics)
        return {};
    const auto& interval = statistics->ci95;
    return {statistics->mean,
            toCell(statistics->standardDeviation),
            statistics->median,
            statistics->min,
            statistics->max,
            toCell(percentile95(*statistics)),
            statistics->n,
            statistics->effective,
            interval ? Cell(interval->low) : Cell(),
            interval ? Cell(interval->high) : Cell(),
            toCell(assumptionOf(*statistics))};
}

} // namespace

std::string cellJson(const Cell& cell)
{
    return std::visit(JsonCell{}, cell);
}

void writeJson(std::ostream& out, const Table& table)
{
    std::vector<std::pair<std::string, const Column*>> members;
    for (const Column& column : table.columns)
        if (column.audience != Audience::People)
            members.emplace_back((members.empty() ? "" : ", ") + jsonString(column.key) + ": ", &column);
    out << "[";
    std::string line;
    for (std::size_t row = 0; row < table.rows; ++row) {
        line = row == 0 ? "\n  {" : ",\n  {";
        for (const auto& [key, column] : members)
            line.append(key).append(cellJson(column->cell(row)));
        out << line << "}";
    }
    out << (table.rows == 0 ? "]\n" : "\n]\n");
}

void writeCsv(std::ostream& out, const Table& table)
{
    std::string line;
    bool first = true;
    const auto add = [&](const std::string& field) {
        line.append(std::exchange(first, false) ? "" : ",").append(field);
    };
    const auto end = [&] {
        out << line << "\r\n";
        line.clear();
        first = true;
    };
    std::vector<const Column*> columns;
    for (const Column& column : table.columns)
        if (column.audience != Audience::People)
            columns.push_back(&column);
    for (const Column* column : columns)
        if (column->statistic)
            for (const std::string_view figure : kFigures)
                add(csvField(column->key + "." + std::string(figure)));
        else
            add(csvField(column->key));
    end();
    for (std::size_t row = 0; row < table.rows; ++row) {
        const auto value = [&](const Cell& cell) { add(std::visit(CsvCell{}, cell)); };
        for (const Column* column : columns)
            if (column->statistic)
                std::ranges::for_each(figuresOf(column->cell(row)), value);
            else
                value(column->cell(row));
        end();
    }
}

} // namespace tilescope::exchange
