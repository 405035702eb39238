#include "core/report/blocks.h"
#include "core/report/escape.h"
#include "core/report/table_parts.h"
#include "core/report/writers.h"

#include <fmt/format.h>

#include <ostream>

namespace tilescope::report {

namespace {

// On a phone, a row of a wide table becomes a list of its columns. Drawings are dark on white: a dark page
// inverts them and turns their hues back.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1d2126; --soft: #5b6470; --line: #d6dae0; --ground: #ffffff; --band: #f4f6f8; --note: #fff6e0; --accent: #2f5f96; --bad: #b34c00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e6ea; --soft: #98a1ad; --line: #3a4048; --ground: #1b1e22; --band: #23272c; --note: #3a3220; --accent: #8ab4e8; --bad: #f0a060; }
  figure img { filter: invert(.89) hue-rotate(180deg); } }
@page { size: A4; margin: 2cm; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1rem 4rem; max-width: 62rem; font: 16px/1.5 "Noto Sans", system-ui, sans-serif; color: var(--ink); background: var(--ground); overflow-wrap: break-word; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; } h2 { font-size: 1.35rem; line-height: 1.25; margin: 3rem 0 .6rem; border-top: 1px solid var(--line); padding-top: 1.2rem; }
.byline { margin: .1rem 0; color: var(--soft); } p, ul { max-width: 46rem; } a { color: var(--accent); } .asks { font-style: italic; }
.caution { background: var(--note); padding: .4rem .7rem; border-radius: 4px; font-size: .9rem; } .small, .notes, figcaption { font-size: .85rem; color: var(--soft); }
li { margin: .35rem 0; } nav ol { columns: 2 18rem; column-gap: 2.5rem; padding-left: 1.5rem; } nav li { break-inside: avoid; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1.2rem; margin: .8rem 0; font-size: .9rem; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1.5rem 0; } figure img { display: block; max-width: 100%; height: auto; background: #fff; } figcaption { margin-top: .4rem; max-width: 46rem; }
.small-figures { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem 1.5rem; align-items: start; } .small-figures figure { margin: .5rem 0; } .small-figures img { max-height: 17rem; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; margin: 0 0 .3rem; max-width: 100%; }
.caption { font-size: .85rem; margin: 1.4rem 0 .3rem; break-after: avoid; } th, td { padding: .25rem .5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { vertical-align: bottom; } th.n, td.n { text-align: right; } td.n, td.key { white-space: nowrap; } th button { all: unset; cursor: pointer; font-weight: 600; } th button:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; } tbody tr:nth-child(even) { background: var(--band); }
td.oom, td.error { color: var(--bad); font-weight: 600; } td.missing, td.skipped { color: var(--soft); }
details { margin: 1rem 0; font-size: .85rem; } summary { cursor: pointer; color: var(--accent); } code { overflow-wrap: anywhere; color: var(--soft); }
@media (max-width: 40rem) {
  body { padding-top: 1.2rem; } .small-figures { grid-template-columns: 1fr; } dl { grid-template-columns: minmax(0, 7rem) 1fr; }
  figure div { overflow-x: auto; } figure img { cursor: zoom-in; } figure .large { max-width: none; width: 48rem; cursor: zoom-out; }
  table.wide, .wide tbody, .wide tr, .wide td { display: block; } .wide thead { display: none; } .wide tr { padding: .4rem .5rem; border-bottom: 1px solid var(--line); }
  .wide td, .wide td.n, .wide td.key { display: grid; grid-template-columns: minmax(6rem, 2fr) 3fr; gap: .6rem; padding: .05rem 0; border: 0; text-align: left; white-space: normal; overflow-wrap: anywhere; } .wide td::before { content: attr(data-heading); color: var(--soft); }
  .wide td.key { font-weight: 600; } }
@media print { body { max-width: none; padding: 0; font-size: 9.5pt; line-height: 1.4; } h1 { font-size: 1.5rem; } h2 { margin-top: 1.2rem; break-after: avoid; } .page { break-before: page; } h2.page { margin-top: 0; border: 0; padding: 0; }
  .byline { display: inline; margin-right: 1.5rem; } ul { margin: .5rem 0; } li { margin: .15rem 0; } .caution, figcaption, .caption, .notes, .small, dl, details { font-size: 8.5pt; } figcaption { margin-top: .2rem; }
  .small-figures { gap: .2rem 1.5rem; } .small-figures figure { margin: .2rem 0; } .small-figures img { max-height: 4.1cm; } figure, tr, .caution, details { break-inside: avoid; } figure img { max-height: 20cm; }
  table { font-size: 8.5pt; } th, td { padding: .15rem .35rem; } th button::after { content: none !important; } thead { display: table-header-group; } a { color: inherit; text-decoration: none; } }
)";

// Sorts a table by the column of the clicked heading: by value, texts after numbers. On a phone, a tap enlarges a figure.
// Paper shows what is folded.
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
for (const image of document.querySelectorAll('figure img')) image.addEventListener('click', () => image.classList.toggle('large'));
let opened = [];
addEventListener('beforeprint', () => { opened = [...document.querySelectorAll('details:not([open])')]; for (const one of opened) one.open = true; });
addEventListener('afterprint', () => { for (const one of opened) one.open = false; });
)";

