#include "core/exchange/table.h"

#include "core/exchange/text.h"

#include <array>
#include <ostream>

namespace tilescope::exchange {

namespace {

using analysis::Statistics;

std::string jsonOptional(const std::optional<double>& value)
{
    return value ? jsonNumber(*value) : "null";
}

std::string jsonStatistics(const Statistics& statistics)
{
    std::string text = "{\"mean\": " + jsonNumber(statistics.mean);
    text += ", \"std\": " + jsonOptional(statistics.standardDeviation);
    text += ", \"median\": " + jsonNumber(statistics.median);
    text += ", \"min\": " + jsonNumber(statistics.min) + ", \"max\": " + jsonNumber(statistics.max);
    text += ", \"p95\": " + jsonNumber(statistics.p95) + ", \"n\": " + std::to_string(statistics.n);
    text += ", \"ci95\": ";
    if (statistics.ci95)
        text += "[" + jsonNumber(statistics.ci95->low) + ", " + jsonNumber(statistics.ci95->high) + "]";
    else
        text += "null";
    return text + "}";
}

struct JsonCell {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return jsonNumber(value); }
    std::string operator()(const std::string& value) const { return jsonString(value); }
    std::string operator()(const Statistics& value) const { return jsonStatistics(value); }
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
    std::string operator()(const RawJson& value) const { return csvField(escapeJsonForTerminal(value.text)); }
};

constexpr std::array kFigures{"mean", "std", "median", "min", "max", "p95", "n", "ci95_low", "ci95_high"};

/// The figures of a statistic in the order of kFigures; all empty if it was not measured.
std::array<Cell, kFigures.size()> figuresOf(const Cell& cell)
{
    const auto* statistics = std::get_if<Statistics>(&cell);
    if (!statistics)
        return {};
    const auto optional = [](const std::optional<double>& value) { return value ? Cell(*value) : Cell(); };
    const auto& interval = statistics->ci95;
    return {statistics->mean,
            optional(statistics->standardDeviation),
            statistics->median,
            statistics->min,
            statistics->max,
            statistics->p95,
            statistics->n,
            interval ? Cell(interval->low) : Cell(),
            interval ? Cell(interval->high) : Cell()};
}

} // namespace

std::string cellJson(const Cell& cell)
{
    return std::visit(JsonCell{}, cell);
}

void writeJson(std::ostream& out, const Table& table)
{
    out << "[";
    for (std::size_t row = 0; row < table.rows; ++row) {
        out << (row == 0 ? "\n  {" : ",\n  {");
        bool first = true;
        for (const Column& column : table.columns) {
            if (column.audience == Audience::People)
                continue;
            out << (first ? "" : ", ") << jsonString(column.key) << ": " << cellJson(column.cell(row));
            first = false;
        }
        out << "}";
    }
    out << (table.rows == 0 ? "]\n" : "\n]\n");
}

void writeCsv(std::ostream& out, const Table& table)
{
    const auto eachField = [&](auto&& plain, auto&& statistic) {
        bool first = true;
        for (const Column& column : table.columns) {
            if (column.audience == Audience::People)
                continue;
            out << (first ? "" : ",");
            first = false;
            if (column.statistic)
                statistic(column);
            else
                plain(column);
        }
        out << "\r\n";
    };
    eachField([&](const Column& column) { out << csvField(column.key); },
              [&](const Column& column) {
                  for (std::size_t i = 0; i < kFigures.size(); ++i)
                      out << (i ? "," : "") << csvField(column.key + "." + kFigures[i]);
              });
    for (std::size_t row = 0; row < table.rows; ++row)
        eachField([&](const Column& column) { out << std::visit(CsvCell{}, column.cell(row)); },
                  [&](const Column& column) {
                      const auto figures = figuresOf(column.cell(row));
                      for (std::size_t i = 0; i < figures.size(); ++i)
                          out << (i ? "," : "") << std::visit(CsvCell{}, figures[i]);
                  });
}

} // namespace tilescope::exchange
