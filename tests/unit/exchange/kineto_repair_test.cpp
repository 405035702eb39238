// Kineto traces whose JSON is damaged lose the damaged event at most, in whatever layout.

#include "core/exchange/import/kineto/kineto_importer.h"
#include "tests/unit/exchange/kineto_fixture.h"

#include <gmock/gmock.h>

namespace tilescope::exchange {

using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace {

/// Events of one trace in several layouts; `name` is that of the third of five kernels.
struct Layout {
    std::string name;
    std::string newLine;
    std::string indent;
};

std::vector<Layout> layouts()
{
    return {{"one line", " ", ""},  {"a line each", "\n", ""}, {"Kineto's", "\n", "  "},
            {"CRLF", "\r\n", "  "}, {"tabs", "\n", "\t"},      {"no space", "", ""}};
}

std::string laidOut(const Layout& layout, const std::string& name, bool isSorted = false)
{
    const std::string& n = layout.newLine;
    const std::string& i = layout.indent;
    std::string text = "{" + n + "\"schemaVersion\": 1," + n + "\"traceEvents\": [" + n;
    for (int k = 1; k <= 5; ++k) {
        const std::string number = std::to_string(k);
        const std::string args =
            "\"args\": {" + n + i +
            "\"device\": 0, \"stream\": 7, \"grid\": [1, 1, 1], \"correlation\": " + number + n + i + "}";
        const std::string rest = "\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" +
                                 (k == 3 ? name : "k" + number) + "\", \"pid\": 0, \"tid\": 7," + n + i +
                                 "\"ts\": " + number + "0, \"dur\": 5";
        text += i + "{" + n + i + (isSorted ? args + ", " + rest : rest + ", " + n + i + args) + n + i + "}" +
                (k < 5 ? "," : "") + n;
    }
    return text + "]," + n + "\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\"}]" + n + "}" + n;
}

} // namespace

TEST_F(Kineto, ADamagedEventCostsItselfOnlyInEveryLayout)
{
    for (const Layout& layout : layouts())
        for (const bool isSorted : {false, true})
            for (const std::string name :
                 {"5\" wide", "f(\"b\")", "a\" \"b\" c", "x\"}, {\"", "tail\\\\\\", "\", \"args\": {"}) {
                TraceBuilder builder;
                const std::string summary =
                    KinetoImporter().read(written(laidOut(layout, name, isSorted)), builder, {});
                EXPECT_EQ(builder.kernels(), 4) << layout.name << ", " << name << ", " << isSorted;
                EXPECT_THAT(summary, HasSubstr("not valid JSON, the first at byte "))
                    << layout.name << ", " << name;
            }
}

TEST_F(Kineto, DamageIsCountedInBytesAndWhatFollowsTheEventsIsRead)
{
    for (const Layout& layout : layouts()) {
        const ImportedRun run = imported(laidOut(layout, "5\" wide"));
        EXPECT_EQ(run.loss("source_not_json"), 1) << layout.name;
        EXPECT_THAT(run.details.at("source_not_json"), HasSubstr(" bytes, the first at byte "));
        EXPECT_EQ(run.topology.devices.front().name, "NVIDIA H200") << layout.name;
    }
}

TEST_F(Kineto, WhatFollowsTheTraceIsCountedInBytes)
{
    const std::string whole = trace({kernel(1, "10", "1")});
    for (const std::string& rest : {std::string("x"), std::string(3'000'000, 'z')}) {
        const ImportedRun run = imported(whole + "\n" + rest);
        EXPECT_EQ(run.activities.size(), 1U);
        EXPECT_EQ(run.loss("source_not_json"), 1);
        EXPECT_THAT(run.details.at("source_not_json"),
                    ::testing::HasSubstr(std::to_string(rest.size()) + " bytes, the first at byte " +
                                         std::to_string(whole.size() + 1)));
    }
}

TEST_F(Kineto, AnEventThatLacksItsEndCostsItselfOnly)
{
    const std::vector<std::string> events{kernel(1, "10", "1"), kernel(2, "20", "1"), kernel(3, "30", "1")};
    for (const std::string& damage : {std::string("}"), std::string("}}")}) {
        std::string text =
            trace({events[0], events[1].substr(0, events[1].size() - damage.size()), events[2]});
        EXPECT_EQ(imported(text).activities.size(), 2U) << damage;
        text = "[" + events[0] + ", " + events[1].substr(0, events[1].size() / 2) + ", " + events[2] + "]";
        EXPECT_EQ(imported(text).activities.size(), 2U);
    }
}

TEST_F(Kineto, NamesWithControlCharactersAndSingleBackslashesAreKept)
{
    const std::pair<std::string, std::string> names[] = {
        {"a\nb", "a\nb"},
        {"a\tb\x01", "a\tb\x01"},
        {"a\r\nb", "a\r\nb"},
        {R"(C:\Users\Ada\train.py(12): main)", R"(C:\Users\Ada\train.py(12): main)"},
        {R"(D:\new\table\x.py(3): step)", R"(D:\new\table\x.py(3): step)"},
        {R"(D:\new\table.py(3): step)", R"(D:\new\table.py(3): step)"},
        {R"(D:\\escaped\\table.py)", R"(D:\escaped\table.py)"},
        {R"(\section)", R"(\section)"},
        {R"(\u12 and \u00e9)", "\\u12 and \xc3\xa9"},
        {R"(\ud83d\ude00)", "\xf0\x9f\x98\x80"},
        {R"(a\ud800b \udc00)", "a\xef\xbf\xbd"
                               "b \xef\xbf\xbd"},
        {R"(\ud800\ud83d\ude00)", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
    };
    for (const auto& [written, read] : names)
        for (const std::string category : {"python_function", "user_annotation"}) {
            const ImportedRun run =
                imported(trace({interval(category, written, kHost, "1", "5"), launch(5, "2")}));
            ASSERT_EQ(run.frames.size() + run.ranges.size(), 1U) << written;
            EXPECT_EQ(run.text(run.frames.empty() ? run.ranges[0].name : run.frames[0].name), read);
            EXPECT_EQ(run.loss("source_not_json"), 0) << written;
        }
}

TEST_F(Kineto, DamageBeforeTheEventsCostsThatMemberOnly)
{
    const ImportedRun run =
        imported("{\"note\": \"5\" wide\", \"traceEvents\": [" + kernel(1, "10", "1") + "]}");
    EXPECT_EQ(run.activities.size(), 1U);
    EXPECT_EQ(run.loss("source_not_json"), 1);
}

TEST_F(Kineto, AFileThatIsCutAnywhereKeepsTheEventsBeforeTheCut)
{
    const std::vector<std::string> events{kernel(1, "10", "1"), kernel(2, "20", "1"), kernel(3, "30", "1")};
    for (const std::string& text : {trace(events, R"("schemaVersion": 1)", R"("traceName": "x.json")"),
                                    "[" + events[0] + ", " + events[1] + ",\r\n" + events[2] + "]"}) {
        const std::size_t first = text.find(events[0]) + events[0].size();
        for (std::size_t end = first; end < text.size(); ++end) {
            std::int64_t whole = 0;
            for (const std::string& event : events)
                whole += text.find(event) + event.size() <= end ? 1 : 0;
            TraceBuilder builder;
            const std::string summary = KinetoImporter().read(written(text.substr(0, end)), builder, {});
            EXPECT_EQ(builder.kernels(), whole) << end << " of " << text.size();
            EXPECT_THAT(summary, HasSubstr("the file ends early")) << end << " of " << text.size();
        }
    }
}

TEST_F(Kineto, SeveralTracesInOneFileAreRead)
{
    const std::string first = trace({kernel(1, "10", "1"), kernel(2, "20", "1")});
    const std::string list = "[" + kernel(3, "30", "1") + "]";
    const std::string second = trace({kernel(4, "40", "1")});
    for (const std::string& text :
         {first + "\n" + list + second, list + first + "\r\n" + second,
          first + "\n" + kernel(3, "30", "1") + "\n" + kernel(4, "40", "1") + "\n"}) {
        const ImportedRun run = imported(text);
        EXPECT_THAT(run.activities, SizeIs(4));
        EXPECT_EQ(run.loss("source_not_json"), 0);
        EXPECT_EQ(run.loss("source_cut"), 0);
    }
}

TEST_F(Kineto, EventsBehindAnEndThatIsNoneAreRead)
{
    const ImportedRun run = imported("[" + kernel(1, "10", "1") + "], +++ " + kernel(2, "20", "1") + ",\n" +
                                     kernel(3, "30", "1") + "]");
    EXPECT_THAT(run.activities, SizeIs(3));
    EXPECT_EQ(run.loss("source_not_json"), 1);
    EXPECT_THAT(run.details.at("source_not_json"), HasSubstr("6 bytes"));
}

TEST_F(Kineto, ATimeThatIsNoNumberIsNoDamage)
{
    for (const std::string value : {"NaN", "Infinity", "-Infinity", "inf", "-inf", "nan", "null"}) {
        const ImportedRun run = imported("[" + kernel(1, "10", "1") + ", " + kernel(2, "20", value) + ", " +
                                         kernel(3, value, "1") + "]");
        EXPECT_THAT(run.activities, SizeIs(1)) << value;
        EXPECT_EQ(run.loss("source_not_json"), 0) << value;
        EXPECT_EQ(run.loss("source_unreadable"), 2) << value;
    }
}

TEST_F(Kineto, AKeyThatIsDamagedCostsItsMember)
{
    for (const std::string damage : {R"("a" 5, )", R"("a"b: 5, )", R"("traceEvents" 5, )"})
        EXPECT_EQ(
            imported("{" + damage + R"("traceEvents": [)" + kernel(1, "10", "1") + "]}").activities.size(),
            1U)
            << damage;
}

TEST_F(Kineto, ACutFileSaysHowMuchOfItWasRead)
{
    std::vector<std::string> events;
    for (int i = 1; i <= 500; ++i)
        events.push_back(kernel(i * 7919 % 10007, std::to_string(10 * i), "1"));
    const std::string packed = gzipped(trace(events));
    const ImportedRun run = importedFiles({written(packed.substr(0, packed.size() / 4), "cut.json.gz")});
    EXPECT_GT(run.activities.size(), 20U);
    EXPECT_LT(run.activities.size(), 500U);
    EXPECT_EQ(run.loss("source_cut"), 1);
    EXPECT_EQ(run.loss("source_not_json"), 0) << "the event in which the text ends";
    const std::string size = std::to_string(packed.size() / 4);
    EXPECT_THAT(run.details.at("source_cut"),
                HasSubstr(" bytes of text, at byte " + size + " of the file's " + size));
    EXPECT_THAT(run.summary, HasSubstr("the file ends early (after "));
}

} // namespace tilescope::exchange
