// Traces that are cut, forged or no traces at all end in a run or in one sentence, and limits hold.

#include "core/exchange/import/kineto/json_splitter.h"
#include "tests/unit/exchange/kineto_fixture.h"

#include <gmock/gmock.h>

#include <random>

namespace tilescope::exchange {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

const std::string kRecord =
    trace({launch(5, "100"), kernel(5, "110", "1")},
          R"("deviceProperties": [{"id": 0, "name": "GPU"}], "baseTimeNanoseconds": 5)");

} // namespace

TEST_F(Kineto, CutAtAnyByteIsARunOrASentence)
{
    for (std::size_t length = 1; length < kRecord.size(); length += 7)
        EXPECT_THAT(refusalOf(kRecord.substr(0, length)), AnyOf(IsEmpty(), HasSubstr(";"))) << length;
}

TEST_F(Kineto, AnyChangedByteIsARunOrASentence)
{
    constexpr unsigned kSeed = 20261123;
    std::mt19937 random(kSeed);
    const std::string packed = gzipped(kRecord);
    for (int i = 0; i < 60; ++i) {
        std::string text = i % 3 == 0 ? packed : kRecord;
        for (int change = 0; change < 2; ++change)
            text[random() % text.size()] = static_cast<char>(random());
        refusalOf(text); // no crash and nothing but an Error
    }
}

TEST_F(Kineto, LimitsHold)
{
    const std::string open = R"({"traceEvents": [{"args": )";
    EXPECT_THAT(refusalOf(open + std::string(kMostDepth, '[')),
                HasSubstr("nested more than 64 deep at byte"));
    EXPECT_THAT(refusalOf(open + "\"" + std::string(kMostString + 10, 'x') + "\"}]}"),
                HasSubstr("a string of more than 16 MiB at byte"));
}

TEST_F(Kineto, DecompressionBombsAreRefused)
{
    constexpr std::size_t kText = std::size_t{80} << 20;
    const std::string bomb = gzipped(R"({"traceEvents": [)" + std::string(kText, ' '));
    ASSERT_LT(bomb.size() * kMostInflation, kText);
    EXPECT_THAT(refusalOf(bomb), HasSubstr("expands to more than 400 times its size"));
}

TEST_F(Kineto, WhatHasNoEventsIsASentence)
{
    EXPECT_THAT(refusalOf(R"({"schemaVersion": 1})"), HasSubstr("no list of traceEvents"));
    EXPECT_THAT(refusalOf(R"({"traceEvents": []})"), HasSubstr("no events"));
    EXPECT_THAT(refusalOf(R"({"traceEvents": [{x}, {y}]})"),
                HasSubstr("none of its events is valid JSON, from byte"));
    EXPECT_THAT(refusalOf(R"({"traceEvents" 1})"), HasSubstr("not a trace in JSON at byte"));
}

TEST_F(Kineto, DamageToAnEventCostsThatEventOnly)
{
    const ImportedRun run =
        imported(trace({kernel(1, "1", "1"), "7", "null", "{\"a\" 1}", "[1]", kernel(2, "3", "1"), "{}"}));
    EXPECT_EQ(run.activities.size(), 2U);
    EXPECT_EQ(run.loss("source_not_json"), 4);
}

TEST_F(Kineto, TextBehindTheTraceIsCounted)
{
    const std::string text = trace({kernel(1, "1", "1")});
    EXPECT_EQ(imported(text + " \n").loss("source_not_json"), 0);
    EXPECT_EQ(imported(text + "more").loss("source_not_json"), 1);
    // A second trace is read, and has the same activity.
    const ImportedRun twice = imported(text + text);
    EXPECT_EQ(twice.loss("source_not_json"), 0);
    EXPECT_EQ(twice.activities.size(), 1U);
}

TEST_F(Kineto, ManyPiecesHoldAllEvents)
{
    std::vector<std::string> events;
    constexpr int kEvents = 12000; // about 2 MB: several pieces
    for (int i = 1; i <= kEvents; ++i)
        events.push_back(kernel(i, std::to_string(10 * i), "1"));
    EXPECT_EQ(imported(trace(events)).activities.size(), std::size_t{kEvents});
}

} // namespace tilescope::exchange
