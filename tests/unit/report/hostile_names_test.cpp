// Names come from files and are untrusted. No name may become markup, a command or several words, in any
// place or format.

#include "core/base/shell_word.h"
#include "core/report/escape.h"
#include "core/report/report.h"
#include "core/report/writers.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/report/study_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace tilescope::report {

using ::testing::HasSubstr;
using ::testing::Not;

namespace {

const std::vector<std::string> kHostile{"a b`<img src=x onerror=alert(1)>`",
                                        "``<img src=x onerror=alert(1)>``` `",
                                        "`",
                                        "<script>alert(1)</script>",
                                        "\"><svg onload=alert(1)>",
                                        "[x](javascript:alert(1))",
                                        "|\n\n<img src=x onerror=alert(1)>\n",
                                        "\\`<img src=x onerror=alert(1)>\\`",
                                        "}\\input{/etc/passwd}\\write18{id}{",
                                        "$x^2$ & 50% #1 ~_{}",
                                        "\" #read(\"/etc/passwd\") \"",
                                        "it's; touch pwned; $(touch pwned) `touch pwned`",
                                        "=cmd|' /C calc'!A0",
                                        "\x1b[2J\xff\u202e"};

/// A report that contains the name in every possible place.
Document documentOf(const std::string& name)
{
    Document document{.title = name,
                      .author = name,
                      .program = name,
                      .measured = name,
                      .sources = {name, name},
                      .method = {name},
                      .summary = {{0, 0}}};
    Section section{.study = "study", .title = name, .asks = name, .about = {name}};
    section.setting = {{name, name}};
    section.cautions = {{.text = name, .runs = 2}};
    section.findings = {{.text = name, .rule = name, .commands = {"tilescope show " + shellPath(name)}}};
    section.figures = {
        {.id = "figure", .caption = name, .drawn = name, .recipe = "{}", .command = shellPath(name)}};
    section.tables = {{.id = "table",
                       .caption = name,
                       .columns = {{.heading = name, .unit = name, .numeric = false}},
                       .rows = {{{.text = name, .note = 0}}},
                       .notes = {name}}};
    Section other = section;
    other.title += " 2"; // what differs stands in its section
    other.setting = {{name, name + " 2"}};
    other.cautions = {{.text = name + " 2"}};
    other.findings[0].commands[0] += " 2";
    document.sections = {section, other};
    return document;
}

template <class Writer> std::string written(const std::string& name, Writer writer)
{
    std::ostringstream out;
    writer(out, documentOf(name), Drawings{.whyNone = name});
    return out.str();
}

/// Text and markup as a Markdown reader sees them: without code spans and escaped characters.
std::string outsideOfCode(const std::string& markdown)
{
    std::string outside;
    for (std::size_t at = 0; at < markdown.size();) {
        if (markdown[at] == '\\' && at + 1 < markdown.size()) {
            at += 2;
            continue;
        }
        if (markdown[at] != '`') {
            outside += markdown[at++];
            continue;
        }
        const auto rowFrom = [&markdown](std::size_t from) {
            const std::size_t end = markdown.find_first_not_of('`', from);
            return (end == std::string::npos ? markdown.size() : end) - from;
        };
        const std::size_t fence = rowFrom(at);
        std::size_t end = markdown.find('`', at + fence);
        while (end != std::string::npos && rowFrom(end) != fence)
            end = markdown.find('`', end + rowFrom(end));
        if (end == std::string::npos) {
            outside += markdown.substr(at, fence);
            at += fence;
        } else {
            at = end + fence;
        }
    }
    return outside;
}

} // namespace

TEST(HostileNames, AreEscapedInMarkdown)
{
    for (const std::string& name : kHostile) {
        std::string outside = outsideOfCode(written(name, writeMarkdown));
        for (const std::string_view ours : {"<sup>1</sup>"})
            for (std::size_t at = outside.find(ours); at != std::string::npos; at = outside.find(ours))
                outside.erase(at, ours.size());
        EXPECT_EQ(outside.find('<'), std::string::npos) << name << '\n' << outside;
        EXPECT_EQ(outside.find('`'), std::string::npos) << name << '\n' << outside;
        EXPECT_THAT(outside, Not(HasSubstr("](javascript")));
    }
}

TEST(HostileNames, AreEscapedInHtml)
{
    for (const std::string& name : kHostile) {
        const std::string html = written(name, writeHtml);
        for (const char* live : {"<img src=x", "<svg onload", "<script>alert", "\"><svg"})
            EXPECT_THAT(html, Not(HasSubstr(live))) << name;
    }
}

TEST(HostileNames, AreEscapedInLatex)
{
    for (const std::string& name : kHostile) {
        const std::string latex = written(name, writeLatex);
        for (const char* live : {"\\input{", "\\write18", "$x^2$"})
            EXPECT_THAT(latex, Not(HasSubstr(live))) << name;
        std::ptrdiff_t depth = 0;
        for (std::size_t i = 0; i < latex.size(); ++i) {
            const bool escaped = i > 0 && latex[i - 1] == '\\';
            depth += escaped ? 0 : latex[i] == '{' ? 1 : latex[i] == '}' ? -1 : 0;
            ASSERT_GE(depth, 0) << name;
        }
        EXPECT_EQ(depth, 0) << name;
    }
}

TEST(HostileNames, AreEscapedForTerminalsAndSpreadsheets)
{
    for (const std::string& name : kHostile) {
        for (const std::string& text :
             {written(name, writeMarkdown), written(name, writeHtml), written(name, writeLatex)}) {
            EXPECT_EQ(text.find('\x1b'), std::string::npos) << name;
            EXPECT_EQ(text.find('\xff'), std::string::npos) << name;
        }
        std::ostringstream csv;
        writeCsv(csv, documentOf(name).sections[0].tables[0]);
        EXPECT_NE(csv.str().front(), '=') << name;
    }
}

TEST(HostileNames, AreOneWordOfAPrintedCommand)
{
    const testing::TemporaryFolder folder;
    for (const std::string& name : {std::string("a b`<img src=x onerror=alert(1)>`.tscope"),
                                    std::string("it's; touch pwned; $(x).tscope")}) {
        const std::filesystem::path file = folder / name;
        writeStudyFile(file, "attention-grid", config::Edition::Quick,
                       [](const ExperimentSpec&) { return FakeResult{}; });
        const Document document = makeReport({file}, {});
        std::size_t commands = 0;
        for (const Section& section : document.sections)
            for (const Finding& finding : section.findings)
                for (const std::string& command : finding.commands) {
                    ++commands;
                    const std::string words = command.substr(std::string("tilescope").size());
                    const testing::ProgramResult result =
                        testing::runProgram({"/bin/bash", "-c", "printf '%s\\n'" + words}, folder.path());
                    EXPECT_THAT(result.out, HasSubstr("show\n" + file.string() + "\n")) << command;
                }
        EXPECT_GT(commands, 0u);
        std::filesystem::remove(file);
    }
    EXPECT_FALSE(std::filesystem::exists(folder / "pwned"));
}

TEST(HostileNames, InACommandKeepEveryCharacterThatIsTyped)
{
    EXPECT_EQ(markdownCode("tilescope show a.tscope"), "`tilescope show a.tscope`");
    EXPECT_EQ(markdownCode("a `b``c"), "``` a `b``c ```");
    EXPECT_EQ(latexCode("show 'a b' --run 1"), "show \\textquotesingle{}a b\\textquotesingle{} -{}-{}run 1");
}

} // namespace tilescope::report
