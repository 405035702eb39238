#include "core/report/escape.h"
#include "core/report/writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace tilescope::report {

namespace {

constexpr std::string_view kLatexPreamble = R"(\documentclass[10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{textcomp}
\usepackage{booktabs,longtable,array,graphicx}
\usepackage[hidelinks]{hyperref}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5em}
\setlength{\tabcolsep}{4pt}
\sloppy
)";

std::string latexCell(const Cell& cell)
{
    std::string text = escapeLatex(cell.text);
    if (cell.note)
        text += fmt::format("\\textsuperscript{{{}}}", *cell.note + 1);
    return text;
}

/// Whether a column contains sentences, which need line breaks.
bool needsParagraph(const Table& table, std::size_t column)
{
    constexpr std::size_t kSentence = 24;
    return !table.columns[column].numeric && std::ranges::any_of(table.rows, [column](const auto& row) {
        return row[column].text.size() > kSentence;
    });
}

/// Columns of sentences share the remaining width.
std::string columnsOf(const Table& table)
{
    std::size_t sentences = 0;
    for (std::size_t column = 0; column < table.columns.size(); ++column)
        sentences += needsParagraph(table, column) ? 1 : 0;
    std::string columns;
    for (std::size_t column = 0; column < table.columns.size(); ++column)
        columns += table.columns[column].numeric ? "r"
                   : needsParagraph(table, column)
                       ? fmt::format("p{{{:.2f}\\textwidth}}", 0.7 / static_cast<double>(sentences))
                       : "l";
    return columns;
}

/// Headings of wide tables break at spaces.
std::string heading(const Table& table, const Column& column)
{
    constexpr std::size_t kWide = 6;
    std::string text = escapeLatex(column.heading + (column.unit.empty() ? "" : ","));
    if (!column.unit.empty())
        text += " " + escapeLatex(column.unit);
    if (table.columns.size() < kWide)
        return text;
    std::string lines;
    for (const char character : text)
        lines += character == ' ' ? std::string("\\\\") : std::string(1, character);
    return fmt::format("\\begin{{tabular}}[b]{{@{{}}{}@{{}}}}{}\\end{{tabular}}", column.numeric ? "r" : "l",
                       lines);
}

/// Wide tables use a smaller font.
const char* latexSize(const Table& table)
{
    constexpr std::size_t kWide = 8;
    return table.columns.size() >= kWide ? "\\scriptsize" : "\\small";
}

void writeLatexTable(std::ostream& out, const Table& table)
{
    out << "\\begingroup" << latexSize(table) << "\n\\begin{longtable}{" << columnsOf(table)
        << "}\n\\caption{" << escapeLatex(table.caption) << "}\\\\\n\\toprule\n";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        out << (i == 0 ? "" : " & ") << heading(table, table.columns[i]);
    out << " \\\\\n\\midrule\n\\endhead\n";
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            out << (i == 0 ? "" : " & ") << latexCell(row[i]);
        out << " \\\\\n";
    }
    out << "\\bottomrule\n\\end{longtable}\n";
    for (std::size_t i = 0; i < table.notes.size(); ++i)
        out << "\\textsuperscript{" << i + 1 << "} " << escapeLatex(table.notes[i]) << "\\par\n";
    out << "\\endgroup\n\n";
}

void writeLatexFigure(std::ostream& out, const Figure& figure, const Drawings& drawings)
{
    out << "\\begin{figure}[htbp]\n\\centering\n";
    if (drawings.has(figure.id))
        out << "\\includegraphics[width=\\linewidth]{" << drawings.folder << '/' << figure.id << ".pdf}\n";
    else
        out << "(not drawn: " << escapeLatex(drawings.whyNone) << ")\n";
    out << "\\caption{" << escapeLatex(figure.caption) << "}\n\\end{figure}\n\n";
}

void writeLatexSection(std::ostream& out, const Section& section, const Drawings& drawings)
{
    out << "\\section{" << escapeLatex(section.title) << "}\n\\emph{" << escapeLatex(section.asks) << "}\n\n";
    for (const std::string& about : section.about)
        out << escapeLatex(about) << '\n';
    out << '\n';
    for (const Caution& caution : section.cautions)
        out << "\\textbf{Note.} " << escapeLatex(caution) << "\n\n";
    if (!section.findings.empty()) {
        out << "\\begin{itemize}\n";
        for (const Finding& finding : section.findings) {
            out << "\\item " << escapeLatex(finding.text);
            if (!finding.command.empty())
                out << " {\\footnotesize\\texttt{" << latexCode(finding.command) << "}}";
            out << '\n';
        }
        out << "\\end{itemize}\n\n";
    }
    for (const Table& table : section.tables)
        writeLatexTable(out, table);
    for (const Figure& figure : section.figures)
        writeLatexFigure(out, figure, drawings);
    out << "{\\footnotesize Setting:";
    for (const auto& [key, value] : section.setting)
        out << (&value == &section.setting.front().second ? " " : "; ") << escapeLatex(key) << ": "
            << escapeLatex(value);
    out << ".\\par}\n\\clearpage\n\n";
}

} // namespace

void writeLatex(std::ostream& out, const Document& document, const Drawings& drawings)
{
    out << kLatexPreamble << "\\title{" << escapeLatex(document.title) << "}\n\\author{}\n\\date{Made by "
        << escapeLatex(document.program) << " from";
    for (const std::string& source : document.sources)
        out << " \\texttt{" << latexCode(source) << '}';
    out << "}\n\\begin{document}\n\\maketitle\n";
    if (document.sections.size() > 1)
        out << "\\tableofcontents\n\\clearpage\n";
    out << '\n';
    for (const Section& section : document.sections)
        writeLatexSection(out, section, drawings);
    out << "\\end{document}\n";
}

} // namespace tilescope::report
