#include "core/session/protocol/event.h"

#include "core/base/error.h"
#include "core/model/text.h"
#include "tests/support/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::session {

namespace {

std::vector<Event> oneOfEach()
{
    return {HelloEvent{1, "tilescope", "0.1.0", "a.tscope", 3},
            HelloEvent{1, "tilescope-engine", "0.1.0", "a.tscope", 0, {{"auto", {"2.11.0", "NVIDIA H200"}}}},
            PointEvent{2, 3, 7, R"({"workload":"lm","d_head":64})"},
            StateEvent{7, "measure"},
            SampleEvent{7, 4, 1'234'567},
            ResultEvent{7, "ok", "", 1.25, {{1.0, 1.5}}, 10, 4096, 99, {"drift: +2 %", "busy-host: x"}},
            ResultEvent{8, "oom", "out of memory", {}, {}, 0, {}, 0},
            LossEvent{7, "ring_overflow", "warning", 12},
            MemoryEvent{1, 4, 1 << 20, std::nullopt, 3 << 20},
            MemoryEvent{1, 5, 1 << 20, 2 << 20, 3 << 20},
            CeilingsEvent{"cuda:0", 6},
            LogEvent{"warning", "a \"quoted\" text\nof two lines"},
            FatalEvent{"environment", "no GPU", "device: cuda", "use cpu"},
            DoneEvent{1, 2, 3, 4, 5, 6.5}};
}

} // namespace

TEST(Event, ReadsBackWhatItWrote)
{
    for (const Event& event : oneOfEach()) {
        const std::string line = toJsonLine(event);
        EXPECT_EQ(line.find('\n'), std::string::npos) << line;
        const std::optional<Event> read = parseEvent(line);
        ASSERT_TRUE(read) << line;
        EXPECT_EQ(read->index(), event.index()) << line;
        EXPECT_EQ(toJsonLine(*read), line);
    }
}

TEST(Event, KeepsToItsSchema)
{
    for (const Event& event : oneOfEach())
        EXPECT_THAT(testing::schemaOffences(toJsonLine(event),
                                            TILESCOPE_SOURCE_DIR "/resources/schema/events.schema.json"),
                    ::testing::IsEmpty())
            << toJsonLine(event);
}

TEST(Event, IgnoresKindsOfALaterVersion)
{
    EXPECT_FALSE(parseEvent(R"({"event":"forecast","run":1})"));
}

TEST(Event, RefusesInvalidLines)
{
    for (const char* line : {"", "hello", "[1]", "{}", R"({"event":7})", R"({"event":"ok")", "\xff\xfe"})
        EXPECT_THROW(parseEvent(line), Error) << line;
}

TEST(Event, FieldsOfAnotherTypeKeepTheirDefaults)
{
    const auto event = parseEvent(R"({"event":"result","run":"seven","status":3,"step_ms":null,"steps":2})");
    const auto& result = std::get<ResultEvent>(*event);
    EXPECT_EQ(result.run, 0);
    EXPECT_EQ(result.status, "");
    EXPECT_FALSE(result.stepMs);
    EXPECT_EQ(result.steps, 2);
}

TEST(Event, InvalidUtf8DoesNotBreakTheLine)
{
    const std::string line = toJsonLine(ResultEvent{1, "error", "last words: \xff\xfe", {}, {}, 0, {}, 0});
    EXPECT_EQ(std::get<ResultEvent>(*parseEvent(line)).reason, "last words: \uFFFD\uFFFD");
}

TEST(DoneEvent, CountsStatusesInWords)
{
    DoneEvent done;
    EXPECT_EQ(done.text(), "");
    for (const EnumWord<RunStatus>& status : enumWords<RunStatus>())
        done.add(status.value);
    done.add(RunStatus::Ok);
    EXPECT_EQ(done.text(), "2 ok, 1 out of memory, 1 skipped, 3 in error, 1 cancelled");
}

TEST(ResultEvent, TakesAnUnknownStatusForAnError)
{
    ResultEvent result;
    result.status = "oom";
    EXPECT_EQ(result.runStatus(), RunStatus::Oom);
    result.status = "melted";
    EXPECT_EQ(result.runStatus(), RunStatus::Error);
}

} // namespace tilescope::session
