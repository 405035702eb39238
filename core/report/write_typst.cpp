#include "core/report/escape.h"
#include "core/report/writers.h"

#include <algorithm>
#include <cstddef>
#include <ostream>

namespace tilescope::report {

namespace {

constexpr std::string_view kTypstPreamble = R"(#set page(paper: "a4", margin: 2cm, numbering: "1")
#set text(size: 10pt)
#set par(justify: false)
#set heading(numbering: "1.")
#show figure: set block(breakable: true)
#set figure(gap: 0.8em)
#show table.cell.where(y: 0): strong
)";

/// Literal text, whatever it contains.
std::string shown(std::string_view text)
{
    return "#" + typstString(text);
}

std::string typstCell(const Cell& cell)
{
    std::string text = "[" + shown(cell.text);
    if (cell.note)
        text += "#super(" + typstString(std::to_string(*cell.note + 1)) + ")";
    return text + "]";
}

bool needsFraction(const Table& table, std::ptrdiff_t column)
{
    constexpr std::size_t kSentence = 40;
    return std::ranges::any_of(table.rows, [column](const auto& row) {
        return row[static_cast<std::size_t>(column)].text.size() > kSentence;
    });
}

/// Wide tables use a smaller font.
const char* typstSize(const Table& table)
{
    constexpr std::size_t kWide = 8;
    return table.columns.size() >= kWide ? "6.5pt" : "9pt";
}

void writeTypstTable(std::ostream& out, const Table& table)
{
    out << "#figure(caption: [" << shown(table.caption) << "], text(size: " << typstSize(table)
        << ", table(\n  columns: (";
    for (const Column& column : table.columns)
        out << (needsFraction(table, &column - table.columns.data()) ? "1fr, " : "auto, ");
    out << "),\n  align: (";
    for (const Column& column : table.columns)
        out << (column.numeric ? "right, " : "left, ");
    out << "),\n  stroke: none, inset: 3pt,\n  table.hline(),\n  table.header(";
    for (const Column& column : table.columns)
        out << '[' << shown(headingOf(column)) << "], ";
    out << "),\n  table.hline(stroke: 0.5pt),\n";
    for (const auto& row : table.rows) {
        out << "  ";
        for (const Cell& cell : row)
            out << typstCell(cell) << ", ";
        out << '\n';
    }
    out << "  table.hline(),\n)))\n";
    for (std::size_t i = 0; i < table.notes.size(); ++i)
        out << "#text(size: 8pt)[#super(" << typstString(std::to_string(i + 1)) << ") "
            << shown(table.notes[i]) << "] \\\n";
    out << '\n';
}

void writeTypstFigure(std::ostream& out, const Figure& figure, const Drawings& drawings)
{
    out << "#figure(caption: [" << shown(figure.caption) << "], ";
    if (drawings.has(figure.id))
        out << "image(" << typstString(drawings.folder + "/" + figure.id + ".svg") << ", width: 100%)";
    else
        out << '[' << shown("not drawn: " + drawings.whyNone) << ']';
    out << ")\n\n";
}

void writeTypstSection(std::ostream& out, const Section& section, const Drawings& drawings)
{
    out << "= " << shown(section.title) << "\n\n#emph[" << shown(section.asks) << "]\n\n";
    for (const std::string& about : section.about)
        out << shown(about) << '\n';
    out << '\n';
    for (const Caution& caution : section.cautions)
        out << "#block(fill: luma(235), inset: 6pt)[*Note.* " << shown(caution) << "]\n\n";
    for (const Finding& finding : section.findings) {
        out << "- " << shown(finding.text);
        if (!finding.command.empty())
            out << " #raw(" << typstString(finding.command) << ")";
        out << '\n';
    }
    out << '\n';
    for (const Table& table : section.tables)
        writeTypstTable(out, table);
    for (const Figure& figure : section.figures)
        writeTypstFigure(out, figure, drawings);
    out << "#text(size: 8pt)[Setting:";
    for (const auto& [key, value] : section.setting)
        out << (&value == &section.setting.front().second ? " " : "; ") << shown(key + ": " + value);
    out << ".]\n\n";
}

} // namespace

void writeTypst(std::ostream& out, const Document& document, const Drawings& drawings)
{
    out << kTypstPreamble << "\n#align(center, text(size: 17pt)[" << shown(document.title) << "])\n\n";
    if (document.sections.size() > 1)
        out << "#outline()\n\n";
    for (const Section& section : document.sections)
        writeTypstSection(out, section, drawings);
    out << shown("Made by " + document.program + " from");
    for (const std::string& source : document.sources)
        out << ' ' << "#raw(" << typstString(source) << ")";
    out << ".\n";
}

} // namespace tilescope::report
