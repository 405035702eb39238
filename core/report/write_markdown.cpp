#include "core/report/escape.h"
#include "core/report/writers.h"

#include <fmt/format.h>

#include <ostream>

namespace tilescope::report {

namespace {

std::string markdownCell(const Cell& cell)
{
    std::string text = escapeMarkdown(cell.text);
    if (cell.note)
        text += fmt::format("<sup>{}</sup>", *cell.note + 1);
    return text;
}

void writeMarkdownTable(std::ostream& out, const Table& table)
{
    out << "**" << escapeMarkdown(table.caption) << "**\n\n|";
    for (const Column& column : table.columns)
        out << ' ' << escapeMarkdown(headingOf(column)) << " |";
    out << "\n|";
    for (const Column& column : table.columns)
        out << (column.numeric ? " ---: |" : " --- |");
    out << '\n';
    for (const auto& row : table.rows) {
        out << '|';
        for (const Cell& cell : row)
            out << ' ' << markdownCell(cell) << " |";
        out << '\n';
    }
    out << '\n';
    for (std::size_t i = 0; i < table.notes.size(); ++i)
        out << "<sup>" << i + 1 << "</sup> " << escapeMarkdown(table.notes[i]) << "  \n";
    if (!table.notes.empty())
        out << '\n';
}

void writeMarkdownFigure(std::ostream& out, const Figure& figure, const Drawings& drawings)
{
    if (drawings.has(figure.id))
        out << "![" << escapeMarkdown(figure.caption) << "](" << drawings.folder << '/' << figure.id
            << ".svg)\n\n";
    out << '*' << escapeMarkdown(figure.caption);
    if (!drawings.has(figure.id))
        out << " (not drawn: " << escapeMarkdown(drawings.whyNone) << ")";
    out << "*\n\n";
}

void writeMarkdownSection(std::ostream& out, const Section& section, const Drawings& drawings)
{
    out << "## " << escapeMarkdown(section.title) << "\n\n*" << escapeMarkdown(section.asks) << "*\n\n";
    for (const std::string& about : section.about)
        out << escapeMarkdown(about) << '\n';
    out << '\n';
    for (const Caution& caution : section.cautions)
        out << "> **Note.** " << escapeMarkdown(caution) << "\n>\n";
    if (!section.cautions.empty())
        out << '\n';
    for (const Finding& finding : section.findings) {
        out << "- " << escapeMarkdown(finding.text);
        if (!finding.command.empty())
            out << " (" << markdownCode(finding.command) << ")";
        out << '\n';
    }
    if (!section.findings.empty())
        out << '\n';
    for (const Table& table : section.tables)
        writeMarkdownTable(out, table);
    for (const Figure& figure : section.figures)
        writeMarkdownFigure(out, figure, drawings);
    out << "Setting:";
    for (const auto& [key, value] : section.setting)
        out << (&value == &section.setting.front().second ? " " : "; ") << escapeMarkdown(key) << ": "
            << escapeMarkdown(value);
    out << ".\n\n";
}

} // namespace

void writeMarkdown(std::ostream& out, const Document& document, const Drawings& drawings)
{
    out << "# " << escapeMarkdown(document.title) << "\n\n";
    for (const Section& section : document.sections)
        writeMarkdownSection(out, section, drawings);
    out << "Made by " << escapeMarkdown(document.program) << " from";
    for (const std::string& source : document.sources)
        out << ' ' << markdownCode(source);
    out << ".\n";
}

} // namespace tilescope::report
