#include "core/session/supervisor/supervisor.h"

#include "core/base/error.h"
#include "core/base/version.h"
#include "core/model/flags.h"
#include "core/store/run_reader.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>

namespace tilescope::session {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// A sweep in fake engines: `script` says what each point does (tests/fakes/fake_engine.cpp).
class Supervised : public ::testing::Test {
protected:
    void SetUp() override
    {
        setenv("FAKE_STARTS", (folder / "starts").c_str(), 1);
        unsetenv("FAKE_START");
        base.name = "sweep";
        base.steps = 3;
        options.file = folder / "a.tscope";
        options.engine = FAKE_ENGINE;
        // Long, so that a busy machine changes no verdict: a test of force shortens the one it is about, and
        // one that waited in vain for another ends with ctest's own limit.
        options.timeouts = {.startUp = 10min, .pastTimeout = 10min, .afterStop = 10min, .sealing = 10min};
    }

    /// As many points as the script has words.
    SweepOutcome run(const std::string& script)
    {
        setenv("FAKE_SCRIPT", script.c_str(), 1);
        std::vector<ExperimentSpec> specs(1 + std::ranges::count(script, ','), base);
        for (std::size_t i = 0; i < specs.size(); ++i)
            specs[i].seed = static_cast<std::int64_t>(i);
        if (firstTimeout)
            specs[0].timeoutSeconds = *firstTimeout;
        return runSweep(
            numbered(specs), options, [this](const Event& event) { take(event); }, stop.get_token());
    }

    void take(const Event& event)
    {
        events.push_back(event);
        if (onEvent)
            onEvent(event);
    }

    template <class Kind> std::vector<Kind> all() const
    {
        std::vector<Kind> found;
        for (const Event& event : events)
            if (const auto* kind = std::get_if<Kind>(&event))
                found.push_back(*kind);
        return found;
    }

    std::vector<std::string> statusesTold() const
    {
        std::vector<std::string> statuses;
        for (const ResultEvent& result : all<ResultEvent>())
            statuses.push_back(result.status);
        return statuses;
    }

    std::vector<RunStatus> statusesStored() const
    {
        std::vector<RunStatus> statuses;
        for (const store::RunRecord& record : store::RunReader(options.file).runs())
            statuses.push_back(record.result.status);
        return statuses;
    }

    std::size_t starts()
    {
        std::error_code error;
        const auto size = std::filesystem::file_size(folder / "starts", error);
        return error ? 0 : size;
    }

    testing::TemporaryFolder folder;
    SweepOptions options;
    ExperimentSpec base;
    std::optional<double> firstTimeout; ///< seconds, of the first point alone: the others need what they need
    std::stop_source stop;
    std::function<void(const Event&)> onEvent;
    std::vector<Event> events;
};

} // namespace

TEST_F(Supervised, EndsAfterThePointThatRunsAndTheRestRunsLater)
{
    std::stop_source pause;
    options.afterPoint = pause.get_token();
    onEvent = [&](const Event& event) {
        if (const auto* point = std::get_if<PointEvent>(&event); point && point->index == 1)
            pause.request_stop();
    };
    const SweepOutcome outcome = run("ok,ok,ok,ok");
    EXPECT_FALSE(outcome.cancelled);
    EXPECT_EQ(outcome.notBegun, 2);
    EXPECT_EQ(outcome.counts.ok, 2);
    EXPECT_THAT(statusesTold(), ElementsAre("ok", "ok"));
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Ok, RunStatus::Ok));
    EXPECT_EQ(run("ok,ok").notBegun, 2) << "nothing begins if it was requested before";
}

