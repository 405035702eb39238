#include "core/exchange/tables/text.h"
#include "core/report/writers.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace tilescope::report {

namespace {

using Json = nlohmann::ordered_json;

const char* wordOf(Cell::Kind kind)
{
    switch (kind) {
    case Cell::Kind::Text:
        return "text";
    case Cell::Kind::Number:
        return "number";
    case Cell::Kind::Missing:
        return "missing";
    case Cell::Kind::OutOfMemory:
        return "oom";
    case Cell::Kind::Skipped:
        return "skipped";
    case Cell::Kind::Failed:
        return "error";
    }
    return "text";
}

template <class T> Json orNull(const std::optional<T>& value)
{
    return value ? Json(*value) : Json(nullptr);
}

Json cellJson(const Cell& cell, const Table& table)
{
    return {{"kind", wordOf(cell.kind)},
            {"text", cell.text},
            {"value", orNull(cell.value)},
            {"ci95", cell.interval ? Json::array({cell.interval->low, cell.interval->high}) : Json(nullptr)},
            {"n", orNull(cell.n)},
            {"note", cell.note ? Json(table.notes.at(*cell.note)) : Json(nullptr)}};
}

Json tableJson(const Table& table)
{
    Json json{{"id", table.id},
              {"number", table.number},
              {"caption", table.caption},
              {"columns", Json::array()},
              {"rows", Json::array()}};
    for (const Column& column : table.columns)
        json["columns"].push_back(
            {{"heading", column.heading},
             {"shown_unit", column.unit.empty() ? Json(nullptr) : Json(column.unit)},
             {"unit", column.baseUnit.empty() ? Json(nullptr) : Json(column.baseUnit)}});
    for (const auto& row : table.rows) {
        Json cells = Json::array();
        for (const Cell& cell : row)
            cells.push_back(cellJson(cell, table));
        json["rows"].push_back(std::move(cells));
    }
    return json;
}

Json sectionJson(const Section& section)
{
    Json json{{"study", section.study},    {"title", section.title},    {"asks", section.asks},
              {"about", section.about},    {"setting", Json::object()}, {"cautions", Json::array()},
              {"findings", Json::array()}, {"tables", Json::array()},   {"figures", Json::array()}};
    for (const Caution& caution : section.cautions)
        json["cautions"].push_back(textOf(caution));
    for (const auto& [key, value] : section.setting)
        json["setting"][key] = value;
    for (const Finding& finding : section.findings) {
        const Figure* figure = figureOf(section, finding);
        json["findings"].push_back({{"text", finding.text},
                                    {"conclusive", finding.conclusive},
                                    {"rule", finding.rule},
                                    {"commands", finding.commands},
                                    {"figure", figure ? Json(figure->id) : Json(nullptr)}});
    }
    for (const Table& table : section.tables)
        json["tables"].push_back(tableJson(table));
    for (const Figure& figure : section.figures)
        json["figures"].push_back({{"id", figure.id},
                                   {"number", figure.number},
                                   {"caption", figure.caption},
                                   {"recipe", Json::parse(figure.recipe, nullptr, false)}});
    return json;
}

} // namespace

std::string headingOf(const Column& column)
{
    return column.unit.empty() ? column.heading : column.heading + ", " + column.unit;
}

void writeJson(std::ostream& out, const Document& document)
{
    Json json{{"tilescope_report", 1},       {"title", document.title},       {"author", document.author},
              {"program", document.program}, {"measured", document.measured}, {"sources", document.sources},
              {"method", document.method},   {"summary", Json::array()},      {"sections", Json::array()}};
    for (const Highlight& one : document.summary)
        json["summary"].push_back(document.sections[one.section].findings[one.finding].text);
    for (const Section& section : document.sections)
        json["sections"].push_back(sectionJson(section));
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

void writeCsv(std::ostream& out, const Table& table)
{
    using exchange::csvField;
    std::vector<bool> intervals;
    for (std::size_t column = 0; column < table.columns.size(); ++column)
        intervals.push_back(std::ranges::any_of(
            table.rows, [column](const auto& row) { return row[column].interval.has_value(); }));
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const Column& column = table.columns[i];
        const std::string unit =
            column.baseUnit.empty() || column.baseUnit == "1" ? "" : ", " + column.baseUnit;
        out << (i == 0 ? "" : ",") << csvField(column.heading + unit);
        if (intervals[i])
            out << ',' << csvField(column.heading + " low" + unit) << ','
                << csvField(column.heading + " high" + unit) << ',' << csvField(column.heading + " n");
    }
    out << "\r\n";
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const Cell& cell = row[i];
            out << (i == 0 ? "" : ",");
            if (cell.value)
                out << exchange::jsonNumber(*cell.value);
            else if (cell.kind != Cell::Kind::Missing)
                out << csvField(cell.text);
            if (intervals[i])
                out << ',' << (cell.interval ? exchange::jsonNumber(cell.interval->low) : "") << ','
                    << (cell.interval ? exchange::jsonNumber(cell.interval->high) : "") << ','
                    << (cell.n ? std::to_string(*cell.n) : "");
        }
        out << "\r\n";
    }
}

} // namespace tilescope::report
