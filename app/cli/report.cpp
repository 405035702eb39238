#include "core/report/report.h"
#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/drawing.h"
#include "core/base/error.h"
#include "core/base/spelling.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iostream>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 6> kFormats{"html", "md", "latex", "typst", "csv", "json"};

/// The words of `html,md`; all where nothing was asked for.
std::vector<std::string_view> formatsOf(const std::string& text)
{
    if (text.empty())
        return {kFormats.begin(), kFormats.end()};
    std::vector<std::string_view> formats;
    std::string_view left = text;
    while (!left.empty()) {
        const std::string_view word = left.substr(0, left.find(','));
        left.remove_prefix(std::min(word.size() + 1, left.size()));
        const auto known = std::ranges::find(kFormats, word);
        if (known == kFormats.end())
            throw Error{.what = "unknown format '" + std::string(word) + "'",
                        .where = "--format",
                        .mend = didYouMean(word, kFormats)};
        formats.push_back(*known);
    }
    return formats;
}

void makeFolder(const fs::path& folder)
{
    std::error_code problem;
    fs::create_directories(folder, problem);
    if (problem)
        throw Error{.what = "the folder cannot be made: " + problem.message(),
                    .where = folder.string(),
                    .mend = "name another with -o",
                    .kind = ErrorKind::Failure};
}

void writeFile(const fs::path& file, const std::function<void(std::ostream&)>& write)
{
    std::ofstream stream(file, std::ios::binary);
    write(stream);
    if (!stream.flush())
        throw Error{.what = "cannot be written",
                    .where = file.string(),
                    .mend = "check the folder and the space on its disk",
                    .kind = ErrorKind::Failure};
    std::cout << file.string() << '\n';
}

void writeTables(const report::Document& document, const fs::path& folder)
{
    makeFolder(folder);
    for (const report::Section& section : document.sections)
        for (const report::Table& table : section.tables)
            writeFile(folder / (table.id + ".csv"),
                      [&table](std::ostream& out) { report::writeCsv(out, table); });
}

void write(std::string_view format, const report::Document& document, const report::Drawings& drawings,
           const fs::path& folder)
{
    const auto drawn = [&](auto writer) {
        return [&document, &drawings, writer](std::ostream& out) { writer(out, document, drawings); };
    };
    if (format == "html")
        writeFile(folder / "index.html", drawn(report::writeHtml));
    else if (format == "md")
        writeFile(folder / "report.md", drawn(report::writeMarkdown));
    else if (format == "latex")
        writeFile(folder / "report.tex", drawn(report::writeLatex));
    else if (format == "typst")
        writeFile(folder / "report.typ", drawn(report::writeTypst));
    else if (format == "json")
        writeFile(folder / "report.json",
                  [&document](std::ostream& out) { report::writeJson(out, document); });
    else
        writeTables(document, folder / "tables");
}

/// What a figure shows is said by its template; of what it was drawn, by who drew it.
void addCaptions(report::Document& document, const report::Drawings& drawings)
{
    for (report::Section& section : document.sections)
        for (report::Figure& figure : section.figures)
            if (const auto drawn = drawings.captions.find(figure.id);
                drawn != drawings.captions.end() && !drawn->second.empty())
                figure.caption += (figure.caption.ends_with('.') ? " " : ". ") + drawn->second;
}

} // namespace

int reportCommand(int argc, char** argv)
{
    std::vector<std::string> files;
    std::string folder;
    std::string formatList;
    report::ReportOptions options;
    Arguments arguments(
        "report FILE… -o DIR [options]",
        "Writes what the studies in these files say: tables, figures and findings for a paper.",
        "tilescope report all.tscope -o writeup --format html,latex");
    arguments.positionals("FILE", files, "recordings of tilescope --batch study:NAME");
    arguments.option("-o,--output", folder, "the folder to write to");
    arguments.option("--study", options.study, "this study alone");
    arguments.option("--format", formatList,
                     "html, md, latex, typst, csv, json; several by commas; without it all");
    arguments.flag("--anonymous", options.anonymous, "without host, user and folders");
    if (!arguments.parse(argc, argv))
        return 0;
    if (files.empty() || folder.empty())
        throw Error{.what = files.empty() ? "no file was named" : "no folder was named",
                    .where = "report",
                    .mend = "write tilescope report FILE -o DIR"};
    const std::vector<std::string_view> formats = formatsOf(formatList);
    report::Document document =
        report::makeReport(std::vector<fs::path>(files.begin(), files.end()), options);
    makeFolder(fs::path(folder) / "figures");
    const report::Drawings drawings = drawFigures(document, fs::path(folder) / "figures");
    addCaptions(document, drawings);
    for (const std::string_view format : formats)
        write(format, document, drawings, folder);
    if (!drawings.whyNone.empty())
        std::cerr << "some figures were not drawn: " << drawings.whyNone << std::endl;
    return 0;
}

} // namespace tilescope::cli