namespace {

/// Sweeps of points with three ranks.
class SupervisedRanks : public Supervised {
protected:
    void SetUp() override
    {
        Supervised::SetUp();
        base.workload = Workload::Lm;
        base.device = {DeviceRequest::Kind::Cpu};
        base.gpus = 3;
        base.parallel = Parallel::Ddp;
    }
};

/// The same in a Slurm job of two nodes, whose srun starts the program here.
class SupervisedNodes : public SupervisedRanks {
protected:
    void SetUp() override
    {
        SupervisedRanks::SetUp();
        const auto srun = folder / "srun";
        // Like the real one, it passes on SIGUSR1, kills the program at SIGTERM, and ends with its status.
        std::ofstream(srun) << R"(#!/bin/sh
[ "$1" = --relative=1 ] || exit 2
while case $1 in --*) ;; *) false ;; esac; do shift; done
exec 3<&0
"$@" <&3 &
program=$!
trap 'kill -USR1 $program' USR1
trap 'kill -KILL $program' TERM
while wait $program; code=$?; kill -0 $program 2>/dev/null; do :; done
exit $code
)";
        std::filesystem::permissions(srun, std::filesystem::perms::owner_all);
        set("PATH", folder.path().string() + ":" + std::getenv("PATH"));
        set("SLURM_NNODES", "2");
        set("SLURM_NODEID", "0");
        set("SLURM_TASKS_PER_NODE", "1,2");
    }
    void TearDown() override
    {
        for (const auto& [name, value] : before_)
            value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }

private:
    void set(const char* name, const std::string& value)
    {
        const char* present = std::getenv(name);
        before_.try_emplace(name, present ? std::optional<std::string>(present) : std::nullopt);
        setenv(name, value.c_str(), 1);
    }
    std::map<std::string, std::optional<std::string>> before_;
};

} // namespace

TEST_F(SupervisedNodes, BecomeProcessesOfOneRunOnOneClock)
{
    EXPECT_EQ(run("ok,ok").counts.ok, 2);
    const store::RunReader reader(options.file);
    ASSERT_EQ(reader.runs().size(), 2);
    const RunTopology topology = reader.topology(RunId{2});
    ASSERT_EQ(topology.processes.size(), 3);
    ASSERT_EQ(topology.clocks.size(), 2) << "one of each node";
    EXPECT_EQ(topology.clocks[0].offset, Nanoseconds(0));
    ASSERT_TRUE(topology.clocks[1].uncertainty);
    EXPECT_LE(std::chrono::abs(topology.clocks[1].offset), *topology.clocks[1].uncertainty)
        << "it is this host";
    std::set<std::int64_t> pids;
    for (int rank = 0; rank < 3; ++rank) {
        const TracedProcess& process = topology.processes[static_cast<std::size_t>(rank)];
        EXPECT_EQ(process.rank, rank);
        EXPECT_EQ(process.clock, ClockIndex{rank == 0 ? 0 : 1});
        pids.insert(process.pid);
    }
    EXPECT_EQ(pids.size(), 3);
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        EXPECT_EQ(entry.path().string().find("rank"), std::string::npos) << entry.path();
}

TEST_F(SupervisedNodes, EndWithTheRankThatDied)
{
    EXPECT_EQ(run("rank1,ok").counts.error, 1);
    EXPECT_THAT(statusesTold(), ElementsAre("error", "ok"));
    EXPECT_THAT(all<ResultEvent>().front().reason,
                ::testing::StartsWith("rank 1: the engine ended with SIGSEGV"));
}

TEST_F(SupervisedNodes, AreStoppedTogether)
{
    onEvent = [&](const Event& event) {
        if (std::holds_alternative<SampleEvent>(event))
            stop.request_stop();
    };
    base.steps = 1'000'000;
    EXPECT_TRUE(run("slow").cancelled);
    EXPECT_THAT(statusesTold(), ElementsAre("cancelled"));
}

TEST_F(SupervisedNodes, NeedATaskForEachRank)
{
    base.gpus = 4;
    EXPECT_THROW(run("ok"), Error);
}

