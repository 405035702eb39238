#include "core/session/supervisor/child_process.h"

#include "core/base/error.h"
#include "core/session/supervisor/engine_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace tilescope::session {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

namespace {

constexpr auto kTimeout = 90s; // on a machine that others keep busy

/// Runs `script` in a shell as if it were an engine, until it has ended.
struct Ran {
    std::vector<Event> events;
    ExitStatus exit;
    std::string lastWords;
};

Ran runShell(const std::string& script, const std::map<std::string, std::string>& environment = {})
{
    EngineProcess process("/bin/sh", {"-c", script}, environment);
    process.closeInput();
    Ran ran;
    const SteadyTime giveUp = std::chrono::steady_clock::now() + kTimeout;
    while (!process.ended() && std::chrono::steady_clock::now() < giveUp)
        process.pump(giveUp, -1, [&](Event&& event) { ran.events.push_back(std::move(event)); });
    ran.exit = process.exit();
    ran.lastWords = process.lastWords();
    return ran;
}

} // namespace

TEST(EngineProcess, ReportsHowItEnded)
{
    EXPECT_EQ(runShell("exit 7").exit.text(), "exit code 7");
    EXPECT_EQ(runShell("kill -SEGV $$").exit.text(), "SIGSEGV (Segmentation fault)");
}

TEST(EngineProcess, HandsOnEventsAndSwallowsGarbageWithAWord)
{
    const Ran ran = runShell(R"(echo '{"event":"state","run":1,"state":"warmup"}'; echo nonsense; )"
                             R"(printf '{"event":"log","level":"info","text":"no line break"}')");
    ASSERT_EQ(ran.events.size(), 3U);
    EXPECT_EQ(std::get<StateEvent>(ran.events[0]).state, "warmup");
    EXPECT_THAT(std::get<LogEvent>(ran.events[1]).text, HasSubstr("nonsense"));
    EXPECT_EQ(std::get<LogEvent>(ran.events[2]).text, "no line break");
}

TEST(EngineProcess, KeepsTheLastWordsOnly)
{
    const Ran ran =
        runShell("i=0; while [ $i -lt 5000 ]; do echo line $i >&2; i=$((i+1)); done; echo last >&2");
    EXPECT_TRUE(ran.lastWords.ends_with("line 4998 | line 4999 | last")) << ran.lastWords;
    EXPECT_LT(ran.lastWords.size(), 500U);
}

TEST(EngineProcess, EndsThoughAChildOfItsOwnKeepsItsPipesOpen)
{
    // The child outlives all timeouts: only an engine that is not waited for together with it ends in time.
    const Ran ran = runShell("sleep 600 & echo $! >&2; exit 3");
    EXPECT_EQ(ran.exit.code, 3);
    const pid_t child = std::stoi(ran.lastWords);
    EXPECT_EQ(kill(child, SIGKILL), 0) << "it still ran";
}

TEST(EngineProcess, GivesTheChildItsEnvironmentAndUnblockedSignals)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, nullptr);
    const Ran ran = runShell("echo $FLAVOUR >&2; kill -TERM $$; sleep 5", {{"FLAVOUR", "sour"}});
    pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
    EXPECT_EQ(ran.lastWords, "sour");
    EXPECT_EQ(ran.exit.signal, SIGTERM);
}

TEST(ChildProcess, SaysWhatCannotBeStarted)
{
    try {
        const ChildProcess child("/no/such/engine", {}, {});
        FAIL() << "it started";
    } catch (const Error& error) {
        EXPECT_EQ(error.exitCode(), 4);
        EXPECT_THAT(error.sentence(),
                    HasSubstr("/no/such/engine: cannot be started (No such file or directory)"));
    }
}

} // namespace tilescope::session
