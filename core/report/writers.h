#pragma once

#include "core/report/document.h"

#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>

namespace tilescope::report {

/// The drawn figures: files ID.pdf, ID.svg and ID.png in a folder beside the report.
struct Drawings {
    /// A drawing for the format that embeds it.
    struct Image {
        std::string type; ///< image/svg+xml, image/png
        std::string bytes;
    };

    std::string folder = "figures";           ///< as the report names it
    std::map<std::string, Image> images = {}; ///< by id
    std::string whyNone = {};                 ///< why figures are missing

    bool has(const std::string& id) const { return images.contains(id); }
};

// Each function writes a complete document in one format and escapes all names for it.

/// One file that works offline: it contains style, drawings and the sorting of its tables.
void writeHtml(std::ostream& out, const Document& document, const Drawings& drawings);
void writeMarkdown(std::ostream& out, const Document& document, const Drawings& drawings);
/// Compiles with pdflatex and the packages of texlive-latex-recommended.
void writeLatex(std::ostream& out, const Document& document, const Drawings& drawings);
/// The document without drawings, numbers in base units. The schema is resources/schema/report.schema.json.
void writeJson(std::ostream& out, const Document& document);
/// One table, numbers in base units, with columns for the 95 % interval and n if it has any.
void writeCsv(std::ostream& out, const Table& table);

/// A heading with its unit: `forward, ms`.
std::string headingOf(const Column& column);

} // namespace tilescope::report
