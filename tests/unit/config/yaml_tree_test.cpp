#include "core/config/yaml_tree.h"

#include "core/base/error.h"
#include "sentence.h"

#include <gtest/gtest.h>

#include <random>

namespace tilescope::config {

namespace {

std::string repeated(std::string_view text, std::size_t count)
{
    std::string result;
    for (std::size_t i = 0; i < count; ++i)
        result += text;
    return result;
}

std::string refusal(std::string_view yaml)
{
    try {
        readYaml(yaml, "y");
        return "accepted";
    } catch (const Error& error) {
        return error.sentence();
    }
}

TEST(ReadYaml, CopiesWhatAliasesName)
{
    const SpecValue root = readYaml("a: &a [1, {x: 2}]\nb: *a\nc: [*a, *a]\n", "y");
    ASSERT_EQ(root.items.size(), 3);
    EXPECT_EQ(toYaml(root.items[0]), "[1, {x: 2}]");
    EXPECT_EQ(root.items[1], root.items[0]);
    EXPECT_EQ(root.items[2].items[1], root.items[0]);
}

TEST(ReadYaml, BoundsTheTextThatAliasesRepeat)
{
    const std::string text = "a: &a " + std::string(1 << 20, 'x') + "\nb: ";
    EXPECT_EQ(refusal(text + "[*a, *a, *a]"), "accepted");
    EXPECT_TRUE(
        matches(refusal(text + "[*a, *a, *a, *a]"), "y:2:17: aliases repeat more than 4 MiB of text; …"));
}

// Thirty levels of ten aliases each represent 10^30 values, which are counted, not built.
TEST(ReadYaml, CountsAliasesInFull)
{
    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
    for (int level = 1; level < 30; ++level) {
        const std::string before = "*a" + std::to_string(level - 1);
        bomb += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + before +
                repeated("," + before, 9) + "]\n";
    }
    EXPECT_TRUE(matches(refusal(bomb), "y:6:34: more than 1,000,000 values, counting aliases in full; …"));
    EXPECT_TRUE(matches(sentenceOf("workload: lm\n" + bomb), "s.yaml:7:34: more than 1,000,000 values, …"));
}

TEST(ReadYaml, CountsValues)
{
    EXPECT_TRUE(matches(refusal("[" + repeated("1,", kMaximumYamlNodes) + "]"),
                        "y:1:2000000: more than 1,000,000 …"));
}

TEST(ReadYaml, BoundsDepthBeforeRecursion)
{
    const std::string sixteen = repeated("[", kMaximumYamlDepth) + repeated("]", kMaximumYamlDepth);
    EXPECT_EQ(refusal(sixteen), "accepted");
    EXPECT_TRUE(matches(refusal("[" + sixteen + "]"), "y:1:17: nested more than 16 deep; …"));
    for (const auto& [open, close] : {std::pair{"[", "]"}, {"{a: ", "}"}, {"- ", ""}, {"[\n", "]"}}) {
        const std::string deep = repeated(open, 100'000) + repeated(close, 100'000);
        EXPECT_NE(refusal(deep).find("nested more than 16 deep"), std::string::npos) << open;
    }
    std::string indented;
    for (int depth = 0; depth < 1000; ++depth)
        indented += std::string(static_cast<std::size_t>(depth), ' ') + "a:\n";
    EXPECT_TRUE(matches(refusal(indented), "y:17:17: nested more than 16 deep; …"));
}

TEST(ReadYaml, AlsoBoundsUnclosedDepth)
{
    for (const char* open : {"[", "{", "{a: ", "? ", "- ? ", "&a [", "!t [", "[[{"})
        EXPECT_NE(refusal(repeated(open, 500'000 / std::string_view(open).size())), "accepted") << open;
}

TEST(ReadYaml, BoundsKeysOfAMap)
{
    std::string keys;
    for (int i = 0; i < 300; ++i)
        keys += "k" + std::to_string(i) + ": 1\n";
    EXPECT_EQ(refusal(keys), "y:257:1: a map of more than 256 keys; a spec has fewer");
}

TEST(ReadYaml, BoundsBytes)
{
    EXPECT_EQ(refusal("a: " + std::string(kMaximumYamlBytes - 3, 'x')), "accepted");
    EXPECT_TRUE(matches(refusal("a: " + std::string(kMaximumYamlBytes - 2, 'x')),
                        "y: too large for a spec (4.0 MiB); …"));
}

TEST(ReadYaml, RefusesBinaryData)
{
    for (int byte = 0; byte < 0x20; ++byte) {
        if (byte == '\t' || byte == '\n' || byte == '\r')
            continue;
        const std::string sentence = refusal(std::string("a: ") + static_cast<char>(byte));
        EXPECT_TRUE(sentence.starts_with("y:1:4: a control character")) << byte;
    }
    // C1 controls, ill-formed sequences and code points beyond Unicode.
    for (const char* bytes : {"\xc2\x80", "\xc2\x9f", "\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98",
                              "\xf4\x90\x80\x80", "\xe0\x80\x80", "\xf8\x88\x80\x80\x80"})
        EXPECT_NE(refusal("a: " + std::string(bytes)), "accepted");
    for (const char* text : {"\u00e9", "\u20ac", "\U0001f600"})
        EXPECT_EQ(refusal("a: " + std::string(text)), "accepted");
}

TEST(ReadYaml, CountsColumnsInCharacters)
{
    const SpecValue root = readYaml("{\u00e9\u20ac\U0001f600: [1,\n \u00e9, b], c: d}", "y");
    EXPECT_EQ(root.keys[0].position, (Position{1, 2}));
    EXPECT_EQ(root.items[0].items[0].position, (Position{1, 8}));
    EXPECT_EQ(root.items[0].items[2].position, (Position{2, 5}));
    EXPECT_EQ(root.keys[1].position, (Position{2, 9}));
}

TEST(ReadYaml, DistinguishesQuotedFromPlain)
{
    const SpecValue root = readYaml("- 1\n- '1'\n- \"1\"\n- null\n- 'null'\n- |-\n  1\n", "y");
    std::vector<bool> quoted;
    for (const SpecValue& item : root.items)
        quoted.push_back(item.quoted);
    EXPECT_EQ(quoted, (std::vector<bool>{false, true, true, false, true, true}));
    EXPECT_EQ(root.items[3].kind, SpecValue::Kind::Missing);
    EXPECT_EQ(root.items[4].kind, SpecValue::Kind::Scalar);
}

// Any mutation of a spec is read, or refused in one printable line.
TEST(ParseSpec, SurvivesMutations)
{
    const unsigned seed = 20260731;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::vector<std::string> specs{"name: a\nworkload: attention\nfixed: {batch: 8, heads: 2, causal: "
                                         "true}\nsweep:\n  backend: [naive, flash]\n"
                                         "  seq_len: [16, 32]\n",
                                         "workload: lm # it's\nsize: \"tiny\"\nsweep:\n- {mode: forward, "
                                         "memory_limit: 8 GiB}\n- &p {mode: 'train'}\n",
                                         "{workload: lm, counters: [a, b], compile: package:m.pt2, mode: "
                                         "forward, timeout: 1.5, name: |\n  x\n}\n"};
    const std::vector<std::string> pieces{
        "[",    "]",     "{",     "}",     ": ",     ":",    "- ",
        "? ",   "#",     "\"",    "'",     "\n",     "\t",   "&a ",
        "*a",   "!t ",   "|",     ">",     "%",      "@",    "`",
        ",",    "\\",    "---\n", "...\n", "\u00e9", "\xff", std::string(1, '\0'),
        "<<: ", "sweep", "fixed", "-1",    "9e99",   " "};
    const auto below = [&](std::size_t bound) {
        return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
    };
    int refused = 0;
    for (int round = 0; round < 5'000; ++round) {
        std::string yaml = specs[below(specs.size())];
        for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
            const std::size_t at = below(yaml.size() + 1);
            if (below(2) == 0)
                yaml.insert(at, pieces[below(pieces.size())]);
            else
                yaml.erase(at, 1 + below(6));
        }
        try {
            parseSpec(yaml, "s.yaml");
        } catch (const Error& error) {
            ++refused;
            const std::string sentence = error.sentence();
            EXPECT_EQ(sentence.find_first_of("\n\r\t\033"), std::string::npos) << yaml;
            EXPECT_TRUE(sentence.starts_with("s.yaml")) << sentence << "\n" << yaml;
            EXPECT_FALSE(error.what.empty() || error.remedy.empty()) << yaml;
        }
    }
    EXPECT_GT(refused, 1'000);
    EXPECT_LT(refused, 5'000);
}

} // namespace

} // namespace tilescope::config
