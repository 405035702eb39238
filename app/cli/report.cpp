#include "core/report/report.h"
#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/drawing.h"
#include "app/cli/notes.h"
#include "app/cli/recording.h"
#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/output_folder.h"
#include "core/base/spelling.h"
#include "core/base/terminal_text.h"
#include "core/config/study.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 5> kFormats{"html", "md", "latex", "csv", "json"};

/// Splits `html,md`; empty: all formats.
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
                        .remedy = didYouMean(word, kFormats)};
        formats.push_back(*known);
    }
    return formats;
}

/// Writes the files of a report into the draft of its folder.
class Draft {
public:
    /// \param named  the folder as the user wrote it
    Draft(const OutputFolder& folder, fs::path named) : folder_(folder.draft()), named_(std::move(named)) {}

    fs::path subfolder(const char* name) const
    {
        const fs::path inner = folder_ / name;
        fs::create_directory(inner);
        return inner;
    }

    void write(const fs::path& name, const std::function<void(std::ostream&)>& write)
    {
        OutputFile file(folder_ / name);
        file.write(write);
        file.commit();
        written_.push_back(named_ / name);
    }

    void writeAll(std::string_view format, const report::Document& document,
                  const report::Drawings& drawings);

    const std::vector<fs::path>& written() const { return written_; }

private:
    void writeTables(const report::Document& document);

    const fs::path folder_;
    const fs::path named_;
    std::vector<fs::path> written_;
};

void Draft::writeTables(const report::Document& document)
{
    const fs::path tables = "tables";
    subfolder("tables");
    for (const report::Section& section : document.sections)
        for (const report::Table& table : section.tables)
            write(tables / (table.id + ".csv"),
                  [&table](std::ostream& out) { report::writeCsv(out, table); });
}

void Draft::writeAll(std::string_view format, const report::Document& document,
                     const report::Drawings& drawings)
{
    const auto drawn = [&](auto writer) {
        return [&document, &drawings, writer](std::ostream& out) { writer(out, document, drawings); };
    };
    if (format == "html")
        write("index.html", drawn(report::writeHtml));
    else if (format == "md")
        write("report.md", drawn(report::writeMarkdown));
    else if (format == "latex")
        write("report.tex", drawn(report::writeLatex));
    else if (format == "json")
        write("report.json", [&document](std::ostream& out) { report::writeJson(out, document); });
    else
        writeTables(document);
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
        "Writes a report on the studies in these files: summary, figures, findings and tables.",
        "tilescope report all.tscope -o writeup --title 'Assignment 2' --author 'A. Student'");
    arguments.positionals("FILE", files, "recordings of tilescope --batch study:NAME");
    arguments.output("-o,--output", folder, "the folder to write to");
    arguments.option("--study", options.study, "only this study");
    arguments.option("--format", formatList, "html, md, latex, csv, json; separated by commas (all)");
    arguments.suggest("--study", config::studyNames);
    arguments.option("--title", options.title, "title of the report (the study's, or the machine's)");
    arguments.option("--author", options.author, "author, under the title");
    arguments.flag("--anonymous", options.anonymous, "without host, user and folders; keeps the author");
    if (!arguments.parse(argc, argv))
        return 0;
    if (files.empty() || folder.empty())
        throw Error{.what = files.empty() ? "no file given" : "no folder given",
                    .where = "report",
                    .remedy = "write tilescope report FILE -o DIR"};
    const std::vector<std::string_view> formats = formatsOf(formatList);
    const auto recordings = recordingsOf(files);
    std::vector<fs::path> read;
    for (const Recording& recording : recordings)
        read.push_back(recording.file);
    report::Document document = report::makeReport(read, options);
    OutputFolder output(folder, {files.begin(), files.end()});
    Draft draft(output, folder);
    report::Drawings drawings;
    output.write([&] {
        drawings = drawFigures(document, draft.subfolder("figures"));
        for (const std::string_view format : formats)
            draft.writeAll(format, document, drawings);
    });
    output.commit();
    for (const fs::path& file : draft.written())
        notes() << escapeForTerminal(file.string()) << '\n';
    if (!drawings.whyNone.empty())
        std::cerr << "some figures were not drawn: " << escapeForTerminal(drawings.whyNone) << std::endl;
    return 0;
}

} // namespace tilescope::cli
