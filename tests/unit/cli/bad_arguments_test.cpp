// Errors on the command line of any verb: one sentence with cause, place and remedy; exit code 2; no wording
// of a library.

#include "command_line.h"

#include <gmock/gmock.h>

#include <filesystem>

namespace tilescope {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ProgramResult;

namespace {

using Words = std::vector<std::string>;

/// Wording of libraries that must not appear.
constexpr const char* kForeign[] = {"At Most",          "required", "TEXT missing", "filesystem error",
                                    "filesystem_error", "basic_",   "std::",        "not an error",
                                    "terminate",        "what():",  "yaml-cpp",     "CLI::",
                                    "bad_alloc",        "stoi",     "\\n"};

std::string shown(const Words& words)
{
    std::string text = "tilescope";
    for (const std::string& word : words)
        text += " " + word;
    return text;
}

} // namespace

class BadArguments : public CommandLine {
protected:
    void SetUp() override
    {
        CommandLine::SetUp();
        namespace fs = std::filesystem;
        ASSERT_EQ(tilescope({"run", "attention", "--seq-len", "64", "-o", "a.tscope"}).code, 0);
        fs::remove(folder / "starts");
        fs::create_symlink("loop2", folder / "loop1");
        fs::create_symlink("loop1", folder / "loop2");
        fs::create_directory(folder / "folder");
        write("text", "no recording\n");
        write("empty.tscope", "");
    }

