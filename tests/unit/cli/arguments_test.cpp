#include "app/cli/arguments.h"

#include "core/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace tilescope::cli {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

struct Parsed {
    std::string file;
    std::string output;
    std::string format = "text";
    std::string headDim;
    std::string causal;
    std::vector<std::string> settings;
    bool quick = false;
    bool goOn = false;
};

Parsed parse(std::vector<std::string> words)
{
    Parsed parsed;
    Arguments arguments("demo FILE [options]", "Does nothing.", "tilescope demo a.yaml");
    arguments.positional("FILE", parsed.file, "a file");
    arguments.output("-o,--output", parsed.output, "where to");
    arguments.choice("--format", parsed.format, {"text", "json"}, "how");
    arguments.repeated("--set", parsed.settings, "key=value");
    arguments.flag("--quick", parsed.quick, "soon");
    arguments.key("d_head", parsed.headDim, false);
    arguments.key("causal", parsed.causal, true);
    words.insert(words.begin(), "demo");
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    parsed.goOn = arguments.parse(static_cast<int>(pointers.size()), pointers.data());
    return parsed;
}

std::string refusal(std::vector<std::string> words)
{
    try {
        parse(std::move(words));
    } catch (const Error& error) {
        EXPECT_EQ(error.exitCode(), 2);
        return error.sentence();
    }
    ADD_FAILURE() << "it was accepted";
    return {};
}

} // namespace

TEST(Arguments, TakesOptionsInAnyOrderAndSpelling)
{
    const Parsed parsed =
        parse({"-o", "x.tscope", "--set", "a=1", "in.yaml", "--set", "b=[1, 2]", "--format=json"});
    EXPECT_TRUE(parsed.goOn);
    EXPECT_EQ(parsed.file, "in.yaml");
    EXPECT_EQ(parsed.output, "x.tscope");
    EXPECT_EQ(parsed.format, "json");
    EXPECT_THAT(parsed.settings, ElementsAre("a=1", "b=[1, 2]"));
}

TEST(Arguments, DashAndUnderscoreAreTheSameInAKey)
{
    EXPECT_EQ(parse({"--d_head", "64"}).headDim, "64");
    EXPECT_EQ(parse({"--d-head", "[32, 64]"}).headDim, "[32, 64]");
}

TEST(Arguments, ABooleanKeyWithoutAValueIsTrue)
{
    EXPECT_EQ(parse({"--causal", "--d-head", "64"}).causal, "true");
    EXPECT_EQ(parse({"--causal"}).causal, "true");
    EXPECT_EQ(parse({"--causal", "false"}).causal, "false");
    EXPECT_EQ(parse({}).causal, "");
}

TEST(Arguments, NameTheNearestRightSpelling)
{
    EXPECT_EQ(refusal({"--quik"}), "--quik: unknown option; did you mean '--quick'?");
    EXPECT_EQ(refusal({"--dhead=3"}), "--dhead: unknown option; did you mean '--d-head'?");
    EXPECT_THAT(refusal({"--format", "jsn"}), HasSubstr("unknown value 'jsn'; did you mean 'json'?"));
    EXPECT_THAT(refusal({"--zzzzzzzzzz"}), HasSubstr("--help lists all"));
}

TEST(Arguments, RefuseExtraWordsAndMissingValues)
{
    EXPECT_THAT(refusal({"a.yaml", "b.yaml"}), HasSubstr("b.yaml: unexpected argument"));
    EXPECT_EQ(refusal({"--output"}), "--output: needs a value; tilescope demo --help describes it");
    EXPECT_EQ(refusal({"-o", "--quick"}),
              "--output: needs a value; write --output=--quick if that is the value");
    EXPECT_EQ(refusal({"--d-head="}), "--d-head: needs a value; tilescope demo --help describes it");
    EXPECT_EQ(refusal({"--quick=3"}), "--quick: takes no value; write --quick alone");
}

TEST(Arguments, RefuseAnOptionThatIsGivenTwice)
{
    EXPECT_EQ(refusal({"-o", "a", "--output=b"}), "--output: is given twice; give it once");
    EXPECT_EQ(refusal({"--d-head", "64", "--d_head", "32"}),
              "--d-head: is given twice; give it once; [a, b] sweeps it");
    EXPECT_EQ(refusal({"--format", "json", "--format", "json"}), "--format: is given twice; give it once");
}

TEST(Arguments, RefuseADashAsTheNameOfAFileToWrite)
{
    EXPECT_THAT(refusal({"-o", "-"}), HasSubstr("--output -: cannot write this to standard output"));
    EXPECT_THAT(refusal({"--output=-"}), HasSubstr("name a file"));
    EXPECT_EQ(parse({"-"}).file, "-") << "an input may be standard input";
}

