#include "core/report/escape.h"
#include "core/report/writers.h"

#include <fmt/format.h>

#include <ostream>

namespace tilescope::report {

namespace {

constexpr std::string_view kPreamble = R"(\documentclass[10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{booktabs,longtable,array,graphicx}
\usepackage[hidelinks]{hyperref}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5em}
\setlength{\tabcolsep}{4pt}
\sloppy
)";

std::string cellText(const Cell& cell)
{
    std::string text = escapeLatex(cell.text);
    if (cell.note)
        text += fmt::format("\\textsuperscript{{{}}}", *cell.note + 1);
    return text;
}

/// Columns of words share the width that numbers leave, so that sentences break into lines.
std::string columnsOf(const Table& table)
{
    std::size_t words = 0;
    for (std::size_t column = 0; column < table.columns.size(); ++column)
        for (const auto& row : table.rows)
            if (!table.columns[column].numeric && row[column].text.size() > 24) {
                ++words;
                break;
            }
    std::string columns;
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
        bool wide = false;
        for (const auto& row : table.rows)
            wide = wide || (!table.columns[column].numeric && row[column].text.size() > 24);
        columns += table.columns[column].numeric ? "r"
                   : wide ? fmt::format("p{{{:.2f}\\textwidth}}", 0.7 / static_cast<double>(words))
                          : "l";
    }
    return columns;
}

void writeTable(std::ostream& out, const Table& table)
{
    out << "\\begingroup\\small\n\\begin{longtable}{" << columnsOf(table) << "}\n\\caption{"
        << escapeLatex(table.caption) << "}\\\\\n\\toprule\n";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        out << (i == 0 ? "" : " & ") << escapeLatex(headingOf(table.columns[i]));
    out << " \\\\\n\\midrule\n\\endhead\n";
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            out << (i == 0 ? "" : " & ") << cellText(row[i]);
        out << " \\\\\n";
    }
    out << "\\bottomrule\n\\end{longtable}\n";
    for (std::size_t i = 0; i < table.notes.size(); ++i)
        out << "\\textsuperscript{" << i + 1 << "} " << escapeLatex(table.notes[i]) << "\\par\n";
    out << "\\endgroup\n\n";
}

void writeFigure(std::ostream& out, const Figure& figure, const Drawings& drawings)
{
    out << "\\begin{figure}[htbp]\n\\centering\n";
    if (drawings.has(figure.id))
        out << "\\includegraphics[width=\\linewidth]{" << drawings.folder << '/' << figure.id << ".pdf}\n";
    else
        out << "(not drawn: " << escapeLatex(drawings.whyNone) << ")\n";
    out << "\\caption{" << escapeLatex(figure.caption) << "}\n\\end{figure}\n\n";
}

void writeSection(std::ostream& out, const Section& section, const Drawings& drawings)
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
                out << " {\\footnotesize\\texttt{" << escapeLatex(finding.command) << "}}";
            out << '\n';
        }
        out << "\\end{itemize}\n\n";
    }
    for (const Table& table : section.tables)
        writeTable(out, table);
    for (const Figure& figure : section.figures)
        writeFigure(out, figure, drawings);
    out << "{\\footnotesize Setting:";
    for (const auto& [key, value] : section.setting)
        out << ' ' << escapeLatex(key) << ": " << escapeLatex(value) << ';';
    out << "\\par}\n\\clearpage\n\n";
}

} // namespace

void writeLatex(std::ostream& out, const Document& document, const Drawings& drawings)
{
    out << kPreamble << "\\title{" << escapeLatex(document.title)
        << "}\n\\author{}\n\\date{}\n\\begin{document}\n\\maketitle\n";
    if (document.sections.size() > 1)
        out << "\\tableofcontents\n\\clearpage\n";
    out << '\n';
    for (const Section& section : document.sections)
        writeSection(out, section, drawings);
    out << "Made by " << escapeLatex(document.program) << " from";
    for (const std::string& source : document.sources)
        out << " \\texttt{" << escapeLatex(source) << '}';
    out << ".\n\\end{document}\n";
}

} // namespace tilescope::report
