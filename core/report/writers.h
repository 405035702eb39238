#pragma once

#include "core/report/document.h"

#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>

namespace tilescope::report {

/// The figures as far as they are drawn: files ID.pdf, ID.svg and ID.png in a folder beside the report.
struct Drawings {
    std::string folder = "figures";              ///< as the report names it
    std::map<std::string, std::string> svg = {}; ///< id: the drawing itself, for the format that holds it
    std::map<std::string, std::string> captions =
        {};                   ///< id: what was drawn, of how many samples, on what machine
    std::string whyNone = {}; ///< why the figures that are missing are

    bool has(const std::string& id) const { return svg.contains(id); }
};

// Each writes a document in one format, whole and by itself; every name is escaped for it.

/// One file that works offline: style, drawings and the sorting of its tables are in it.
void writeHtml(std::ostream& out, const Document& document, const Drawings& drawings);
void writeMarkdown(std::ostream& out, const Document& document, const Drawings& drawings);
/// Compiles with pdflatex and the packages of texlive-latex-recommended.
void writeLatex(std::ostream& out, const Document& document, const Drawings& drawings);
void writeTypst(std::ostream& out, const Document& document, const Drawings& drawings);
/// All of it but the drawings, numbers in base units; its schema is resources/schema/report.schema.json.
void writeJson(std::ostream& out, const Document& document);
/// One table; numbers in base units, with columns for the 95 % interval and n where they have any.
void writeCsv(std::ostream& out, const Table& table);

/// `ms` behind a heading: `forward, ms`.
std::string headingOf(const Column& column);

} // namespace tilescope::report
