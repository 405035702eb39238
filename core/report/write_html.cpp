#include "core/report/escape.h"
#include "core/report/writers.h"

#include <fmt/format.h>

#include <ostream>

namespace tilescope::report {

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1d2126; --soft: #5b6470; --line: #d6dae0; --ground: #ffffff; --band: #f4f6f8; --note: #fff6e0; --accent: #2f5f96; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e6ea; --soft: #98a1ad; --line: #3a4048; --ground: #1b1e22; --band: #23272c; --note: #3a3220; --accent: #8ab4e8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; font: 16px/1.5 "Noto Sans", system-ui, sans-serif; color: var(--ink); background: var(--ground); }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.3rem; margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.2rem; }
a { color: var(--accent); } .asks { color: var(--soft); font-style: italic; } .note { background: var(--note); padding: .4rem .7rem; border-radius: 4px; margin: .4rem 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; margin: .3rem 0; }
caption { text-align: left; font-weight: 600; padding: .5rem 0; } th, td { padding: .25rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th.n, td.n { text-align: right; white-space: nowrap; } th button { all: unset; cursor: pointer; font-weight: 600; } th button:focus-visible { outline: 2px solid var(--accent); }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; } tbody tr:nth-child(even) { background: var(--band); }
td.oom, td.error { color: #c4550a; font-weight: 600; } td.missing, td.skipped { color: var(--soft); } .notes, .setting, figcaption { font-size: .82rem; color: var(--soft); }
figure { margin: 1.5rem 0; } figure svg, figure img { display: block; max-width: 100%; height: auto; background: #fff; } code { font-size: .8rem; overflow-wrap: anywhere; color: var(--soft); }
li { margin: .35rem 0; } nav ol { columns: 2 18rem; }
@media print { body { max-width: none; } h2 { break-before: page; } }
)";

// Sorts a table by the column of the clicked heading: by value, texts after numbers.
constexpr std::string_view kScript = R"(
for (const button of document.querySelectorAll('th button')) button.addEventListener('click', () => {
  const th = button.parentElement, table = th.closest('table'), body = table.tBodies[0];
  const column = [...th.parentElement.children].indexOf(th), down = th.getAttribute('aria-sort') === 'ascending';
  for (const other of th.parentElement.children) other.removeAttribute('aria-sort');
  th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const key = row => { const cell = row.children[column], value = cell.dataset.value; return value === undefined ? cell.textContent : Number(value); };
  const order = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === 'number' ? -1 : 1;
  const rows = [...body.rows].sort((a, b) => order(key(a), key(b)) * (down ? -1 : 1));
  body.append(...rows);
});
)";

const char* classOf(const Cell& cell)
{
    switch (cell.kind) {
    case Cell::Kind::Number:
        return "n";
    case Cell::Kind::Missing:
        return "n missing";
    case Cell::Kind::OutOfMemory:
        return "n oom";
    case Cell::Kind::Skipped:
        return "n skipped";
    case Cell::Kind::Failed:
        return "n error";
    case Cell::Kind::Text:
        break;
    }
    return "";
}

/// The numeric value for sorting. A key that is a number has one too.
std::string valueAttribute(const Cell& cell)
{
    if (cell.value)
        return fmt::format(" data-value=\"{}\"", *cell.value);
    const bool number = !cell.text.empty() && cell.text.find_first_not_of("0123456789.") == std::string::npos;
    return number ? fmt::format(" data-value=\"{}\"", cell.text) : "";
}

void writeCell(std::ostream& out, const Cell& cell)
{
    out << "<td class=\"" << classOf(cell) << '"' << valueAttribute(cell);
    if (cell.n)
        out << " title=\"n = " << *cell.n << '"';
    out << '>' << escapeHtml(cell.text);
    if (cell.note)
        out << "<sup>" << *cell.note + 1 << "</sup>";
    out << "</td>";
}

void writeHtmlTable(std::ostream& out, const Table& table)
{
    out << "<div class=\"wide\"><table id=\"" << escapeHtml(table.id) << "\"><caption>"
        << escapeHtml(table.caption) << "</caption>\n<thead><tr>";
    for (const Column& column : table.columns)
        out << "<th scope=\"col\"" << (column.numeric ? " class=\"n\"" : "") << "><button>"
            << escapeHtml(headingOf(column)) << "</button></th>";
    out << "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
        out << "<tr>";
        for (const Cell& cell : row)
            writeCell(out, cell);
        out << "</tr>\n";
    }
    out << "</tbody></table></div>\n";
    for (std::size_t i = 0; i < table.notes.size(); ++i)
        out << "<div class=\"notes\"><sup>" << i + 1 << "</sup> " << escapeHtml(table.notes[i]) << "</div>\n";
}