TEST_F(SupervisedRanks, BecomeProcessesOfOneRun)
{
    EXPECT_EQ(run("ok").counts.ok, 1);
    const store::RunReader reader(options.file);
    ASSERT_EQ(reader.runs().size(), 1);
    const RunTopology topology = reader.topology(RunId{1});
    ASSERT_EQ(topology.processes.size(), 3);
    std::set<std::int64_t> pids;
    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(topology.processes[static_cast<std::size_t>(rank)].rank, rank);
        EXPECT_EQ(topology.processes[static_cast<std::size_t>(rank)].worldSize, 3);
        pids.insert(topology.processes[static_cast<std::size_t>(rank)].pid);
    }
    EXPECT_EQ(pids.size(), 3);
    base.gpus = 1;
    base.parallel = Parallel::None;
    EXPECT_EQ(run("ok").counts.ok, 1);
    const store::RunReader again(options.file);
    EXPECT_TRUE(again.topology(RunId{2}).empty());
    EXPECT_EQ(again.counts(RunId{1}).ranges, 3 * again.counts(RunId{2}).ranges);
    std::set<RangeId> ids;
    for (const Range& range : again.ranges({.run = RunId{1}}))
        ids.insert(range.id);
    EXPECT_EQ(static_cast<std::int64_t>(ids.size()), again.counts(RunId{1}).ranges);
}

TEST_F(SupervisedRanks, StoreEachFlagOnce)
{
    run("ok");
    const ResultEvent result = all<ResultEvent>().front();
    std::multiset<std::string> names;
    for (const std::string& flag : result.flags)
        names.emplace(flagName(flag));
    // Every rank of a development build sets this one.
    EXPECT_EQ(names.count("debug-build"), isReleaseBuild() ? 0 : 1);
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

TEST_F(SupervisedRanks, EndWithTheRankThatDied)
{
    EXPECT_EQ(run("rank1,ok").counts.error, 1);
    EXPECT_THAT(statusesTold(), ElementsAre("error", "ok"));
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Error, RunStatus::Ok));
    EXPECT_THAT(all<ResultEvent>().front().reason,
                ::testing::StartsWith("rank 1: the engine ended with SIGSEGV"));
}

TEST_F(SupervisedRanks, EndWithTheReasonOfTheRankThatFailed)
{
    EXPECT_EQ(run("failed1").counts.error, 1);
    EXPECT_EQ(all<ResultEvent>().front().reason, "rank 1: it failed");
    EXPECT_FALSE(hasFlag(all<ResultEvent>().front().flags, FlagKind::RankLost));
}

TEST_F(SupervisedRanks, AreStoppedTogether)
{
    onEvent = [&](const Event& event) {
        if (std::holds_alternative<SampleEvent>(event))
            stop.request_stop();
    };
    base.steps = 1'000'000;
    const SweepOutcome outcome = run("slow");
    EXPECT_TRUE(outcome.cancelled);
    EXPECT_THAT(statusesTold(), ElementsAre("cancelled"));
}

TEST_F(Supervised, ReportsTheMemoryHeldAfterTheStepsOfThePoint)
{
    run("ok");
    const auto memory = all<MemoryEvent>();
    ASSERT_EQ(memory.size(), 4U);
    EXPECT_EQ(memory[1].step, 0);
    EXPECT_EQ(memory[3].allocated, 66 << 20);
    EXPECT_FALSE(memory[3].reserved);
}

TEST_F(Supervised, CountersAreReadInTracedStepsUnlessTheIntervalIsZero)
{
    run("ok");
    options.counterInterval = 0ms;
    run("ok");
    const store::RunReader reader(options.file);
    const std::vector<CounterTrack> tracks = reader.counterTracks(RunId{1});
    const auto memory = std::ranges::find(tracks, "Resident memory", &CounterTrack::name);
    ASSERT_NE(memory, tracks.end());
    EXPECT_GE(memory->points.front().time, reader.span(RunId{1})->first) << "not before the trace";
    EXPECT_TRUE(reader.counterTracks(RunId{2}).empty());
}

TEST_F(Supervised, EveryFlagReachesTheFileAndTheEvents)
{
    run("flagged,lost");
    std::vector<std::string> names;
    for (const store::RunRecord& record : store::RunReader(options.file).runs())
        for (const std::string& flag : record.result.flags)
            names.emplace_back(flagName(flag));
    for (const FlagInfo& flag : kFlags)
        EXPECT_EQ(std::ranges::count(names, flag.name) > 0,
                  flag.kind != FlagKind::DevelopmentBuild || !isReleaseBuild())
            << flag.name;
    std::vector<std::string> flagged;
    for (const ResultEvent& result : all<ResultEvent>())
        for (const std::string& flag : result.flags)
            flagged.emplace_back(flagName(flag));
    EXPECT_EQ(flagged, names);
}

