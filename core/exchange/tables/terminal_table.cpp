#include "core/exchange/tables/table.h"

#include "core/base/colour_choice.h"
#include "core/base/plural.h"
#include "core/base/terminal_columns.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/printed_table.h"
#include "core/exchange/tables/text.h"
#include "core/model/run_status.h"
#include "core/model/text.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <string_view>

namespace tilescope::exchange {

namespace {

constexpr std::size_t kGap = 2; // blanks between columns
/// Widths to which texts are shortened.
struct Least {
    std::size_t name;
    std::size_t pairs; ///< `key=value` pairs: enough for a whole one
};

constexpr std::size_t kWidestName = 200; // of a text that may be shortened, also where the width has no limit
constexpr Least kNarrow{16, 24};         // columns are dropped before texts become narrower
constexpr Least kNarrowest{8, 20};       // if no more columns can be dropped

std::size_t totalWidth(const std::vector<Printed>& columns)
{
    std::size_t width = columns.empty() ? 0 : (columns.size() - 1) * kGap;
    for (const Printed& column : columns)
        width += column.width;
    return width;
}

bool holdsPairs(const Printed& column)
{
    return column.column->hasPairs && std::ranges::any_of(column.cells, [](const std::string& cell) {
               return cell.find('=') != std::string::npos;
           });
}

/// The width to which a column may be narrowed.
std::size_t leastOf(const Printed& column, const Least& least)
{
    return holdsPairs(column) ? least.pairs : least.name;
}

/// Removes `excess` characters of width from elidable columns, widest first, none below its least width.
void narrow(std::vector<Printed>& columns, std::size_t excess, const Least& least)
{
    while (excess > 0) {
        Printed* widest = nullptr;
        for (Printed& column : columns)
            if (column.column->elidable && column.width > leastOf(column, least) &&
                (!widest || column.width > widest->width))
                widest = &column;
        if (!widest)
            return;
        --widest->width;
        --excess;
    }
}

/// Whether all of several rows have the same text.
bool isConstant(const Printed& column)
{
    return column.cells.size() > 1 && std::ranges::all_of(column.cells, [&](const std::string& cell) {
               return cell == column.cells.front();
           });
}

/// Columns with the lowest rank are dropped first: those without a value or with one value, then by `keep`. A status is
/// kept if it differs.
int rankOf(const Printed& column)
{
    if (isConstant(column) && column.column->meaning == Meaning::Status)
        return -1;
    return (column.hasValues && !isConstant(column)) || column.column->keep >= 2 ? column.column->keep : -1;
}

/// Replaces the title by the short one, with the same unit.
void shortenTitle(Printed& column)
{
    const Column& about = *column.column;
    if (about.shortTitle.empty() || about.title.empty())
        return;
    column.title.replace(0, about.title.size(), about.shortTitle);
    column.width = displayWidth(column.title);
    for (const std::string& cell : column.cells)
        column.width = std::max(column.width, displayWidth(cell));
    if (about.elidable)
        column.width = std::min(column.width, kWidestName);
}

/// What is said of a dropped column: its title, and the value that all rows have.
std::string droppedText(const Printed& column)
{
    const std::string& title = column.column->title;
    return column.hasValues && isConstant(column) ? title + " (all " + column.cells.front() + ")" : title;
}

/// Makes the columns fit: shortens names first, then drops the least important column, the rightmost of equals. Titles
/// are shortened before the first column with different values is dropped.
std::vector<std::string> fit(std::vector<Printed>& columns, std::size_t width)
{
    std::vector<std::string> dropped;
    if (width == 0)
        return dropped;
    std::vector<Printed> wide = columns;
    const auto restoreWidths = [&columns, &wide] {
        for (Printed& column : columns)
            for (const Printed& original : wide)
                if (original.column == column.column)
                    column.width = original.width;
    };
    for (bool isShort = false;;) {
        if (const std::size_t now = totalWidth(columns); now > width)
            narrow(columns, now - width, kNarrow);
        if (totalWidth(columns) <= width)
            return dropped;
        auto least = columns.end();
        for (auto column = columns.begin(); column != columns.end(); ++column)
            if (rankOf(*column) < 2 && (least == columns.end() || rankOf(*column) <= rankOf(*least)))
                least = column;
        if (!isShort && (least == columns.end() || rankOf(*least) >= 0)) {
            isShort = true;
            std::ranges::for_each(wide, shortenTitle);
            std::ranges::for_each(columns, shortenTitle);
            restoreWidths();
            continue;
        }
        if (least == columns.end()) {
            narrow(columns, totalWidth(columns) - width, kNarrowest);
            return dropped;
        }
        dropped.push_back(droppedText(*least));
        columns.erase(least);
        restoreWidths(); // without the dropped column, names may have more space again
    }
}

std::string_view colourOf(Meaning meaning, std::string_view text)
{
    constexpr std::string_view red = "\x1b[31m";
    constexpr std::string_view orange = "\x1b[33m";
    constexpr std::string_view blue = "\x1b[34m";
    constexpr std::string_view faint = "\x1b[2m";
    if (text == "-")
        return faint;
    if (meaning == Meaning::Status) {
        const StatusTone tone = traitsOf(fromWord<RunStatus>(text).value_or(RunStatus::Skipped)).tone;
        return tone == StatusTone::Failed    ? red
               : tone == StatusTone::Limited ? orange
               : tone == StatusTone::Running ? blue
               : tone == StatusTone::Absent  ? faint
                                             : std::string_view{};
    }
    if (meaning == Meaning::Severity) {
        const auto severity = fromWord<LossSeverity>(text);
        return severity == LossSeverity::Error     ? red
               : severity == LossSeverity::Warning ? orange
                                                   : std::string_view{};
    }
    if (meaning == Meaning::Verdict)
        return text.starts_with("launch") || text.starts_with("slower") ? orange : std::string_view{};
    return {};
}

void writeCell(std::ostream& out, const Printed& column, std::string_view cell, std::string_view colour,
               bool last)
{
    const std::string text =
        column.column->hasPairs ? elidePairs(cell, column.width) : elideMiddle(cell, column.width);
    const std::size_t taken = displayWidth(text);
    const std::size_t padding = column.width > taken ? column.width - taken : 0;
    if (column.right)
        out << std::string(padding, ' ');
    out << colour << text << (colour.empty() ? "" : "\x1b[0m");
    if (!column.right && !last)
        out << std::string(padding, ' ');
    if (!last)
        out << std::string(kGap, ' ');
}

} // namespace

TerminalStyle styleOfStandardOutput()
{
    TerminalStyle style;
    style.colour = colourChoice() == ColourChoice::Always;
    if (!isatty(STDOUT_FILENO))
        return style;
    const char* noColour = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    if (colourChoice() == ColourChoice::Auto)
        style.colour = !(noColour && *noColour) && terminal && std::string_view(terminal) != "dumb";
    style.width = columnsOfEnvironment().value_or(columnsOfTerminal(STDOUT_FILENO).value_or(style.width));
    return style;
}

void writeTerminal(std::ostream& out, const Table& table, const TerminalStyle& style)
{
    const auto emphasised = [&style](std::string_view code, const std::string& text) {
        return style.colour ? std::string(code) + text + "\x1b[0m" : text;
    };
    if (!table.heading.empty())
        out << emphasised("\x1b[1m", escapeForTerminal(table.heading)) << "\n";
    if (table.rows == 0) {
        if (!table.whyEmpty.empty())
            out << escapeForTerminal(table.whyEmpty) << "\n";
    } else {
        const std::size_t rows = style.limit > 0 ? std::min(style.limit, table.rows) : table.rows;
        std::vector<Printed> columns = printed(table, rows);
        for (Printed& column : columns)
            if (column.column->elidable)
                column.width = std::min(column.width, kWidestName);
        const std::vector<std::string> dropped = fit(columns, style.width);
        for (Printed& column : columns)
            if (column.column->hasPairs)
                column.cells = elidePairsAlike(column.cells, column.width);
        for (std::size_t c = 0; c < columns.size(); ++c)
            writeCell(out, columns[c], columns[c].title, style.colour ? "\x1b[1m" : "",
                      c + 1 == columns.size());
        out << "\n";
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t c = 0; c < columns.size(); ++c) {
                const std::string& cell = columns[c].cells[row];
                const std::string_view colour =
                    style.colour ? colourOf(columns[c].column->meaning, cell) : std::string_view{};
                writeCell(out, columns[c], cell, colour, c + 1 == columns.size());
            }
            out << "\n";
        }
        if (rows < table.rows)
            out << table.rows - rows << " more "
                << plural(static_cast<std::int64_t>(table.rows - rows), "row") << "; --limit 0 shows all\n";
        if (!dropped.empty())
            out << "Columns not shown: " << joined(dropped)
                << "; a wider terminal or --format csv shows them\n";
    }
    for (const std::string& note : table.notes)
        out << emphasised("\x1b[2m", escapeForTerminal(note)) << "\n";
}

} // namespace tilescope::exchange
