#include "core/exchange/printed_table.h"

#include "core/exchange/number.h"
#include "core/exchange/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

/// The absolute value that determines the unit; none for a text.
struct Size {
    std::optional<double> operator()(const std::string&) const { return {}; }
    std::optional<double> operator()(std::int64_t value) const
    {
        return std::abs(static_cast<double>(value));
    }
    std::optional<double> operator()(double value) const { return std::abs(value); }
    std::optional<double> operator()(const analysis::ConfidenceInterval& value) const
    {
        return std::max(std::abs(value.low), std::abs(value.high));
    }
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
    double largest = column.largest;
    if (!column.column->sharesUnit)
        return scaleFor(unit, largest);
    const auto isCompared = [unit](const Printed& other) {
        return other.column->sharesUnit && other.column->unit == unit && other.largest > 0;
    };
    double least = largest > 0 ? largest : std::numeric_limits<double>::infinity();
    for (const Printed& other : columns)
        if (isCompared(other)) {
            largest = std::max(largest, other.largest);
            least = std::min(least, other.largest);
        }
    constexpr double kNextUnit = 1000; // units differ by this factor or 1024
    const Scale scale = scaleFor(unit, largest);
    return least / scale.divisor < 0.1 ? scaleFor(unit, largest / kNextUnit) : scale;
}

} // namespace

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
            const Unscaled& cell = unscaled[c].emplace_back(std::visit(ToUnscaled{}, value));
            if (const auto size = std::visit(Size{}, cell)) {
                columns[c].largest = std::max(columns[c].largest, *size);
                columns[c].right = true;
            }
        }
    for (std::size_t c = 0; c < columns.size(); ++c) {
        Printed& column = columns[c];
        const Scale scale = scaleOf(column, columns);
        if (!scale.suffix.empty() && column.right)
            column.title += " (" + scale.suffix + ")";
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