TEST_F(Supervised, ARunOfADevelopmentBuildSaysSo)
{
    run("ok");
    const auto results = all<ResultEvent>();
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(hasFlag(results[0].flags, FlagKind::DevelopmentBuild), !isReleaseBuild());
}

TEST_F(Supervised, AFlagThatNoRegistryHasIsAFault)
{
    try {
        run("misflagged");
        ADD_FAILURE() << "an unknown flag was stored";
    } catch (const Error& error) {
        EXPECT_THAT(error.what, HasSubstr("no-such-flag"));
    }
}

TEST_F(Supervised, APointThatTheDeviceCannotRunIsSkippedWithItsReason)
{
    setenv("FAKE_SCRIPT", "ok", 1);
    base.device.kind = DeviceRequest::Kind::Cpu;
    std::vector<ExperimentSpec> specs(3, base);
    specs[0].compile.kind = CompileRequest::Kind::Graph;
    specs[1].precision = Precision::Tf32;
    const SweepOutcome outcome = runSweep(
        numbered(specs), options, [this](const Event& event) { take(event); }, stop.get_token());
    EXPECT_EQ(outcome.counts.skipped, 2);
    EXPECT_EQ(outcome.counts.ok, 1);
    EXPECT_EQ(outcome.exitCode(), 0);
    const std::vector<store::RunRecord> runs = store::RunReader(options.file).runs();
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_EQ(runs[0].result.status, RunStatus::Skipped);
    EXPECT_EQ(runs[0].result.reason, "compile graph is a CUDA graph, and device is cpu");
    EXPECT_EQ(runs[0].result.device, "cpu");
    EXPECT_EQ(runs[1].result.reason, "precision tf32 is a format of GPUs, and device is cpu");
    EXPECT_EQ(all<ResultEvent>()[0].reason, runs[0].result.reason);
}

TEST_F(Supervised, OneEngineRunsAllPointsAndReportsThemInOrder)
{
    const SweepOutcome outcome = run("ok,ok,ok");
    EXPECT_EQ(outcome.exitCode(), 0);
    EXPECT_EQ(outcome.counts.ok, 3);
    EXPECT_EQ(starts(), 1U);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Ok, RunStatus::Ok, RunStatus::Ok));
    ASSERT_TRUE(std::holds_alternative<HelloEvent>(events.front()));
    EXPECT_EQ(std::get<HelloEvent>(events.front()).points, 3);
    ASSERT_TRUE(std::holds_alternative<DoneEvent>(events.back()));
    const auto points = all<PointEvent>();
    ASSERT_EQ(points.size(), 3U);
    for (std::size_t i = 0; i < points.size(); ++i) {
        EXPECT_EQ(points[i].index, static_cast<std::int64_t>(i));
        EXPECT_EQ(points[i].run, static_cast<std::int64_t>(i) + 1);
    }
    const auto results = all<ResultEvent>();
    EXPECT_EQ(results[0].steps, 3);
    EXPECT_EQ(results[0].records, 21);
    EXPECT_NEAR(*results[0].stepMs, 1.000001, 1e-9);
    EXPECT_FALSE(results[0].stepInterval) << "three steps have no interval";
    std::vector<std::string> states;
    for (const StateEvent& state : all<StateEvent>())
        if (state.run == 1)
            states.push_back(state.state);
    EXPECT_THAT(states, ElementsAre("warmup", "measure", "trace", "drain", "store"));
}

