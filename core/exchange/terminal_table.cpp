#include "core/exchange/table.h"

#include "core/base/plural.h"
#include "core/exchange/number.h"
#include "core/exchange/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ostream>
#include <string_view>

namespace tilescope::exchange {

namespace {

constexpr std::size_t kGap = 2;        // blanks between columns
constexpr std::size_t kNarrowest = 16; // drop columns before shortening names below this

/// A column ready for printing: every cell as text, and the width.
struct Printed {
    const Column* column = nullptr;
    std::string title;
    std::vector<std::string> cells;
    std::size_t width = 0;
    bool right = false;
    std::size_t padded = 0; ///< width to which cells are padded; longer cells shift the rest of their
                            ///< row
};

std::optional<double> numberIn(const Cell& cell)
{
    if (const auto* whole = std::get_if<std::int64_t>(&cell))
        return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&cell))
        return *real;
    if (const auto* statistics = std::get_if<analysis::Statistics>(&cell))
        return statistics->median;
    return {};
}

struct TerminalCell {
    const Scale& scale;

    std::string operator()(std::monostate) const { return "-"; }
    std::string operator()(bool value) const { return value ? "yes" : "no"; }
    std::string operator()(std::int64_t value) const { return scale.text(value); }
    std::string operator()(double value) const { return scale.text(value); }
    std::string operator()(const std::string& value) const { return escapeForTerminal(value); }
    std::string operator()(const analysis::Statistics& value) const { return scale.text(value.median); }
    std::string operator()(const RawJson& value) const { return escapeForTerminal(value.text); }
};

/// Reads the rows twice: first for the largest value of each column, which determines its unit. A table may
/// compute its rows on demand.
std::vector<Printed> print(const Table& table, std::size_t rows)
{
    std::vector<Printed> columns;
    for (const Column& column : table.columns)
        if (column.audience != Audience::Programs)
            columns.push_back({.column = &column, .title = column.title, .cells = {}});
    std::vector<double> largest(columns.size());
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t c = 0; c < columns.size(); ++c)
            if (const auto number = numberIn(columns[c].column->cell(row))) {
                largest[c] = std::max(largest[c], std::abs(*number));
                columns[c].right = true;
            }
    std::vector<Scale> scales;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        Printed& printed = columns[c];
        const Scale& scale = scales.emplace_back(scaleFor(printed.column->unit, largest[c]));
        if (!scale.suffix.empty() && printed.right)
            printed.title += " (" + scale.suffix + ")";
        printed.width = displayWidth(printed.title);
        printed.cells.reserve(rows);
    }
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t c = 0; c < columns.size(); ++c) {
            Printed& printed = columns[c];
            printed.cells.push_back(std::visit(TerminalCell{scales[c]}, printed.column->cell(row)));
            printed.width = std::max(printed.width, displayWidth(printed.cells.back()));
        }
    return columns;
}

std::size_t widthOf(const std::vector<Printed>& columns)
{
    std::size_t width = columns.empty() ? 0 : (columns.size() - 1) * kGap;
    for (const Printed& column : columns)
        width += column.width;
    return width;
}

/// Removes `excess` characters of width from elidable columns, widest first, none below kNarrowest.
void narrow(std::vector<Printed>& columns, std::size_t excess)
{
    while (excess > 0) {
        Printed* widest = nullptr;
        for (Printed& column : columns)
            if (column.column->elidable && column.width > kNarrowest &&
                (!widest || column.width > widest->width))
                widest = &column;
        if (!widest)
            return;
        --widest->width;
        --excess;
    }
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
        if (const std::size_t now = widthOf(columns); now > width)
            narrow(columns, now - width);
        if (widthOf(columns) <= width)
            return dropped;
        auto least = columns.end();
        for (auto column = columns.begin(); column != columns.end(); ++column)
            if (column->column->keep < 2 &&
                (least == columns.end() || column->column->keep <= least->column->keep))
                least = column;
        if (least == columns.end())
            return dropped;
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
        widths.push_back(displayWidth(cell));
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
        if (text == "error" || text == "interrupted")
            return red;
        if (text == "oom")
            return orange;
        if (text == "running")
            return blue;
        return text == "ok" ? std::string_view{} : faint;
    }
    if (meaning == Meaning::Severity)
        return text == "error" ? red : text == "warning" ? orange : std::string_view{};
    if (meaning == Meaning::Verdict)
        return text.starts_with("launch") || text.starts_with("slower") ? orange : std::string_view{};
    return {};
}

void writeCell(std::ostream& out, const Printed& column, std::string_view cell, std::string_view colour,
               bool last)
{
    const std::string text = elideMiddle(cell, column.width);
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

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
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
        std::vector<Printed> columns = print(table, rows);
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
