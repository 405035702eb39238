#include "core/exchange/tables/printed_table.h"

#include "core/exchange/tables/number.h"
#include "core/exchange/tables/text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

namespace tilescope::exchange {

namespace {

/// A cell before its column's unit is known: text, or what a scale makes a text of.
using Unscaled = std::variant<std::string, std::int64_t, double, analysis::ConfidenceInterval>;

struct ToUnscaled {
    Unscaled operator()(std::monostate) const { return "-"; }
    Unscaled operator()(bool value) const { return value ? "yes" : "no"; }
    Unscaled operator()(std::int64_t value) const { return value; }
    Unscaled operator()(double value) const { return value; }
    Unscaled operator()(const std::string& value) const { return escapeForTerminal(value); }
    Unscaled operator()(const analysis::Statistics& value) const { return value.median; }
    Unscaled operator()(const analysis::ConfidenceInterval& value) const { return value; }
    Unscaled operator()(const RawJson& value) const { return escapeForTerminal(value.text); }
};

struct Scaled {
    const Scale& scale;

    std::string operator()(std::string& text) const { return std::move(text); }
    std::string operator()(std::int64_t value) const { return scale.text(value); }
    std::string operator()(double value) const { return scale.text(value); }
    std::string operator()(const analysis::ConfidenceInterval& value) const
    {
        return scale.text(value.low) + " to " + scale.text(value.high);
    }
};

Scale scaleOf(const Printed& column, const std::vector<Printed>& columns)
{
    const Unit unit = column.column->unit;
    const int group = column.column->unitGroup;
    if (group == 0)
        return scaleFor(unit, column.largest);
    std::vector<double> compared;
    for (const Printed& other : columns)
        if (other.column->unitGroup == group && other.column->unit == unit)
            compared.push_back(other.largest);
    return quantity::commonScale(unit, compared);
}

} // namespace

std::optional<double> sizeOf(const Cell& cell)
{
    if (const auto* whole = std::get_if<std::int64_t>(&cell))
        return std::abs(static_cast<double>(*whole));
    if (const auto* number = std::get_if<double>(&cell))
        return std::abs(*number);
    if (const auto* statistics = std::get_if<analysis::Statistics>(&cell))
        return std::abs(statistics->median);
    if (const auto* interval = std::get_if<analysis::ConfidenceInterval>(&cell))
        return std::max(std::abs(interval->low), std::abs(interval->high));
    return {};
}

std::vector<Printed> printed(const Table& table, std::size_t rows)
{
    std::vector<Printed> columns;
    for (const Column& column : table.columns)
        if (column.audience != Audience::Programs)
            columns.push_back({.column = &column, .title = column.title, .cells = {}});
    std::vector<std::vector<Unscaled>> unscaled(columns.size());
    for (std::vector<Unscaled>& cells : unscaled)
        cells.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const Cell value = columns[c].column->cell(row);
            columns[c].hasValues = columns[c].hasValues || !std::holds_alternative<std::monostate>(value);
            unscaled[c].push_back(std::visit(ToUnscaled{}, value));
            if (const auto size = sizeOf(value)) {
                columns[c].largest = std::max(columns[c].largest, *size);
                columns[c].right = true;
            }
        }
    for (std::size_t c = 0; c < columns.size(); ++c) {
        Printed& column = columns[c];
        const Scale scale = scaleOf(column, columns);
        if (!scale.suffix.empty() && column.right)
            column.title += column.title.empty() ? scale.suffix : " (" + scale.suffix + ")";
        column.width = displayWidth(column.title);
        column.cells.reserve(rows);
        for (Unscaled& cell : unscaled[c]) {
            column.cells.push_back(std::visit(Scaled{scale}, cell));
            column.width = std::max(column.width, displayWidth(column.cells.back()));
        }
        unscaled[c] = {};
    }
    return columns;
}

} // namespace tilescope::exchange
