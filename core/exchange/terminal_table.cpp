#include "core/exchange/printed_table.h"
#include "core/exchange/table.h"

#include "core/base/plural.h"
#include "core/exchange/number.h"
#include "core/exchange/text.h"
#include "core/model/run_status.h"
#include "core/model/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
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

/// Removes `excess` characters of width from elidable columns, widest first, none below its least width.
void narrow(std::vector<Printed>& columns, std::size_t excess, const Least& least)
{
    while (excess > 0) {
        Printed* widest = nullptr;
        for (Printed& column : columns)
            if (column.column->elidable &&
                column.width > (column.column->hasPairs ? least.pairs : least.name) &&
                (!widest || column.width > widest->width))
                widest = &column;
        if (!widest)
            return;
        --widest->width;
        --excess;
    }
}

/// Columns with the lowest rank are dropped first: those without a value, then by `keep`.
int rankOf(const Printed& column)
{
    return column.hasValues || column.column->keep >= 2 ? column.column->keep : -1;
}

/// Makes the columns fit: shortens names first, then drops the least important column, the rightmost of
/// equals.
std::vector<std::string> fit(std::vector<Printed>& columns, std::size_t width)
{
    std::vector<std::string> dropped;
    if (width == 0)
        return dropped;
    const std::vector<Printed> wide = columns;
    for (;;) {
        if (const std::size_t now = totalWidth(columns); now > width)
            narrow(columns, now - width, kNarrow);
        if (totalWidth(columns) <= width)
            return dropped;
        auto least = columns.end();
        for (auto column = columns.begin(); column != columns.end(); ++column)
            if (rankOf(*column) < 2 && (least == columns.end() || rankOf(*column) <= rankOf(*least)))
                least = column;
        if (least == columns.end()) {
            narrow(columns, totalWidth(columns) - width, kNarrowest);
            return dropped;
        }
        dropped.push_back(least->column->title);
        columns.erase(least);
        // Without the dropped column, names may have more space again.
        for (Printed& column : columns)
            for (const Printed& original : wide)
                if (original.column == column.column)
                    column.width = original.width;
    }
}

/// The 90 % quantile of the widths of a column's cells: without shortening, one long text must not widen all
/// rows.
std::size_t usualWidth(const Printed& column)
{
    std::vector<std::size_t> widths{displayWidth(column.title)};
    for (const std::string& cell : column.cells)
        widths.push_back(std::min(displayWidth(cell), kWidestName));
    const auto usual = widths.begin() + static_cast<std::ptrdiff_t>(widths.size() * 9 / 10);
    std::ranges::nth_element(widths, usual);
    return *usual;
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
    const std::size_t padding = column.padded > taken ? column.padded - taken : 0;
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
    if (!isatty(STDOUT_FILENO))
        return style;
    const char* noColour = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    style.colour = !(noColour && *noColour) && terminal && std::string_view(terminal) != "dumb";
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        style.width = size.ws_col;
    if (const char* columns = std::getenv("COLUMNS")) {
        const std::string_view text(columns);
        std::size_t width = 0;
        if (std::from_chars(text.data(), text.data() + text.size(), width).ec == std::errc{} && width > 0)
            style.width = width;
    }
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
            column.padded = style.width == 0 && column.column->elidable ? usualWidth(column) : column.width;
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
