#include "core/base/error.h"
#include "core/exchange/export/pickle_writer.h"
#include "core/exchange/import/pickle_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace tilescope::exchange {

namespace {

using Kind = PickleValue::Kind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::string_literals;

std::string refusalOf(const std::string& bytes)
{
    try {
        PickleDocument(bytes, "x.pickle");
    } catch (const Error& error) {
        EXPECT_EQ(error.exitCode(), 2);
        return error.sentence();
    }
    return "was read";
}

/// A protocol 2 pickle with this content.
std::string pickle(const std::string& opcodes)
{
    return "\x80\x02" + opcodes;
}

std::string texts(int count)
{
    std::ostringstream out;
    PickleWriter writer(out);
    writer.beginList();
    for (int i = 0; i < count; ++i)
        writer.text("text " + std::to_string(i));
    for (int i = 0; i < count; ++i)
        writer.text("text " + std::to_string(i));
    writer.endList();
    writer.finish();
    return out.str();
}

} // namespace

TEST(Pickle, NumbersOfEverySizeComeBack)
{
    const std::vector<std::int64_t> numbers{0,
                                            1,
                                            255,
                                            256,
                                            65535,
                                            65536,
                                            -1,
                                            -128,
                                            2147483647,
                                            -2147483648LL,
                                            1LL << 31,
                                            1LL << 40,
                                            -(1LL << 40),
                                            1795258298467365,
                                            std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max()};
    std::ostringstream out;
    PickleWriter writer(out);
    writer.beginList();
    for (const std::int64_t number : numbers)
        writer.integer(number);
    writer.address(~std::uint64_t{0});
    writer.endList();
    writer.finish();
    const PickleDocument document(out.str(), "x");
    const auto items = document.items(document.root());
    ASSERT_EQ(items.size(), numbers.size() + 1);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        EXPECT_EQ(PickleDocument::integer(items[i]), numbers[i]) << numbers[i];
    EXPECT_EQ(PickleDocument::address(items.back()), ~std::uint64_t{0});
    EXPECT_FALSE(PickleDocument::integer(items.back())) << "it does not fit";
    EXPECT_FALSE(PickleDocument::address(items[6])) << "-1 is none";
}

TEST(Pickle, ContainersNestAndRepeatedOnesAreReferences)
{
    std::ostringstream out;
    PickleWriter writer(out);
    writer.beginDict();
    writer.text("frames");
    writer.beginList();
    const PickleWriter::Memo memo = writer.remember();
    writer.beginDict();
    writer.entry("name", "mm");
    writer.flagEntry("done", true);
    writer.endDict();
    writer.endList();
    writer.text("again");
    writer.recall(memo);
    writer.text("pool");
    writer.pair(3, 0);
    writer.endDict();
    writer.finish();
    const PickleDocument document(out.str(), "x");
    const auto frames = document.find(document.root(), "frames");
    const auto again = document.find(document.root(), "again");
    ASSERT_TRUE(frames && again);
    EXPECT_EQ(frames->bits, again->bits) << "one list";
    ASSERT_EQ(document.items(*frames).size(), 1u);
    EXPECT_EQ(document.text(*document.find(document.items(*frames)[0], "name")), "mm");
    EXPECT_EQ(document.find(document.items(*frames)[0], "done")->kind, Kind::Boolean);
    const auto pool = document.find(document.root(), "pool");
    ASSERT_EQ(pool->kind, Kind::Tuple);
    EXPECT_EQ(PickleDocument::integer(document.items(*pool)[0]), 3);
    EXPECT_FALSE(document.find(document.root(), "none"));
}

TEST(Pickle, LongListsComeInBatchesAndTextsOnce)
{
    const int count = 5000; // more than a batch, and more texts than short references reach
    const std::string bytes = texts(count);
    const PickleDocument document(bytes, "x");
    const auto items = document.items(document.root());
    ASSERT_EQ(items.size(), 2u * count);
    for (std::size_t i = 0; i < items.size(); ++i)
        ASSERT_EQ(document.text(items[i]), "text " + std::to_string(i % count));
    EXPECT_EQ(items[7].bits, items[7 + count].bits) << "the second is a reference to the first";
}

