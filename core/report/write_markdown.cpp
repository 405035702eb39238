#include "core/report/blocks.h"
#include "core/report/escape.h"
#include "core/report/marked_text.h"
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

/// Translates blocks.
class Markdown {
public:
    Markdown(std::ostream& out, const Drawings& drawings) : out_(out), drawings_(drawings) {}

    void operator()(const Heading& heading) { out_ << "## " << escapeMarkdown(heading.text) << "\n\n"; }

    void operator()(const Paragraph& paragraph)
    {
        writeMarked(out_, paragraph, {{{"", ""}, {"*", "*"}, {"> **Caution.** ", ""}, {"", ""}}},
                    escapeMarkdown);
    }

    void operator()(const Bullets& bullets)
    {
        writeMarked(out_, bullets, "- ", {"**", "**"}, escapeMarkdown);
        out_ << '\n';
    }

    void operator()(const Facts& facts)
    {
        out_ << "| | |\n| --- | --- |\n";
        for (const auto& [key, value] : facts.items)
            out_ << "| " << escapeMarkdown(key) << " | " << escapeMarkdown(value) << " |\n";
        out_ << '\n';
    }

    void operator()(const Figures& figures)
    {
        for (const Figure* figure : figures.items)
            write(*figure, figures.small);
    }

    void operator()(const TablePart& part)
    {
        const Table& table = *part.table;
        out_ << "**" << labelOf(table) << "** " << (part.first ? escapeMarkdown(table.caption) : "continued")
             << "\n\n|";
        for (const std::size_t column : part.columns)
            out_ << ' ' << escapeMarkdown(headingOf(table.columns[column])) << " |";
        out_ << "\n|";
        for (const std::size_t column : part.columns)
            out_ << (table.columns[column].numeric ? " ---: |" : " --- |");
        out_ << '\n';
        for (const auto& row : table.rows) {
            out_ << '|';
            for (const std::size_t column : part.columns)
                out_ << ' ' << markdownCell(row[column]) << " |";
            out_ << '\n';
        }
        out_ << '\n';
        if (!part.last || table.notes.empty())
            return;
        for (std::size_t i = 0; i < table.notes.size(); ++i)
            out_ << "<sup>" << i + 1 << "</sup> " << escapeMarkdown(table.notes[i]) << "  \n";
        out_ << '\n';
    }

    void operator()(const Commands& commands)
    {
        for (const std::string& command : commands.items)
            out_ << "- " << markdownCode(command) << '\n';
        out_ << '\n';
    }

    void operator()(const Contents& contents)
    {
        for (const Heading& item : contents.items)
            out_ << "1. " << escapeMarkdown(item.text) << '\n';
        out_ << '\n';
    }

    void operator()(const PageBreak&) {}

private:
    /// \param brief  without what was drawn
    void write(const Figure& figure, bool brief)
    {
        if (drawings_.has(figure.id))
            out_ << "![" << escapeMarkdown(figure.caption) << "](" << drawings_.folder << '/' << figure.id
                 << ".svg)\n\n";
        out_ << "**" << labelOf(figure) << "** " << escapeMarkdown(captionOf(figure, brief));
        if (!drawings_.has(figure.id))
            out_ << " (not drawn: " << escapeMarkdown(drawings_.whyNone) << ")";
        out_ << "\n\n";
    }

    std::ostream& out_;
    const Drawings& drawings_;
};

} // namespace

void writeMarkdown(std::ostream& out, const Document& document, const Drawings& drawings)
{
    out << "# " << escapeMarkdown(document.title) << "\n\n";
    for (const std::string& line : bylineOf(document))
        out << escapeMarkdown(line) << "\n\n";
    Markdown markdown(out, drawings);
    for (const Block& block : blocksOf(document, CommandPlace::Appendix))
        std::visit(markdown, block);
}

} // namespace tilescope::report