/// \param isKey  names the row and does not break
std::string classOf(const Cell& cell, const Column& column, bool isKey)
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
    return std::string(column.numeric ? "n" : "") + (isKey ? " key" : "");
}

/// The numeric value for sorting. A key that is a number has one too.
std::string valueAttribute(const Cell& cell)
{
    if (cell.value)
        return fmt::format(" data-value=\"{}\"", *cell.value);
    const bool number = !cell.text.empty() && cell.text.find_first_not_of("0123456789.") == std::string::npos;
    return number ? fmt::format(" data-value=\"{}\"", cell.text) : "";
}

void writeCell(std::ostream& out, const Cell& cell, const Column& column, bool isKey)
{
    out << "<td class=\"" << classOf(cell, column, isKey) << "\" data-heading=\""
        << escapeHtml(headingOf(column)) << '"' << valueAttribute(cell);
    if (cell.n)
        out << " title=\"n = " << *cell.n << '"';
    out << "><span>";
    bool isFirst = true;
    for (const std::string_view piece : breakable(cell.text)) {
        out << (isFirst ? "" : "<wbr>") << escapeHtml(piece);
        isFirst = false;
    }
    if (cell.note)
        out << "<sup>" << *cell.note + 1 << "</sup>";
    out << "</span></td>";
}

/// The drawing as a data image, so that it cannot affect the page.
std::string addressOf(const Drawings::Image& image)
{
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::string_view bytes = image.bytes;
    std::string base64;
    base64.reserve(bytes.size() * 4 / 3 + 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t word = 0;
        for (std::size_t k = 0; k < 3; ++k)
            word = word << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            base64 += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 0x3fU] : '=';
    }
    return "data:" + image.type + ";base64," + base64;
}

/// Translates blocks.
class Html {
public:
    Html(std::ostream& out, const Drawings& drawings) : out_(out), drawings_(drawings) {}

    void operator()(const Heading& heading)
    {
        out_ << "<h2 id=\"" << escapeHtml(heading.id) << '"' << (afterBreak_ ? " class=\"page\"" : "") << '>'
             << escapeHtml(heading.text) << "</h2>\n";
        afterBreak_ = false;
    }

    void operator()(const Paragraph& paragraph)
    {
        const char* kind = paragraph.kind == Paragraph::Kind::Question  ? " class=\"asks\""
                           : paragraph.kind == Paragraph::Kind::Caution ? " class=\"caution\""
                           : paragraph.kind == Paragraph::Kind::Small   ? " class=\"small\""
                                                                        : "";
        out_ << "<p" << kind << '>' << (paragraph.kind == Paragraph::Kind::Caution ? "<b>Caution.</b> " : "")
             << escapeHtml(paragraph.text) << "</p>\n";
    }

    void operator()(const Bullets& bullets)
    {
        out_ << "<ul>\n";
        for (const Bullet& item : bullets.items) {
            out_ << "<li>";
            if (!item.lead.empty())
                out_ << "<b>" << escapeHtml(item.lead) << "</b> ";
            out_ << escapeHtml(item.text);
            if (!item.figure.empty())
                out_ << " (<a href=\"#" << escapeHtml(item.target) << "\">" << item.figure << "</a>)";
            out_ << "</li>\n";
        }
        out_ << "</ul>\n";
    }

