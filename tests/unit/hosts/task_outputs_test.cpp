// The events of tasks that run at the same time, as those of one sweep.

#include "core/hosts/task_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace tilescope::hosts {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Tasks : public ::testing::Test {
protected:
    std::string written;
    TaskOutputs tasks{3, 6, [this](std::string_view text) { written += text; }};

    void say(int task, const std::string& event, const std::string& more = "")
    {
        tasks.feed(task, R"({"event":")" + event + '"' + (more.empty() ? "" : "," + more) + "}\n");
    }
    void begin(int task, int index, int run)
    {
        say(task, "point", R"("index":)" + std::to_string(index) + R"(,"of":6,"run":)" + std::to_string(run));
    }
    void sample(int task, int run) { say(task, "sample", R"("step":1,"run":)" + std::to_string(run)); }
    void end(int task, int run) { say(task, "result", R"("status":"ok","run":)" + std::to_string(run)); }
    /// `point 1`: event and run of each line; of lines that are no events the text.
    std::vector<std::string> lines() const
    {
        std::vector<std::string> words;
        std::istringstream text(written);
        for (std::string line; std::getline(text, line);) {
            const auto event = nlohmann::json::parse(line, nullptr, false);
            words.push_back(event.is_object() ? event["event"].get<std::string>() +
                                                    (event.contains("run") ? " " + event["run"].dump() : "")
                                              : line);
        }
        return words;
    }
};

TEST_F(Tasks, EventsBelongToTheLastPointAndRunsHaveNumbersOfTheirOwn)
{
    begin(0, 0, 1);
    say(0, "state", R"("state":"measure","run":1)");
    begin(1, 1, 1);
    sample(1, 1);
    sample(0, 1);
    EXPECT_THAT(lines(), ElementsAre("point 1", "state 1", "sample 1")) << "the other point waits";
    written.clear();
    end(1, 1);
    EXPECT_THAT(lines(), ElementsAre("point 2", "sample 2", "result 2", "point 1", "state 1"))
        << "what ended meanwhile, then again what goes on";
    written.clear();
    begin(1, 4, 2);
    sample(0, 1);
    end(0, 1);
    EXPECT_THAT(lines(), ElementsAre("sample 1", "result 1", "point 3"));
    sample(1, 2);
    EXPECT_EQ(lines().back(), "sample 3") << "as it comes";
}

TEST_F(Tasks, GreetOnceAndCountAllPoints)
{
    for (int task = 0; task < 3; ++task) {
        say(task, "hello", R"("points":2)");
        begin(task, task, 1);
        end(task, 1);
        say(task, "done", R"("ok":1,"seconds":)" + std::to_string(task + 1));
        tasks.end(task);
    }
    tasks.finish();
    const auto hello = nlohmann::json::parse(written.substr(0, written.find('\n')));
    EXPECT_EQ(hello["points"], 6);
    const auto done = nlohmann::json::parse(written.substr(written.rfind('\n', written.size() - 2)));
    EXPECT_EQ(done["ok"], 3);
    EXPECT_EQ(done["seconds"], 3.0);
    EXPECT_EQ(lines().size(), 8u) << written;
}

TEST_F(Tasks, ATaskThatDiesDoesNotHoldTheOthers)
{
    begin(0, 0, 1);
    begin(1, 1, 1);
    end(1, 1);
    tasks.end(0);
    EXPECT_THAT(lines(), ElementsAre("point 1", "point 2", "result 2", "point 1"));
    begin(2, 2, 1);
    sample(2, 1);
    EXPECT_EQ(lines().back(), "sample 3");
}

TEST_F(Tasks, WhatIsNoEventIsPassedOn)
{
    tasks.feed(1, "a line of a library\n{\"event\":\"later\"}\n");
    EXPECT_THAT(written, HasSubstr("a line of a library\n{\"event\":\"later\"}\n"));
    begin(0, 0, 1);
    say(0, "result", R"("status":"unheard","run":1)");
    EXPECT_THAT(written, HasSubstr("unheard"));
}

TEST_F(Tasks, AnotherWatcherPassesNoPointOnTwice)
{
    begin(0, 0, 1);
    end(0, 1);
    begin(1, 1, 1);
    sample(1, 1);
    const std::string before = "{\"event\":\"hello\"}\n" + written + R"({"event":"sam)";
    std::string after;
    TaskOutputs again(3, 6, [&](std::string_view text) { after += text; });
    again.resume(before);
    EXPECT_EQ(after, "\n") << "ends the line that was cut off";
    again.feed(0, "{\"event\":\"hello\"}\n{\"event\":\"point\",\"index\":0,\"run\":1}\n"
                  "{\"event\":\"result\",\"status\":\"ok\",\"run\":1}\n");
    again.feed(1, "{\"event\":\"point\",\"index\":1,\"run\":1}\n"
                  "{\"event\":\"result\",\"status\":\"ok\",\"run\":1}\n");
    for (int task = 0; task < 3; ++task)
        again.end(task);
    again.finish();
    EXPECT_EQ(after.find("\"index\":0"), std::string::npos) << after;
    written = after.substr(1);
    EXPECT_THAT(lines(), ElementsAre("point 3", "result 3", "done"));
    EXPECT_THAT(after, HasSubstr("\"ok\":2")) << "all are counted";
}

} // namespace tilescope::hosts