TEST(Arguments, DistinguishValuesThatBeginWithADashFromOptions)
{
    EXPECT_EQ(parse({"--d-head", "-1"}).headDim, "-1");
    EXPECT_EQ(parse({"--output=--odd"}).output, "--odd");
    EXPECT_EQ(parse({"-oa.tscope"}).output, "a.tscope");
    EXPECT_EQ(parse({"--", "--quick"}).file, "--quick");
    EXPECT_EQ(parse({"--causal", "-o", "a"}).causal, "true");
}

TEST(Arguments, LeadFromJsonToTheOptionOfTheFormat)
{
    EXPECT_EQ(refusal({"--json"}), "--json: unknown option; write --format json");
    EXPECT_EQ(refusal({"--csv"}), "--csv: unknown option; write --format csv");
}

TEST(Arguments, WrapTheHelpOfOptions)
{
    std::string value;
    Arguments arguments("demo FILE", "Does nothing.", "tilescope demo a.yaml");
    arguments.option("--long", value, std::string(40, 'a') + " " + std::string(40, 'b') + " last");
    std::ostringstream out;
    setenv("COLUMNS", "60", 1);
    EXPECT_FALSE(arguments.parse({"--help"}, out));
    unsetenv("COLUMNS");
    std::istringstream lines(out.str());
    std::vector<std::size_t> begins; // of the description's lines
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 70U) << line;
        if (line.find("aaaa") != std::string::npos || line.find("bbbb") != std::string::npos)
            begins.push_back(
                line.find_first_of("ab", line.find("aaaa") == std::string::npos ? 0 : line.find("aaaa")));
    }
    ASSERT_EQ(begins.size(), 2U) << out.str();
    EXPECT_EQ(begins[0], begins[1]) << out.str();
}

TEST(Arguments, PrintHelpWithAnExampleAndStop)
{
    ::testing::internal::CaptureStdout();
    EXPECT_FALSE(parse({"--help", "--nonsense"}).goOn);
    const std::string help = ::testing::internal::GetCapturedStdout();
    EXPECT_THAT(help, HasSubstr("usage: tilescope demo FILE [options]"));
    EXPECT_THAT(help, ::testing::ContainsRegex("-o, --output VALUE +where to"));
    EXPECT_THAT(help, HasSubstr("--format text|json"));
    EXPECT_THAT(help, HasSubstr("example: tilescope demo a.yaml"));
}

TEST(Arguments, HelpStandsInOneColumnBesideNamesThatAreNotAscii)
{
    std::vector<std::string> files;
    bool quick = false;
    Arguments arguments("demo FILE\u2026", "Does nothing.", "tilescope demo a.yaml");
    arguments.positionals("FILE", files, "<"); // shown as FILE…
    arguments.flag("--quick", quick, "<");
    std::ostringstream out;
    EXPECT_FALSE(arguments.parse({"--help"}, out));
    std::vector<std::size_t> columns;
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);)
        if (line.ends_with('<'))
            columns.push_back(line.size() - (line.find("\u2026") == std::string::npos ? 0 : 2));
    ASSERT_GE(columns.size(), 2U) << out.str();
    EXPECT_THAT(columns, ::testing::Each(columns.front())) << out.str();
}

TEST(Arguments, TakeAnAttachedValueOnlyBehindAnEqualsSign)
{
    const auto parse = [](const std::vector<std::string>& words) {
        bool isGiven = false;
        std::string list = "all";
        std::vector<std::string> command;
        Arguments arguments("demo COMMAND…", "Does nothing.", "tilescope demo ls");
        arguments.attached("--metrics", "LIST", isGiven, list, "what");
        arguments.command(command);
        std::ostringstream out;
        arguments.parse(words, out);
        std::string text = (isGiven ? "given " : "not given ") + list + ":";
        for (const std::string& word : command)
            text += " " + word;
        return text;
    };
    EXPECT_EQ(parse({"--metrics", "python", "a.py"}), "given all: python a.py");
    EXPECT_EQ(parse({"--metrics=sm", "python"}), "given sm: python");
    EXPECT_EQ(parse({"python", "--metrics=sm"}), "not given all: python --metrics=sm");
    EXPECT_THROW(parse({"--metrics=", "python"}), Error);
    EXPECT_THROW(parse({"--metrics=a", "--metrics=b", "python"}), Error);
}

} // namespace tilescope::cli
