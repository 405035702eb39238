#include "core/report/blocks.h"
#include "core/report/escape.h"
#include "core/report/marked_text.h"
#include "core/report/table_parts.h"
#include "core/report/writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace tilescope::report {

namespace {

// The document numbers figures and tables itself, as in the other formats.
constexpr std::string_view kLatexPreamble = R"(\documentclass[10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{textcomp}
\usepackage{booktabs,longtable,array,graphicx}
\usepackage[hidelinks]{hyperref}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5em}
\setlength{\tabcolsep}{3pt}
\setlength{\LTleft}{0pt}
\setlength{\LTpre}{2pt}
\setcounter{secnumdepth}{0}
\makeatletter
\renewcommand*{\l@section}{\@dottedtocline{1}{0em}{2em}}
\makeatother
\sloppy
)";

std::string latexCell(const Cell& cell)
{
    std::string text;
    if (cell.kind == Cell::Kind::Text)
        for (const std::string_view piece : breakable(cell.text))
            text += (text.empty() ? "" : "\\allowbreak{}") + escapeLatex(piece);
    else
        text = escapeLatex(cell.text);
    if (cell.note)
        text += fmt::format("\\textsuperscript{{{}}}", *cell.note + 1);
    return text;
}

/// Columns of sentences share the width that the others leave.
std::string columnsOf(const TablePart& part)
{
    const auto sentences = std::ranges::count_if(
        part.columns, [&part](std::size_t column) { return hasSentences(*part.table, column); });
    TablePart others = part;
    std::erase_if(others.columns, [&part](std::size_t column) { return hasSentences(*part.table, column); });
    constexpr double kWidthOfCharacter = 0.0105; // of the line
    const double left = std::max(0.2, 0.96 - kWidthOfCharacter * static_cast<double>(widthOf(others)));
    std::string columns;
    for (const std::size_t column : part.columns)
        columns += part.table->columns[column].numeric ? "r"
                   : hasSentences(*part.table, column)
                       ? fmt::format(">{{\\raggedright\\arraybackslash}}p{{{:.3f}\\textwidth}}",
                                     left / static_cast<double>(sentences))
                       : "l";
    return columns;
}

/// A heading breaks at spaces.
std::string heading(const Column& column)
{
    const std::string text = escapeLatex(headingOf(column));
    if (text.find(' ') == std::string::npos)
        return text;
    std::string lines;
    for (const char character : text)
        lines += character == ' ' ? std::string("\\\\ ") : std::string(1, character);
    return fmt::format("\\begin{{tabular}}[b]{{@{{}}{}@{{}}}}{}\\end{{tabular}}", column.numeric ? "r" : "l",
                       lines);
}

/// Translates blocks.
class Latex {
public:
    Latex(std::ostream& out, const Drawings& drawings) : out_(out), drawings_(drawings) {}

    void operator()(const Heading& heading) { out_ << "\\section{" << escapeLatex(heading.text) << "}\n"; }

    void operator()(const Paragraph& paragraph)
    {
        writeMarked(out_, paragraph,
                    {{{"", ""},
                      {"\\emph{", "}"},
                      {"{\\small\\textbf{Caution.} ", "\\par}"},
                      {"{\\footnotesize ", "\\par}"}}},
                    escapeLatex);
    }

    void operator()(const Bullets& bullets)
    {
        out_ << "\\begin{itemize}\n";
        writeMarked(out_, bullets, "\\item ", {"\\textbf{", "}"}, escapeLatex);
        out_ << "\\end{itemize}\n\n";
    }

    void operator()(const Facts& facts)
    {
        if (facts.items.empty())
            return;
        out_ << "{\\small\\begin{tabular}{@{}l>{\\raggedright\\arraybackslash}p{0.7\\textwidth}@{}}\n";
        for (const auto& [key, value] : facts.items)
            out_ << escapeLatex(key) << " & " << escapeLatex(value) << " \\\\\n";
        out_ << "\\end{tabular}\\par}\n\n";
    }

    void operator()(const Figures& figures)
    {
        std::size_t count = 0;
        for (const Figure* figure : figures.items) {
            out_ << "\\begin{minipage}[t]{" << (figures.small ? "0.48" : "") << "\\linewidth}\n";
            write(*figure, figures.small);
            out_ << "\\end{minipage}"
                 << (figures.small && ++count % 2 == 1 ? "\\hfill\n" : "\\par\\medskip\n\n");
        }
        out_ << "\n";
    }

    void operator()(const TablePart& part)
    {
        const Table& table = *part.table;
        out_ << "\\begingroup\\small\n\\textbf{" << labelOf(table) << "} "
             << (part.first ? escapeLatex(table.caption) : "continued")
             << "\\par\\nopagebreak\n\\begin{longtable}{" << columnsOf(part) << "}\n\\toprule\n";
        for (const std::size_t column : part.columns)
            out_ << (column == part.columns.front() ? "" : " & ") << heading(table.columns[column]);
        out_ << " \\\\\n\\midrule\n\\endhead\n";
        for (const auto& row : table.rows) {
            for (const std::size_t column : part.columns)
                out_ << (column == part.columns.front() ? "" : " & ") << latexCell(row[column]);
            out_ << " \\\\\n";
        }
        out_ << "\\bottomrule\n\\end{longtable}\n";
        for (std::size_t i = 0; part.last && i < table.notes.size(); ++i)
            out_ << "\\textsuperscript{" << i + 1 << "} " << escapeLatex(table.notes[i]) << "\\par\n";
        out_ << "\\endgroup\n\n";
    }

    void operator()(const Commands& commands)
    {
        out_ << "\\begin{itemize}\n";
        for (const std::string& command : commands.items)
            out_ << "\\item {\\footnotesize\\texttt{" << latexCode(command) << "}}\n";
        out_ << "\\end{itemize}\n\n";
    }

    void operator()(const Contents&) { out_ << "\\tableofcontents\n\n"; }

    void operator()(const PageBreak&) { out_ << "\\clearpage\n\n"; }

private:
    /// \param brief  without what was drawn
    void write(const Figure& figure, bool brief)
    {
        out_ << "\\centering\n";
        if (drawings_.has(figure.id))
            out_ << "\\includegraphics[width=\\linewidth,height=" << (brief ? "4.1cm" : "0.68\\textheight")
                 << ",keepaspectratio]{" << drawings_.folder << '/' << figure.id << ".pdf}\\par\n";
        else
            out_ << "Not drawn: " << escapeLatex(drawings_.whyNone) << "\\par\n";
        out_ << "\\raggedright\\small\\textbf{" << labelOf(figure) << "} "
             << escapeLatex(captionOf(figure, brief));
        out_ << "\\par\n";
    }

    std::ostream& out_;
    const Drawings& drawings_;
};

} // namespace

void writeLatex(std::ostream& out, const Document& document, const Drawings& drawings)
{
    out << kLatexPreamble << "\\begin{document}\n\\begin{center}\n{\\LARGE " << escapeLatex(document.title)
        << "\\par}\n";
    for (const std::string& line : bylineOf(document))
        out << "\\medskip " << escapeLatex(line) << "\\par\n";
    out << "\\end{center}\n\n";
    Latex latex(out, drawings);
    for (const Block& block : blocksOf(document, CommandPlace::Appendix))
        std::visit(latex, block);
    out << "\\end{document}\n";
}

} // namespace tilescope::report
