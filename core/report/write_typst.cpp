#include "core/report/blocks.h"
#include "core/report/escape.h"
#include "core/report/marked_text.h"
#include "core/report/table_parts.h"
#include "core/report/writers.h"

#include <ostream>

namespace tilescope::report {

namespace {

constexpr std::string_view kTypstPreamble = R"(#set page(paper: "a4", margin: 2cm, numbering: "1")
#set text(size: 10pt)
#set par(justify: false)
#show heading: set block(above: 1.6em, below: 0.8em)
#show table.cell.where(y: 0): strong
#show raw: set text(size: 8pt)
#let drawing(file, height) = layout(size => {
  let whole = image(file, width: 100%)
  if measure(block(width: size.width, whole)).height > height { align(center, image(file, height: height)) } else { whole }
})
#let caption(label, body, above-table: false) = block(sticky: above-table, below: 0.8em, text(size: 9pt)[*#label* #body])
#let caution(body) = block(width: 100%, fill: luma(238), inset: 6pt, text(size: 9pt)[*Caution.* #body])
)";

/// Literal text, whatever it contains.
std::string shown(std::string_view text)
{
    return "#" + typstString(text);
}

/// Text of a cell, whose long words may break.
std::string cellText(const Cell& cell)
{
    if (cell.kind != Cell::Kind::Text)
        return shown(cell.text);
    std::string text;
    for (const std::string_view piece : breakable(cell.text))
        text += (text.empty() ? "" : "#sym.zws;") + shown(piece);
    return text;
}

std::string typstCell(const Cell& cell)
{
    std::string text = "[" + cellText(cell);
    if (cell.note)
        text += "#super(" + typstString(std::to_string(*cell.note + 1)) + ")";
    return text + "]";
}

/// Translates blocks.
class Typst {
public:
    Typst(std::ostream& out, const Drawings& drawings) : out_(out), drawings_(drawings) {}

    void operator()(const Heading& heading) { out_ << "= " << shown(heading.text) << "\n\n"; }

    void operator()(const Paragraph& paragraph)
    {
        writeMarked(out_, paragraph,
                    {{{"", ""}, {"#emph[", "]"}, {"#caution[", "]"}, {"#text(size: 8pt)[", "]"}}}, shown);
    }

    void operator()(const Bullets& bullets)
    {
        writeMarked(out_, bullets, "- ", {"*", "*"}, shown);
        out_ << '\n';
    }

    void operator()(const Facts& facts)
    {
        out_ << "#text(size: 9pt, grid(columns: (auto, 1fr), column-gutter: 12pt, row-gutter: 6pt,\n";
        for (const auto& [key, value] : facts.items)
            out_ << "  [" << shown(key) << "], [" << shown(value) << "],\n";
        out_ << "))\n\n";
    }

    void operator()(const Figures& figures)
    {
        if (figures.small)
            out_ << "#grid(columns: (1fr, 1fr), gutter: 10pt,\n";
        for (const Figure* figure : figures.items) {
            out_ << (figures.small ? "  [" : "#block(breakable: false)[");
            write(*figure, figures.small);
            out_ << (figures.small ? "],\n" : "]\n\n");
        }
        if (figures.small)
            out_ << ")\n\n";
    }

    void operator()(const TablePart& part)
    {
        const Table& table = *part.table;
        out_ << "#caption(above-table: true)[" << labelOf(table) << "]["
             << (part.first ? shown(table.caption) : "continued")
             << "]\n#text(size: 8.5pt, table(\n  columns: (";
        for (const std::size_t column : part.columns)
            out_ << (hasSentences(table, column) ? "1fr, " : "auto, ");
        out_ << "),\n  align: (";
        for (const std::size_t column : part.columns)
            out_ << (table.columns[column].numeric ? "right, " : "left, ");
        out_ << "),\n  stroke: none, inset: 3pt,\n  table.hline(),\n  table.header(";
        for (const std::size_t column : part.columns)
            out_ << '[' << shown(headingOf(table.columns[column])) << "], ";
        out_ << "),\n  table.hline(stroke: 0.5pt),\n";
        for (const auto& row : table.rows) {
            out_ << "  ";
            for (const std::size_t column : part.columns)
                out_ << typstCell(row[column]) << ", ";
            out_ << '\n';
        }
        out_ << "  table.hline(),\n))\n";
        for (std::size_t i = 0; part.last && i < table.notes.size(); ++i)
            out_ << "#text(size: 8pt)[#super(" << typstString(std::to_string(i + 1)) << ") "
                 << shown(table.notes[i]) << "] \\\n";
        out_ << '\n';
    }

    void operator()(const Commands& commands)
    {
        for (const std::string& command : commands.items)
            out_ << "- #raw(" << typstString(command) << ")\n";
        out_ << '\n';
    }

    void operator()(const Contents&) { out_ << "#outline(depth: 1)\n\n"; }

    void operator()(const PageBreak&) { out_ << "#pagebreak(weak: true)\n\n"; }

private:
    /// \param brief  without what was drawn
    void write(const Figure& figure, bool brief)
    {
        if (drawings_.has(figure.id))
            out_ << "#drawing(" << typstString(drawings_.folder + "/" + figure.id + ".svg") << ", "
                 << (brief ? "4.1cm" : "17cm") << ")\n";
        else
            out_ << shown("Not drawn: " + drawings_.whyNone) << '\n';
        out_ << "#caption[" << labelOf(figure) << "][" << shown(captionOf(figure, brief)) << ']';
    }

    std::ostream& out_;
    const Drawings& drawings_;
};

} // namespace

void writeTypst(std::ostream& out, const Document& document, const Drawings& drawings)
{
    out << kTypstPreamble << "#set document(title: " << typstString(document.title)
        << ", author: " << typstString(document.author)
        << ")\n\n#align(center)[#text(size: 17pt, weight: \"bold\")[" << shown(document.title) << "]\n\n";
    for (const std::string& line : bylineOf(document))
        out << shown(line) << "\n\n";
    out << "]\n\n";
    Typst typst(out, drawings);
    for (const Block& block : blocksOf(document, CommandPlace::Appendix))
        std::visit(typst, block);
}

} // namespace tilescope::report