TEST_F(Supervised, APointThatKillsItsEngineIsMarkedAndTheSweepGoesOn)
{
    struct Case {
        const char* word;
        const char* reason;
    };
    for (const Case& c : {Case{"segv", "the engine ended with SIGSEGV (Segmentation fault)"},
                          Case{"abort", "the engine ended with SIGABRT (Aborted)"},
                          Case{"kill", "SIGKILL (Killed), perhaps because the machine ran out of memory"},
                          Case{"exit", "exit code 7: first line | CUDA error: an illegal memory access"},
                          Case{"partial", "exit code 7"}}) {
        SCOPED_TRACE(c.word);
        std::filesystem::remove(options.file);
        std::filesystem::remove(folder / "starts");
        events.clear();
        const SweepOutcome outcome = run(std::string("ok,") + c.word + ",ok");
        EXPECT_EQ(outcome.exitCode(), 3);
        EXPECT_EQ(starts(), 2U);
        EXPECT_THAT(statusesTold(), ElementsAre("ok", "error", "ok"));
        EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Ok, RunStatus::Error, RunStatus::Ok));
        const auto dead = store::RunReader(options.file).run(RunId{2});
        EXPECT_THAT(dead->result.reason, HasSubstr(c.reason));
        EXPECT_EQ(all<ResultEvent>()[1].reason, dead->result.reason);
        // What it had measured before it died was committed when its state changed.
        EXPECT_FALSE(store::RunReader(options.file).samples(RunId{2}).empty());
    }
}

TEST_F(Supervised, ThreeDeathsRunningEndTheSweep)
{
    const SweepOutcome outcome = run("ok,segv,ok,segv,abort,segv,ok,ok");
    EXPECT_EQ(outcome.exitCode(), 3);
    EXPECT_THAT(statusesTold(), ElementsAre("ok", "error", "ok", "error", "error", "error"));
    EXPECT_THAT(all<LogEvent>().back().text, HasSubstr("died 3 times in a row; 2 points were not run"));
}

TEST_F(Supervised, AHangIsEndedByForceAfterItsTimeout)
{
    firstTimeout = 0.5;
    options.timeouts.pastTimeout = 300ms;
    EXPECT_EQ(run("hang,ok").exitCode(), 3);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Error, RunStatus::Ok));
    EXPECT_THAT(all<ResultEvent>()[0].reason, HasSubstr("timed out after 0.5 s"));
}

TEST_F(Supervised, AStepThatEndsAfterTheTimeoutKeepsItsEngine)
{
    firstTimeout = 0.3;
    base.steps = 10'000;
    EXPECT_EQ(run("slow,ok").exitCode(), 3);
    EXPECT_EQ(starts(), 1U);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Error, RunStatus::Ok));
    EXPECT_THAT(all<ResultEvent>()[0].reason, HasSubstr("timed out after 0.3 s; its steps so far are kept"));
    EXPECT_GE(store::RunReader(options.file).samples(RunId{1}).size(), 2U)
        << "the warm-up, and a step at least";
}

TEST_F(Supervised, ATimeoutOfTheCompilerNamesTheCommandThatCompilesBefore)
{
    firstTimeout = 0.3;
    EXPECT_EQ(run("compile,ok").exitCode(), 3);
    EXPECT_EQ(starts(), 1U);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Error, RunStatus::Ok));
    EXPECT_EQ(all<ResultEvent>()[0].reason,
              "timed out after 0.3 s; its model was being compiled, so run tilescope compile SPEC first");
}

TEST_F(Supervised, IgnoresGarbageAndOverlongLines)
{
    EXPECT_EQ(run("garbage,ok").exitCode(), 0);
    EXPECT_EQ(starts(), 1U);
    EXPECT_THAT(all<LogEvent>().front().text, HasSubstr("not an event"));
}

TEST_F(Supervised, AFloodEndsWithThePointsTimeout)
{
    firstTimeout = 0.5;
    options.timeouts.pastTimeout = 300ms; // it reads no request
    EXPECT_EQ(run("flood,ok").exitCode(), 3);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Error, RunStatus::Ok));
    EXPECT_LT(all<LogEvent>().size(), 1200U) << "a flood of log events is thinned out";
}

TEST_F(Supervised, ALostDeviceGetsAFreshEngine)
{
    EXPECT_EQ(run("lost,ok").exitCode(), 3);
    EXPECT_EQ(starts(), 2U);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Error, RunStatus::Ok));
    EXPECT_EQ(all<ResultEvent>()[0].reason, "the device failed");
}