    void operator()(const Facts& facts)
    {
        out_ << "<dl>\n";
        for (const auto& [key, value] : facts.items)
            out_ << "<dt>" << escapeHtml(key) << "</dt><dd>" << escapeHtml(value) << "</dd>\n";
        out_ << "</dl>\n";
    }

    void operator()(const Figures& figures)
    {
        if (figures.small)
            out_ << "<div class=\"small-figures\">\n";
        for (const Figure* figure : figures.items)
            write(*figure, figures.small);
        if (figures.small)
            out_ << "</div>\n";
    }

    void operator()(const TablePart& part)
    {
        constexpr std::size_t kPhone = 40; // characters
        const Table& table = *part.table;
        out_ << "<p class=\"caption\"><b>" << labelOf(table) << "</b> "
             << (part.first ? escapeHtml(table.caption) : "continued") << "</p>\n<table"
             << (part.first ? " id=\"" + escapeHtml(table.id) + "\"" : "")
             << (widthOf(part) > kPhone ? " class=\"wide\"" : "") << " aria-label=\"" << labelOf(table)
             << "\">\n<thead><tr>";
        for (const std::size_t i : part.columns) {
            const Column& column = table.columns[i];
            out_ << "<th scope=\"col\"" << (column.numeric ? " class=\"n\"" : "") << "><button>"
                 << escapeHtml(headingOf(column)) << "</button></th>";
        }
        out_ << "</tr></thead>\n<tbody>\n";
        for (const auto& row : table.rows) {
            out_ << "<tr>";
            for (const std::size_t column : part.columns)
                writeCell(out_, row[column], table.columns[column],
                          table.columns[column].isKey && !hasSentences(table, column));
            out_ << "</tr>\n";
        }
        out_ << "</tbody></table>\n";
        for (std::size_t i = 0; part.last && i < table.notes.size(); ++i)
            out_ << "<div class=\"notes\"><sup>" << i + 1 << "</sup> " << escapeHtml(table.notes[i])
                 << "</div>\n";
    }

    void operator()(const Commands& commands)
    {
        out_ << "<details><summary>Commands</summary><ul>\n";
        for (const std::string& command : commands.items)
            out_ << "<li><code>" << escapeHtml(command) << "</code></li>\n";
        out_ << "</ul></details>\n";
    }

    void operator()(const Contents& contents)
    {
        out_ << "<nav" << (afterBreak_ ? " class=\"page\"" : "") << "><ol>\n";
        for (const Heading& item : contents.items)
            out_ << "<li><a href=\"#" << escapeHtml(item.id) << "\">" << escapeHtml(item.text)
                 << "</a></li>\n";
        out_ << "</ol></nav>\n";
        afterBreak_ = false;
    }

    void operator()(const PageBreak&) { afterBreak_ = true; }

private:
    /// \param brief  without what was drawn
    void write(const Figure& figure, bool brief)
    {
        out_ << "<figure>";
        if (const auto found = drawings_.images.find(figure.id); found != drawings_.images.end())
            out_ << "<div><img alt=\"" << escapeHtml(figure.caption) << "\" src=\""
                 << addressOf(found->second) << "\"></div>";
        else
            out_ << "<p>Not drawn: " << escapeHtml(drawings_.whyNone) << "</p>";
        out_ << "<figcaption><b>" << labelOf(figure) << "</b> " << escapeHtml(captionOf(figure, brief))
             << "</figcaption></figure>\n";
    }

    std::ostream& out_;
    const Drawings& drawings_;
    bool afterBreak_ = false; ///< the next block begins a page
};

} // namespace

void writeHtml(std::ostream& out, const Document& document, const Drawings& drawings)
{
    out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"author\" content=\""
        << escapeHtml(document.author) << "\">\n<title>" << escapeHtml(document.title) << "</title>\n<style>"
        << kStyle << "</style></head><body>\n<h1>" << escapeHtml(document.title) << "</h1>\n";
    for (const std::string& line : bylineOf(document))
        out << "<p class=\"byline\">" << escapeHtml(line) << "</p>\n";
    Html html(out, drawings);
    for (const Block& block : blocksOf(document, CommandPlace::Section))
        std::visit(html, block);
    out << "<script>" << kScript << "</script></body></html>\n";
}

} // namespace tilescope::report