    void expectOneSentence(const Words& words)
    {
        SCOPED_TRACE(shown(words).substr(0, 200));
        const ProgramResult ended = tilescope(words);
        EXPECT_EQ(ended.code, 2) << ended.err;
        EXPECT_THAT(ended.out, IsEmpty());
        EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
        EXPECT_THAT(ended.err, AnyOf(HasSubstr("; "), HasSubstr("did you mean")))
            << "the sentence names no remedy";
        for (const char* word : kForeign)
            EXPECT_THAT(ended.err, Not(HasSubstr(word)));
        EXPECT_FALSE(engineStarted());
    }
};

TEST_F(BadArguments, OfEveryVerbAreRefusedInOneSentence)
{
    const std::vector<Words> verbs{{"--batch", "sweep.yaml"},
                                   {"run", "attention"},
                                   {"show", "a.tscope"},
                                   {"compare", "a.tscope"},
                                   {"report", "a.tscope"},
                                   {"export", "a.tscope"},
                                   {"import", "a.pickle"},
                                   {"merge", "a.tscope"},
                                   {"sql", "a.tscope", "select 1"},
                                   {"verify", "a.tscope"},
                                   {"note", "a.tscope"},
                                   {"tag", "a.tscope"},
                                   {"delete", "a.tscope"},
                                   {"compact", "a.tscope"},
                                   {"studies"},
                                   {"presets"},
                                   {"doctor"}};
    for (const Words& verb : verbs) {
        const auto with = [&verb](const Words& more) {
            Words words = verb;
            words.insert(words.end(), more.begin(), more.end());
            return words;
        };
        expectOneSentence(with({"--nonsense"}));
        expectOneSentence(with({"--nonsense=3"}));
        expectOneSentence(with({"-z"}));
        expectOneSentence(with({"one", "two", "three", "four", "--five"}));
    }
}

TEST_F(BadArguments, OfOptionsAreRefusedInOneSentence)
{
    const std::vector<Words> cases{
        {"run", "attention", "--steps"},
        {"run", "attention", "--steps", "3", "--steps", "4"},
        {"run", "attention", "--steps", "--device", "cpu"},
        {"run", "attention", "--steps", "many"},
        {"run", "attention", "--steps", "1e4"},
        {"run", "attention", "--seed", "-1"},
        {"run", "attention", "--mode", "train"},
        {"run", "attention", "--device", "cpu", "--compile", "graph"},
        {"run", "attention", "--device", "cpu", "--precision", "tf32"},
        {"run", "attention", "--device", "cpu", "--inside", "true"},
        {"run", "attention", "--inside", "true", "--counters", "dram__bytes.sum"},
        {"record", "--counters", "dram__bytes.sum", "--inside", "--", "true"},
        {"run", "attention", "--output"},
        {"run", "attention", "-o", "-"},
        {"run", "attention", "--capacity", "8 GiB"},
        {"run", "attention", "--dry-run", "--capacity", "8"},
        {"run", "attention", "--dry-run=yes"},
        {"run", "attention", "--format", "xml"},
        {"run", "attention", "--size", "tiny"},
        {"run", "attention", "lm"},
        {"run"},
        {"run", "attentoin"},
        {"--batch"},
        {"--batch", "missing.yaml"},
        {"--batch", "folder"},
        {"--batch", "loop1"},
        {"--batch", "sweep.yaml", "-o", "-"},
        {"--batch", "sweep.yaml", "--resume"},
        {"--batch", "sweep.yaml", "--shard", "3/3"},
        {"--batch", "sweep.yaml", "--set", "steps"},
        {"--batch", "sweep.yaml", "--set", "stpes=3"},
        {"--batch", "sweep.yaml", "--set"},
        {"--batch", "sweep.yaml", "--set", "device=cpu", "--set", "compile=graph"},
        {"--batch", "sweep.yaml", "--dry-run", "--capacity", "much"},
        {"--batch", "study:none"},
        {"show"},
        {"show", "a.tscope", "kernel"},
        {"show", "a.tscope", "--run"},
        {"show", "a.tscope", "--run", "1", "--run", "2"},
        {"show", "a.tscope", "--run", "one"},
        {"show", "a.tscope", "--run", "9"},
        {"show", "a.tscope", "--limit", "-3"},
        {"show", "a.tscope", "kernels", "--group", "nothing"},
        {"show", "a.tscope", "kernels", "--at", "peak"},
        {"show", "a.tscope", "memory", "--names", "--group", "op"},
        {"show", "a.tscope", "answers", "why"},
        {"compare", "a.tscope"},
        {"compare", "a.tscope:9", "a.tscope:1"},
        {"compare", "a.tscope:x", "a.tscope:1"},
        {"compare", "a.tscope:1", "a.tscope:1", "--run-to-run", "much"},
        {"compare", "a.tscope:1", "a.tscope:1", "--gate", "much"},
        {"compare", "a.tscope:1", "a.tscope:1", "--limit", "x"},
        {"report", "a.tscope"},
        {"report", "-o", "folder"},
        {"report", "a.tscope", "-o", "-"},
        {"report", "a.tscope", "-o", "out", "--format", "docx"},
        {"report", "a.tscope", "-o", "out", "--study", "none"},
        {"export", "a.tscope"},
        {"export", "a.tscope", "--arrow", "-"},
        {"export", "a.tscope", "--kineto", "x.json", "--perfetto", "x.pftrace"},
        {"export", "a.tscope", "--run", "x", "--kineto", "x.json"},
        {"export", "a.tscope", "--run", "9", "--kineto", "x.json"},
        {"export", "a.tscope:1", "--run", "2", "--kineto", "x.json"},
        {"export", "a.tscope", "--snapshot", "x.pickle", "--at", "noon"},
        {"import", "text"},
        {"import", "text", "-o", "-"},
        {"import", "text", "-o", "t.tscope"},
        {"merge", "a.tscope"},
        {"merge", "-o", "out.tscope"},
        {"merge", "a.tscope", "-o", "-"},
        {"note", "a.tscope"},
        {"note", "a.tscope", "first", "text"},
        {"note", "a.tscope", "9", "text"},
        {"tag", "a.tscope", "1", "two words"},
        {"delete", "a.tscope"},
        {"delete", "a.tscope", "x"},
        {"delete", "a.tscope", "9"},
        {"doctor", "--ceilings", "--device", "gpu"},
        {"doctor", "--ceilings", "-o", "-"},
        {"doctor", "--device", "cpu"},
        {"doctor", "--force"},
        {"help", "shwo"},
        {"shwo"},
        {"--versoin"},
        {"missing.tscope"},
        {"-"},
    };
    for (const Words& words : cases)
        expectOneSentence(words);
}

TEST_F(BadArguments, ACircleOfLinksIsCalledSo)
{
    for (const Words& words : {Words{"--batch", "loop1", "-o", "out.tscope"}, Words{"show", "loop1"},
                               Words{"import", "loop1", "-o", "out.tscope"}}) {
        const std::string said = tilescope(words).err;
        EXPECT_THAT(said, HasSubstr("link")) << said;
        EXPECT_THAT(said, Not(HasSubstr("permissions"))) << said;
    }
}

TEST_F(BadArguments, TextOfSeveralWordsGetsARemedyThatWorks)
{
    const auto remedy = [this](const Words& words) {
        const std::string said = tilescope(words).err;
        return said.substr(std::min(said.size(), said.rfind(';')));
    };
    EXPECT_EQ(remedy({"tag", "a.tscope", "1", "two", "words"}),
              remedy({"tag", "a.tscope", "1", "two words"}));
    EXPECT_EQ(remedy({"note", "a.tscope", "1", "two", "words"}), "; quote the text\n");
}

TEST_F(BadArguments, OfFilesThatCannotBeReadAreRefusedInOneSentence)
{
    const std::string endless(5000, 'n');
    for (const std::string& file :
         {std::string("missing.tscope"), std::string("folder"), std::string("loop1"), std::string("text"),
          std::string("empty.tscope"), std::string("text/inside"), std::string("/dev/null"), endless}) {
        expectOneSentence({"show", file});
        expectOneSentence({"compare", file, file});
        expectOneSentence({"report", file, "-o", "out"});
        expectOneSentence({"export", file, "--snapshot", "x.pickle"});
        expectOneSentence({"merge", file, "-o", "out.tscope"});
        expectOneSentence({"verify", file});
        expectOneSentence({"compact", file});
        expectOneSentence({"note", file, "1", "text"});
        expectOneSentence({"delete", file, "1"});
    }
}

TEST_F(BadArguments, GetASuggestionInTheSpellingOfTheUser)
{
    EXPECT_THAT(tilescope({"run", "attention", "--device", "cpu", "--compile", "graph"}).err,
                HasSubstr("write --compile none or --device cuda"));
    EXPECT_THAT(tilescope({"--batch", "sweep.yaml", "--set", "device=cpu", "--set", "compile=graph"}).err,
                HasSubstr("write --set compile=none or --set device=cuda"));
    write("wrong.yaml", "workload: attention\ndevice: cpu\ncompile: graph\n");
    EXPECT_THAT(tilescope({"--batch", "wrong.yaml"}).err, HasSubstr("write compile: none or device: cuda"));
}

} // namespace tilescope