/// The drawing as a data image, so that it cannot affect the page.
std::string imageOf(std::string_view svg)
{
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string base64;
    base64.reserve(svg.size() * 4 / 3 + 4);
    for (std::size_t i = 0; i < svg.size(); i += 3) {
        std::uint32_t word = 0;
        for (std::size_t k = 0; k < 3; ++k)
            word = word << 8U | (i + k < svg.size() ? static_cast<unsigned char>(svg[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            base64 += i + k <= svg.size() ? kDigits[word >> (18 - 6 * k) & 0x3fU] : '=';
    }
    return "data:image/svg+xml;base64," + base64;
}

void writeHtmlFigure(std::ostream& out, const Figure& figure, const Drawings& drawings)
{
    out << "<figure>";
    if (const auto found = drawings.svg.find(figure.id); found != drawings.svg.end())
        out << "<img alt=\"" << escapeHtml(figure.caption) << "\" src=\"" << imageOf(found->second) << "\">";
    else
        out << "<p>(not drawn: " << escapeHtml(drawings.whyNone) << ")</p>";
    out << "<figcaption>" << escapeHtml(figure.caption) << "</figcaption></figure>\n";
}

void writeHtmlSection(std::ostream& out, const Section& section, const Drawings& drawings)
{
    out << "<section id=\"" << escapeHtml(section.study) << "\">\n<h2>" << escapeHtml(section.title)
        << "</h2>\n<p class=\"asks\">" << escapeHtml(section.asks) << "</p>\n<p>";
    for (const std::string& about : section.about)
        out << escapeHtml(about) << ' ';
    out << "</p>\n";
    for (const Caution& caution : section.cautions)
        out << "<div class=\"note\">" << escapeHtml(caution) << "</div>\n";
    if (!section.findings.empty()) {
        out << "<ul>\n";
        for (const Finding& finding : section.findings)
            out << "<li title=\"" << escapeHtml(finding.rule) << "\">" << escapeHtml(finding.text)
                << " <code>" << escapeHtml(finding.command) << "</code></li>\n";
        out << "</ul>\n";
    }
    for (const Table& table : section.tables)
        writeHtmlTable(out, table);
    for (const Figure& figure : section.figures)
        writeHtmlFigure(out, figure, drawings);
    out << "<p class=\"setting\">";
    for (const auto& [key, value] : section.setting)
        out << (&value == &section.setting.front().second ? "" : "; ") << "<b>" << escapeHtml(key) << "</b> "
            << escapeHtml(value);
    out << "</p>\n</section>\n";
}

} // namespace

void writeHtml(std::ostream& out, const Document& document, const Drawings& drawings)
{
    out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"
        << escapeHtml(document.title) << "</title>\n<style>" << kStyle << "</style></head><body>\n<h1>"
        << escapeHtml(document.title) << "</h1>\n";
    if (document.sections.size() > 1) {
        out << "<nav><ol>\n";
        for (const Section& section : document.sections)
            out << "<li><a href=\"#" << escapeHtml(section.study) << "\">" << escapeHtml(section.title)
                << "</a></li>\n";
        out << "</ol></nav>\n";
    }
    for (const Section& section : document.sections)
        writeHtmlSection(out, section, drawings);
    out << "<p class=\"setting\">Made by " << escapeHtml(document.program) << " from";
    for (const std::string& source : document.sources)
        out << ' ' << escapeHtml(source);
    out << ".</p>\n<script>" << kScript << "</script></body></html>\n";
}

} // namespace tilescope::report
