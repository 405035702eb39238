#include "core/report/comparison_page.h"

#include "core/exchange/compare/compare_sections.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"
#include "core/report/escape.h"
#include "core/report/markdown_table.h"

#include <algorithm>
#include <ostream>
#include <string>

namespace tilescope::report {

namespace {

void writeSide(std::ostream& out, char side, const query::ComparedRun& compared)
{
    out << "- " << side << ": " << markdownCode(compared.file) << ", "
        << escapeMarkdown(exchange::describeRun(compared.run)) << exchange::repeatsText(compared);
    if (compared.span)
        out << ", " << escapeMarkdown(exchange::spanText(*compared.span));
    out << '\n';
}

} // namespace

void writeComparisonMarkdown(std::ostream& out, const std::shared_ptr<const query::Comparison>& comparison,
                             const std::optional<analysis::Gate>& gate, std::size_t rows)
{
    if (gate)
        out << "**" << escapeMarkdown(sentenceOf(*gate)) << "** ";
    out << escapeMarkdown(exchange::sentenceOf(*comparison)) << "\n\n";
    writeSide(out, 'A', comparison->a);
    writeSide(out, 'B', comparison->b);
    for (const std::string& line : exchange::flagLines(*comparison))
        out << "- flagged " << escapeMarkdown(line) << '\n';
    if (comparison->change)
        for (const std::string& line : query::causesOf(*comparison->change))
            out << "- cause: " << escapeMarkdown(line) << '\n';
    out << '\n';
    for (exchange::NamedTable& named : exchange::differencesOf(comparison)) {
        if (named.table.rows == 0)
            continue;
        const bool isFolded = named.name != "times" && named.name != "memory";
        const std::string heading = escapeMarkdown(named.table.heading);
        if (isFolded)
            out << "<details><summary>" << escapeHtml(named.table.heading) << "</summary>\n\n";
        else
            out << "**" << heading << "**\n\n";
        writeMarkdownTable(out, named.table, rows);
        if (isFolded)
            out << "</details>\n\n";
    }
}

} // namespace tilescope::report