TEST(Pickle, TextThatIsNotUtf8IsWrittenSoThatPythonReadsIt)
{
    std::ostringstream out;
    PickleWriter writer(out);
    writer.text("a\xff z");
    writer.finish();
    const PickleDocument document(out.str(), "x");
    EXPECT_EQ(document.text(document.root()), "a\xef\xbf\xbd z");
}

TEST(Pickle, ReadsNewerProtocols)
{
    // pickle.dumps({"a": [1, 2.5, None, True], "b": ("x", "x")}, protocol=4)
    const std::string four = "\x80\x04\x95\x25\0\0\0\0\0\0\0}\x94(\x8c\x01"s
                             "a\x94]\x94(K\x01G@\x04\0\0\0\0\0\0N\x88"s
                             "e\x8c\x01"s
                             "b\x94\x8c\x01x\x94h\x04\x86\x94u."s;
    const PickleDocument document(four, "x");
    EXPECT_EQ(document.items(*document.find(document.root(), "a")).size(), 4u);
    const auto pair = document.items(*document.find(document.root(), "b"));
    ASSERT_EQ(pair.size(), 2u);
    EXPECT_EQ(document.text(pair[0]), "x");
    EXPECT_EQ(document.text(pair[1]), "x");
}

TEST(Pickle, RefusesInstructionsThatRunCode)
{
    // An attack: os.system("touch pwned"), by each instruction of pickles that runs code.
    EXPECT_THAT(
        refusalOf(pickle("cos\nsystem\nX\x0b\0\0\0touch pwned\x85R."s)),
        AllOf(HasSubstr("opcode GLOBAL"), HasSubstr("x.pickle, byte 2"), HasSubstr("could run code")));
    EXPECT_THAT(refusalOf("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x05touch\x85R."s),
                HasSubstr("opcode STACK_GLOBAL"));
    EXPECT_THAT(refusalOf(pickle("(ios\nsystem\n.")), HasSubstr("opcode INST"));
    for (const auto& [opcode, name] : std::vector<std::pair<char, std::string>>{{'R', "REDUCE"},
                                                                                {'b', "BUILD"},
                                                                                {'o', "OBJ"},
                                                                                {'P', "PERSID"},
                                                                                {'Q', "BINPERSID"},
                                                                                {'\x81', "NEWOBJ"},
                                                                                {'\x82', "EXT1"},
                                                                                {'\x83', "EXT2"},
                                                                                {'\x84', "EXT4"},
                                                                                {'\x92', "NEWOBJ_EX"},
                                                                                {'\x97', "NEXT_BUFFER"}})
        EXPECT_THAT(refusalOf(pickle("]"s + opcode + ".")), HasSubstr("opcode " + name + ","));
    EXPECT_THAT(refusalOf(pickle("]0.")), HasSubstr("opcode 0x30"));
}