TEST_F(Supervised, IsolationByProcessStartsAnEngineForEachPoint)
{
    base.isolate = Isolation::Process;
    EXPECT_EQ(run("ok,ok,ok").exitCode(), 0);
    EXPECT_EQ(starts(), 3U);
}

TEST_F(Supervised, AStopFinishesTheStepAndCommits)
{
    base.steps = 10'000;
    onEvent = [this](const Event& event) {
        if (const auto* sample = std::get_if<SampleEvent>(&event); sample && sample->step == 5)
            stop.request_stop();
    };
    const SweepOutcome outcome = run("slow,ok");
    EXPECT_EQ(outcome.exitCode(), 130);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Cancelled));
    EXPECT_GE(store::RunReader(options.file).samples(RunId{1}).size(), 6U);
    EXPECT_EQ(store::RunReader(options.file).run(RunId{1})->result.reason, "stopped on request");
}

TEST_F(Supervised, AStopEndsAHangAfterTheGracePeriod)
{
    options.timeouts.afterStop = 300ms;
    onEvent = [this](const Event& event) {
        if (std::holds_alternative<SampleEvent>(event))
            stop.request_stop();
    };
    EXPECT_EQ(run("hang,ok").exitCode(), 130);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Cancelled));
}

TEST_F(Supervised, ASecondStopKillsAtOnce)
{
    std::stop_source atOnce;
    options.atOnce = atOnce.get_token();
    onEvent = [&](const Event& event) {
        if (std::holds_alternative<SampleEvent>(event)) {
            stop.request_stop();
            atOnce.request_stop();
        }
    };
    EXPECT_EQ(run("hang,ok").exitCode(), 130);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Cancelled));
    EXPECT_THAT(all<ResultEvent>()[0].reason, HasSubstr("stopped at once"));
}

TEST_F(Supervised, AStopBeforeTheFirstPointRunsNothing)
{
    stop.request_stop();
    EXPECT_EQ(run("ok,ok").exitCode(), 130);
    EXPECT_TRUE(all<PointEvent>().empty());
}

TEST_F(Supervised, MissingHardwareIsReportedBeforeAnythingIsStored)
{
    base.device = {DeviceRequest::Kind::Cuda};
    try {
        run("ok");
        FAIL() << "it ran";
    } catch (const Error& error) {
        EXPECT_EQ(error.exitCode(), 4);
        EXPECT_EQ(error.sentence(), "device: cuda: no usable NVIDIA GPU on this machine; use device: cpu");
    }
    EXPECT_FALSE(std::filesystem::exists(options.file));
}

TEST_F(Supervised, AForeignFileIsRefusedAndLeftAlone)
{
    std::ofstream(options.file) << "shopping list";
    EXPECT_THROW(run("ok"), Error);
    EXPECT_EQ(starts(), 0U);
    EXPECT_EQ(std::filesystem::file_size(options.file), 13U);
}

TEST_F(Supervised, AnEngineThatNeverStartsEndsTheSweepWithThePointMarked)
{
    setenv("FAKE_START", "crash", 1);
    EXPECT_EQ(run("ok,ok").exitCode(), 3);
    EXPECT_EQ(starts(), 3U);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Error));
    EXPECT_THAT(all<ResultEvent>()[0].reason, HasSubstr("SIGSEGV"));
}

TEST_F(Supervised, AnEngineOfAnotherVersionIsRefused)
{
    setenv("FAKE_START", "version", 1);
    try {
        run("ok");
        FAIL() << "it ran";
    } catch (const Error& error) {
        EXPECT_EQ(error.exitCode(), 4);
        EXPECT_THAT(error.sentence(), HasSubstr("the engine has version 9.9"));
    }
}

TEST_F(Supervised, AnEngineThatIsNotThereIsNamed)
{
    options.engine = folder / "no-engine";
    try {
        run("ok");
        FAIL() << "it ran";
    } catch (const Error& error) {
        EXPECT_EQ(error.exitCode(), 4);
        EXPECT_THAT(error.sentence(), HasSubstr("no-engine: cannot be started"));
    }
}

} // namespace tilescope::session
