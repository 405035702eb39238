#pragma once

#include "core/report/document.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tilescope::report {

// A report as readers see it: a sequence of blocks, the same in every format. A writer only translates
// blocks. Pointers refer to the document.

struct Heading {
    std::string id = {}; ///< for links: letters, digits and dashes
    std::string text = {};
};

struct Paragraph {
    enum class Kind { Plain, Question, Caution, Small };
    Kind kind = Kind::Plain;
    std::string text = {};
};

struct Bullet {
    std::string lead = {}; ///< in bold: the study of a finding
    std::string text = {};
    std::string figure = {}; ///< `Figure 3`
    std::string target = {}; ///< id of the heading where it is; empty: no link
};

struct Bullets {
    std::vector<Bullet> items = {};
};

/// Names and values: machine, versions.
struct Facts {
    std::vector<std::pair<std::string, std::string>> items = {};
};

/// One figure over the width of the page, or the small ones of the summary beside each other.
struct Figures {
    std::vector<const Figure*> items = {};
    bool small = false;
};

/// Columns of a table that fit side by side on a page.
struct TablePart {
    const Table* table = nullptr;
    std::vector<std::size_t> columns = {};
    bool first = true; ///< has the caption
    bool last = true;  ///< has the notes
};

/// Commands, folded where the format can.
struct Commands {
    std::vector<std::string> items = {};
};

struct Contents {
    std::vector<Heading> items = {};
};

struct PageBreak {};

using Block =
    std::variant<Heading, Paragraph, Bullets, Facts, Figures, TablePart, Commands, Contents, PageBreak>;

/// Where the commands behind figures and findings are: folded in the section, or in an appendix.
enum class CommandPlace { Section, Appendix };

/// The blocks of a report after its title: a page of summary; contents; machine, versions and method; the
/// studies, each with figures, findings and tables; the commands. Facts of the machine, cautions and commands
/// that apply to several studies appear once.
std::vector<Block> blocksOf(const Document& document, CommandPlace place);

/// The lines under the title that are known: author, days of measurement.
std::vector<std::string> bylineOf(const Document& document);

/// Its caption and what was drawn.
/// \param brief  without what was drawn
std::string captionOf(const Figure& figure, bool brief);

/// `Figure 3.`
std::string labelOf(const Figure& figure);
std::string labelOf(const Table& table);

} // namespace tilescope::report