TEST(Pickle, NamesFilesThatResembleSnapshots)
{
    EXPECT_THAT(refusalOf("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
                HasSubstr("git lfs pull"));
    EXPECT_THAT(refusalOf("\x1f\x8b\x08\0"s), AllOf(HasSubstr("is compressed"), HasSubstr("gunzip")));
    EXPECT_THAT(refusalOf("PK\x03\x04\0"s), AllOf(HasSubstr("zip archive"), HasSubstr("pickle.dump")));
    EXPECT_THAT(refusalOf("(dp0\nS'segments'\n."), HasSubstr("not a pickle of protocol 2"))
        << "protocol 0 is text";
}

TEST(Pickle, FramesMustBeWhole)
{
    // pickle.dumps([1, 2], protocol=4), then with a frame that promises a byte more, and cut in the frame's
    // length.
    const std::string whole = "\x80\x04\x95\x09\0\0\0\0\0\0\0]\x94(K\x01K\x02"s
                              "e."s;
    EXPECT_EQ(PickleDocument(whole, "x").items(PickleDocument(whole, "x").root()).size(), 2u);
    std::string longer = whole;
    longer[3] = '\x0b';
    EXPECT_THAT(refusalOf(longer), AllOf(HasSubstr("cut off"), HasSubstr("byte 2")));
    EXPECT_THAT(refusalOf(whole.substr(0, 7)), HasSubstr("cut off"));
    EXPECT_THAT(refusalOf("\x80\x04\x95\0\0\0\0\0\0\0\x80."s), HasSubstr("cut off"));
}

TEST(Pickle, RefusesTruncatedOrMisplacedDataWithItsByte)
{
    EXPECT_THAT(refusalOf(""), HasSubstr("cut off"));
    EXPECT_THAT(refusalOf("hello"), HasSubstr("not a pickle of protocol 2"));
    EXPECT_THAT(refusalOf("\x80\x07."), HasSubstr("protocol 7"));
    EXPECT_THAT(refusalOf(pickle("X\xff\xff\xff\xff")), AllOf(HasSubstr("cut off"), HasSubstr("byte 2")));
    EXPECT_THAT(refusalOf("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff."), HasSubstr("cut off"));
    EXPECT_THAT(refusalOf("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f."), HasSubstr("cut off"));
    EXPECT_THAT(refusalOf(pickle("\x8b\xff\xff\xff\x7f.")), HasSubstr("number of 2147483647 bytes"));
    EXPECT_THAT(refusalOf(pickle("\x8a\x09\0\0\0\0\0\0\0\0\x01."s)), HasSubstr("beyond 64 bits"));
    EXPECT_THAT(refusalOf(pickle(".")), HasSubstr("ends with 0 values"));
    EXPECT_THAT(refusalOf(pickle("]].")), HasSubstr("ends with 2 values"));
    EXPECT_THAT(refusalOf(pickle("(].")), HasSubstr("ends with"));
    EXPECT_THAT(refusalOf(pickle("a.")), HasSubstr("empty stack"));
    EXPECT_THAT(refusalOf(pickle("](a.")), HasSubstr("empty stack"));
    EXPECT_THAT(refusalOf(pickle("}]a.")), HasSubstr("appends to a value that is not a list"));
    EXPECT_THAT(refusalOf(pickle("]NNs.")), HasSubstr("sets items of a value that is not a dict"));
    EXPECT_THAT(refusalOf(pickle("}(Nu.")), HasSubstr("key without a value"));
    EXPECT_THAT(refusalOf(pickle("(Nd.")), HasSubstr("key without a value"));
    EXPECT_THAT(refusalOf(pickle("]e.")), HasSubstr("lacks a mark"));
}

TEST(Pickle, RefusesBombsBeforeTheyGrow)
{
    EXPECT_THAT(refusalOf(pickle("Nr\xff\xff\xff\xff.")), HasSubstr("stores value 4294967295"));
    EXPECT_THAT(refusalOf(pickle("h\x05.")), HasSubstr("refers to value 5 of 0"));
    EXPECT_THAT(refusalOf(pickle(std::string(2000, '('))), HasSubstr("nested deeper than 1000"));
    EXPECT_THAT(refusalOf(pickle("N" + std::string("q\x01.", 3))),
                HasSubstr("stores value 1 after 0 values"));
    EXPECT_THAT(refusalOf(pickle("j\xff\xff\xff\x7f.")), HasSubstr("refers to value 2147483647"));
    // Counts that promise more data than there is.
    EXPECT_THAT(refusalOf("\x80\x04\x8d\0\0\0\x01\0\0\0\0x."s), HasSubstr("cut off"));
    EXPECT_THAT(refusalOf(pickle("X\xff\xff\xff\x7fx.")), HasSubstr("cut off"));
    EXPECT_THAT(refusalOf(pickle("\x8a\xff.")), HasSubstr("number of 255 bytes"));
    // References double what is reached at each level, not what is kept: 2^40 leaves in 40 lists.
    std::string doubling = "]\x94";
    for (char level = 0; level < 40; ++level)
        doubling += std::string("(h") + level + "h" + level + "l\x94";
    const PickleDocument bomb("\x80\x04(" + doubling + "t.", "x");
    EXPECT_EQ(bomb.containers(), 42u);
    // Deeply nested lists cost no more than their bytes.
    std::string deep = pickle(std::string(100'000, ']'));
    deep += std::string(99'999, 'a') + ".";
    EXPECT_EQ(PickleDocument(deep, "x").containers(), 100'000u);
    // A list that holds itself.
    const PickleDocument circle(pickle("]q\0h\0a."s), "x");
    EXPECT_EQ(circle.items(circle.root())[0].bits, circle.root().bits);
}

} // namespace tilescope::exchange
