// `tilescope record` with a program that uses a CUPTI without a GPU.

#include "core/base/number_text.h"
#include "tests/unit/cli/record_fixture.h"

#include <chrono>
#include <csignal>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

namespace tilescope {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using testing::Program;
using testing::ProgramResult;

class Record : public RecordTest {};

TEST_F(Record, StoresKernelsAndRangesAndPassesOutputAndExitCodeOn)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "exit"});
    EXPECT_EQ(result.code, 7) << result.err;
    EXPECT_EQ(result.out, "three steps\n");
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"gemm", 3}, {"softmax", 3}}));
    EXPECT_THAT(rangePaths(), IsSupersetOf({"step/forward", "step/registered", "step/upload"}));
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
}

TEST_F(Record, TakesOperatorsFromPyTorchsRangesOfNvtx)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "ops"}).code, 0);
    std::set<std::string> names;
    for (const json& row : show({"ops"}))
        names.insert(row.at("name"));
    EXPECT_EQ(names, (std::set<std::string>{"MmBackward0", "aten::mm"}));
    const std::string sql = "select n.text, s.text from kernel k join op o on o.id = k.op "
                            "join string n on n.id = o.name left join string s on s.id = o.shapes order by 1";
    const ProgramResult kernels = run({TILESCOPE_PROGRAM, "sql", "t.tscope", sql, "--format", "csv"});
    EXPECT_THAT(kernels.out, HasSubstr("\"[4, 8] [8, 2]\"")) << kernels.err;
    EXPECT_THAT(kernels.out, HasSubstr("MmBackward0"));
}

TEST_F(Record, StoresCollectivesFromTheCallsAndKernelsOfNccl)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "nccl"}, {{"RANK", "0"}, {"WORLD_SIZE", "2"}}).code, 0);
    const std::string sql =
        "select o.text, g.text, c.bytes, c.device is not null, c.duration > 0 from collective c "
        "join string o on o.id = c.op join string g on g.id = c.grp";
    const ProgramResult rows = run({TILESCOPE_PROGRAM, "sql", "t.tscope", sql, "--format", "csv"});
    EXPECT_THAT(rows.out, HasSubstr("all_reduce,0x00000000000000ab,4096,1,1")) << rows.err;
}

TEST_F(Record, KernelsOfAReplayBelongToWhereTheGraphWasCaptured)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "graph"}).code, 0);
    EXPECT_EQ(kernelCounts()["captured"], 3);
    const std::string sql =
        "select p.text as path, r.text as launched from kernel k join string n on n.id = k.name "
        "join string p on p.id = k.path join range q on q.id = k.range "
        "join string r on r.id = q.name where n.text = 'captured'";
    const ProgramResult rows = run({TILESCOPE_PROGRAM, "sql", "t.tscope", sql, "--format", "csv"});
    EXPECT_THAT(rows.out, HasSubstr("step/module,replays")) << rows.err;
    EXPECT_FALSE(environment().contains("record.graphs"));
    // Compare asks whether the host was busy.
    EXPECT_TRUE(parseNumber<double>(environment()["load"])) << environment()["load"];
    EXPECT_EQ(environment()["cpu.threads"], std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
}

TEST_F(Record, RecordsReplaysAsWholesAndSaysSo)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "graph"}, {}, {"--graphs", "graph"}).code, 0);
    const auto counts = kernelCounts();
    EXPECT_THAT(counts, Contains(Pair("CUDA graph 2", 3)));
    EXPECT_THAT(counts, Contains(Pair("gemm", 3)));
    EXPECT_FALSE(counts.contains("captured"));
    EXPECT_THAT(environment()["record.graphs"], HasSubstr("a replay of a CUDA graph is one kernel"));
    EXPECT_TRUE(show({"losses"}).empty());
}

TEST_F(Record, AddsARunToAnExistingFile)
{
    ASSERT_EQ(record({RECORDED_PROGRAM}).code, 0);
    const ProgramResult second = record({RECORDED_PROGRAM});
    EXPECT_EQ(second.code, 0);
    EXPECT_THAT(second.err, HasSubstr("run 2 of t.tscope"));
}

TEST_F(Record, KeepsWhatAKilledProgramDidBefore)
{
    for (const auto& [end, signal] : {std::pair{"kill", SIGKILL}, {"crash", SIGSEGV}}) {
        fs::remove(folder_.path() / "t.tscope");
        const ProgramResult result = record({RECORDED_PROGRAM, end});
        EXPECT_EQ(result.code, -signal);
        EXPECT_EQ(kernelCounts()["gemm"], 3) << end;
        EXPECT_THAT(result.err, HasSubstr("signal " + std::to_string(signal)))
            << "the signal that killed it is named";
        EXPECT_EQ(losses(), (std::map<std::string, int>{{"source_cut", 1}})) << end;
    }
}

TEST_F(Record, EndsAfterCuptiWasTornDown)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "torn down"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"gemm", 3}, {"softmax", 3}}));
    EXPECT_THAT(losses(), Contains(Pair("cupti_not_flushed", 1)));
}

/// The program sees no handler of the recorder, so that nothing is written when the signal arrives.
TEST_F(Record, KeepsWhatATerminatedProgramDidBefore)
{
    for (const int signal : {SIGHUP, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM}) {
        fs::remove(folder_.path() / "t.tscope");
        const ProgramResult result = record({RECORDED_PROGRAM, "signal", std::to_string(signal)});
        EXPECT_EQ(result.code, -signal);
        EXPECT_EQ(kernelCounts()["softmax"], 3);
        EXPECT_THAT(environment()["record.ended"], HasSubstr("signal " + std::to_string(signal) + " ("));
    }
}

TEST_F(Record, SaysThatAProgramEndedWithoutExitAndNotThatItWasKilled)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "_exit"});
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, AnyOf(HasSubstr("ended without exit(), with exit status 3"),
                                  HasSubstr("nothing was recorded")))
        << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("killed")));
}

TEST_F(Record, RecordsAProgramThatEndsByQuickExit)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "quick_exit"});
    EXPECT_EQ(result.code, 3);
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"gemm", 3}, {"softmax", 3}}));
    EXPECT_TRUE(losses().empty()) << result.err;
}

TEST_F(Record, TouchesNoDescriptorOfTheProgram)
{
    fs::create_directory(folder_.path() / "files");
    for (const bool isRefused : {false, true}) {
        fs::remove(folder_.path() / "t.tscope");
        std::vector<std::string> words{RANDOM_DESCRIPTORS, "17", "300", (folder_.path() / "files").string()};
        if (isRefused) // the kernel lets no thread have a table of its own
            words.emplace_back("refuse");
        const ProgramResult result = record(words);
        EXPECT_EQ(result.code, 0) << isRefused << result.err;
        EXPECT_EQ(result.out, "300 rounds, 0 wrong\n") << isRefused;
        EXPECT_THAT(rangePaths(), Contains("step/forward")) << isRefused << result.err;
        EXPECT_EQ(show({"losses"}), json::array()) << isRefused;
    }
}

/// The lines of a file, without the variables by which the recorder is loaded.
std::vector<std::string> factsIn(const fs::path& file)
{
    std::vector<std::string> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (!line.starts_with("variable CUDA_INJECTION64_PATH=") &&
            !line.starts_with("variable NVTX_INJECTION64_PATH=") &&
            !line.starts_with("variable TILESCOPE_RECORD_") && !line.starts_with("variable PYTHONPATH="))
            lines.push_back(line);
    return lines;
}

TEST_F(Record, LeavesEverythingThatAProgramSeesAsItIs)
{
    for (const std::string before : {"true", "trap '' HUP INT QUIT TERM USR1 USR2 PIPE XFSZ CHLD", "exec <&-",
                                     "exec >&-", "exec 2>&-", "exec <&- >&- 2>&-", "ulimit -n 40",
                                     "ulimit -c 0", "ulimit -f 100", "umask 077", "exec 7</dev/null 9>&1"}) {
        std::map<std::string, std::vector<std::string>> facts;
        std::map<std::string, ProgramResult> results;
        for (const std::string recorder : {"", TILESCOPE_PROGRAM " record -o t.tscope -- "}) {
            results[recorder] =
                run({"/bin/sh", "-c", before + "; exec " + recorder + VISIBLE_FACTS + " facts"});
            facts[recorder] = factsIn(folder_.path() / "facts");
        }
        const auto& [bare, recorded] = std::pair(results.begin()->second, results.rbegin()->second);
        EXPECT_EQ(bare.code, recorded.code) << before;
        EXPECT_EQ(bare.out, recorded.out) << before;
        EXPECT_EQ(facts.begin()->second, facts.rbegin()->second) << before;
        EXPECT_GT(facts.begin()->second.size(), 100U);
    }
}

TEST_F(Record, PassesSignalsOnAndKeepsTheRecording)
{
    Program program({TILESCOPE_PROGRAM, "record", "-o", "t.tscope", "--", RECORDED_PROGRAM, "wait"},
                    folder_.path());
    ASSERT_TRUE(program.waitFor("three steps"));
    usleep(500'000); // the recorder asks CUPTI for its records every tenth of a second
    kill(program.pid(), SIGINT);
    EXPECT_EQ(program.wait().code, -SIGINT);
    EXPECT_EQ(kernelCounts()["gemm"], 3);
}

// The program has the signals of its group itself: a second one would be a second request.
TEST_F(Record, ASignalToTheWholeGroupReachesTheProgramOnce)
{
    const std::string program = "import os, signal, time\n"
                                "got = []\n"
                                "signal.signal(signal.SIGTERM, lambda *_: got.append(1))\n"
                                "print('ready', flush=True)\n"
                                "while not got: time.sleep(0.01)\n"
                                "time.sleep(0.5)\n"
                                "print('got', len(got), flush=True)\n";
    const std::string file = script("signals.py", program);
    for (const std::string to : {"-- -$p", "$p"}) {
        const std::string command =
            "rm -f out; setsid " TILESCOPE_PROGRAM " record -o t.tscope -- " PYTHON_PROGRAM " " + file +
            " >out & p=$!; until grep -q ready out; do sleep 0.05; done; kill -TERM " + to +
            "; wait $p; code=$?; cat out; exit $code";
        const ProgramResult result = run({"/bin/bash", "-c", command});
        EXPECT_EQ(result.code, 0) << to << result.err;
        EXPECT_THAT(result.out, HasSubstr("got 1\n")) << to;
    }
}

TEST_F(Record, PassesTheExitStatusWhateverItsCallerIgnores)
{
    const std::string exits = "exec " TILESCOPE_PROGRAM " record -o t.tscope -- /bin/sh -c 'exit 3'";
    EXPECT_EQ(run({"/bin/sh", "-c", "trap '' CHLD; " + exits}).code, 3);
    // Nobody reads its sentences.
    EXPECT_EQ(run({"/bin/bash", "-c", "( " + exits + " ) 2>&1 | true; exit ${PIPESTATUS[0]}"}).code, 3);
}

TEST_F(Record, KeepsTheStepsAskedFor)
{
    ASSERT_EQ(record({RECORDED_PROGRAM}, {}, {"--steps", "1:1"}).code, 0);
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"gemm", 1}, {"softmax", 1}}));
    EXPECT_THAT(environment(), Contains(Pair("record.part", "steps 1 to 1")));
}

TEST_F(Record, StartsWithTheFirstRangeOfAName)
{
    ASSERT_EQ(record({RECORDED_PROGRAM}, {}, {"--from", "registered"}).code, 0);
    // The first step's gemm comes before.
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"gemm", 2}, {"softmax", 3}}));
}

TEST_F(Record, HonoursTheProfilerApi)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "profiler"}, {}, {"--from", "profiler-api"}).code, 0);
    EXPECT_EQ(kernelCounts()["gemm"], 2);
}

TEST_F(Record, StoresCallsOfCudaWithFullTracing)
{
    const auto calls = [this](const char* trace) {
        EXPECT_EQ(record({RECORDED_PROGRAM}, {}, {"--trace", trace}).code, 0);
        const ProgramResult count =
            run({TILESCOPE_PROGRAM, "sql", "t.tscope",
                 "select count(*) as calls from api_call where run = (select max(run) from api_call)",
                 "--format", "csv"});
        return count.out;
    };
    EXPECT_THAT(calls("kernels"), HasSubstr("calls\r\n0"));
    EXPECT_THAT(calls("full"), Not(HasSubstr("calls\r\n0")));
}

TEST_F(Record, WaitsForTheDelay)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "many"}, {}, {"--delay", "0.5"}).code, 0);
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"many", 2000}}));
}

TEST_F(Record, EndsAfterSoManySeconds)
{
    Program program(
        {TILESCOPE_PROGRAM, "record", "-o", "t.tscope", "--seconds", "2", "--", RECORDED_PROGRAM, "watched"},
        folder_.path());
    EXPECT_TRUE(program.waitFor("CUPTI left 1 times")) << "the program still runs";
    script("end", "");
    EXPECT_EQ(program.wait().code, 0);
    EXPECT_THAT(environment(), Contains(Pair("record.part", "at most 2 s")));
}

TEST_F(Record, StopsAndStartsOnRequest)
{
    const std::map<std::string, std::string> folder{{"XDG_RUNTIME_DIR", folder_.path().string()}};
    Program program({TILESCOPE_PROGRAM, "record", "-o", "t.tscope", "--", RECORDED_PROGRAM, "watched"},
                    folder_.path(), folder);
    ASSERT_TRUE(program.waitFor("turn 0"));
    const auto tell = [&](const std::string& verb) {
        return run({TILESCOPE_PROGRAM, "record", verb, std::to_string(program.pid())}, folder);
    };
    const fs::path sockets = folder_.path() / "tilescope-record";
    for (const auto& entry : fs::directory_iterator(sockets))
        EXPECT_EQ(fs::status(entry.path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    const ProgramResult stopped = tell("--stop");
    EXPECT_EQ(stopped.code, 0) << stopped.err;
    EXPECT_THAT(stopped.out, HasSubstr("is not recorded any more"));
    EXPECT_TRUE(program.waitFor("CUPTI left 1 times")) << "nothing of CUPTI stays in the program";
    const ProgramResult started = tell("--start");
    EXPECT_EQ(started.code, 0) << started.err;
    EXPECT_THAT(started.out, HasSubstr("is recorded"));
    script("end", "");
    EXPECT_EQ(program.wait().code, 0);
    EXPECT_THAT(rangePaths(), Contains("step/forward"));
    // CUPTI's correlation ids began anew: each kernel has its own launch all the same.
    EXPECT_EQ(show({"losses"}), json::array());
    EXPECT_FALSE(fs::exists(sockets));
    const ProgramResult late = tell("--stop");
    EXPECT_EQ(late.code, 2);
    EXPECT_THAT(late.err, HasSubstr("no process with this number is recorded"));
}

/// Runs as another user, in a folder that everybody may use. A socket that everybody may connect to stands for one whose
/// mode is not respected.
constexpr const char* kStranger = R"(
import os, pathlib, socket, sys
os.chdir(sys.argv[1])
os.setgid(65534)
os.setuid(65534)
if sys.argv[2] == 'connect':
    with socket.socket(socket.AF_UNIX) as speaker:
        speaker.connect(next(iter(pathlib.Path('.').glob('*.socket'))).name)
        try:
            speaker.sendall(b'tilescope record 1 stop\n')
            print('answer:', speaker.recv(256))
        except OSError:
            print('refused')
else:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind('1-4242.socket')
        listener.listen()
        print('listens', flush=True)
        peer, _ = listener.accept()
        print('was told:', peer.recv(256))
)";

TEST_F(Record, RefusesToSpeakWithOtherUsers)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can become another user";
    const std::map<std::string, std::string> folder{{"XDG_RUNTIME_DIR", folder_.path().string()}};
    const fs::path sockets = folder_.path() / "tilescope-record";
    const std::string stranger = script("stranger.py", kStranger);
    Program program({TILESCOPE_PROGRAM, "record", "-o", "t.tscope", "--", RECORDED_PROGRAM, "watched"},
                    folder_.path(), folder);
    ASSERT_TRUE(program.waitFor("turn 0"));
    fs::permissions(sockets, fs::perms::all);
    for (const auto& entry : fs::directory_iterator(sockets))
        fs::permissions(entry.path(), fs::perms::all);
    const ProgramResult connected = run({PYTHON_PROGRAM, stranger, sockets.string(), "connect"});
    EXPECT_THAT(connected.out, ::testing::AnyOf("refused\n", "answer: b''\n")) << connected.err;
    Program listener({PYTHON_PROGRAM, stranger, sockets.string(), "listen"}, folder_.path());
    ASSERT_TRUE(listener.waitFor("listens"));
    const ProgramResult told = run({TILESCOPE_PROGRAM, "record", "--stop", "4242"}, folder);
    EXPECT_THAT(told.err, HasSubstr("it belongs to another user"));
    EXPECT_EQ(listener.wait().out, "listens\nwas told: b''\n");
    script("end", "");
    const ProgramResult ended = program.wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, Not(HasSubstr("CUPTI left 1 times"))) << "it was recorded to its end";
}

TEST_F(Record, RefusesPartsThatContradictEachOther)
{
    for (const auto& options : std::vector<std::vector<std::string>>{{"--steps", "2:1"},
                                                                     {"--steps", "x"},
                                                                     {"--delay", "-1"},
                                                                     {"--seconds", "0"},
                                                                     {"--steps", "1:2", "--from", "a"},
                                                                     {"--start", "1"}})
        EXPECT_EQ(record({"true"}, {}, options).code, 2) << options.front();
}

// The program waits until the thread that reads counters is there; it has read them once then.
TEST_F(Record, ReadsCountersOfTheProgramAndOfTheGpuThatItUses)
{
    const std::vector<std::string> program{
        "sh", "-c",
        "while [ $(ls /proc/$PPID/task | wc -l) -lt 2 ]; do sleep 0.01; done; exec " RECORDED_PROGRAM};
    ASSERT_EQ(record(program, {{"LD_LIBRARY_PATH", FAKE_NVML_FOLDER}}).code, 0);
    std::map<std::string, json> devices;
    for (const json& row : show({"counters"}))
        devices[row.at("name")] = row.at("device");
    EXPECT_EQ(devices.at("SM clock"), 0);
    EXPECT_TRUE(devices.at("Resident memory").is_null());
    for (const auto& [name, device] : devices)
        EXPECT_NE(device, 1) << name << " of a GPU that the program does not use";
    ASSERT_EQ(record({RECORDED_PROGRAM}, {}, {"--counter-interval", "0"}).code, 0);
    EXPECT_TRUE(show({"counters"}).empty());
    EXPECT_EQ(record({RECORDED_PROGRAM}, {}, {"--counter-interval", "fast"}).code, 2);
}

TEST_F(Record, SamplesMetricsWithTheCuptiOfTheProgram)
{
    const std::map<std::string, std::string> driver{{"LD_LIBRARY_PATH", FAKE_DRIVER_FOLDER}};
    const ProgramResult result = record({RECORDED_PROGRAM, "many"}, driver,
                                        {"--metrics=sm_active,dram_read", "--metrics-interval", "1 ms"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "three steps\n");
    EXPECT_THAT(result.err, HasSubstr("2 metrics of GPU 0 every 1.00 ms: "));
    EXPECT_EQ(environment()["metrics.dram_peak"], "4000000000000");
    const std::string sql =
        "select name, unit, device, sum(samples) > 100 as many, min(mean), max(mean) from counter_tracks "
        "where name in ('SM active', 'DRAM read') group by name order by name";
    const ProgramResult rows = run({TILESCOPE_PROGRAM, "sql", "t.tscope", sql, "--format", "csv"});
    EXPECT_THAT(rows.out, HasSubstr("DRAM read,%,0,1,20")) << rows.err << result.err;
    EXPECT_THAT(rows.out, HasSubstr("SM active,%,0,1,60.01"));
    const json metrics = show({"metrics"});
    ASSERT_FALSE(metrics.empty());
    EXPECT_EQ(metrics[0].at("metric"), "sm_active");
    EXPECT_TRUE(metrics[0].at("mean").is_null()) << "the kernels are shorter than the samples";
    EXPECT_EQ(metrics[0].at("interval_ns"), 1'000'000);
}

TEST_F(Record, RecordsEverythingElseWhereMetricsCannotBeSampled)
{
    const ProgramResult noDriver = record({RECORDED_PROGRAM}, {}, {"--metrics"});
    EXPECT_EQ(noDriver.code, 0);
    EXPECT_THAT(noDriver.err, HasSubstr("no metrics were sampled: "));
    EXPECT_EQ(kernelCounts()["gemm"], 3);
    EXPECT_TRUE(show({"metrics"}).empty());
    const ProgramResult refused =
        record({RECORDED_PROGRAM, "many"},
               {{"LD_LIBRARY_PATH", FAKE_DRIVER_FOLDER}, {"FAKE_SAMPLING", "privileges"}}, {"--metrics"});
    EXPECT_EQ(refused.code, 0);
    EXPECT_THAT(refused.err, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
    EXPECT_EQ(record({RECORDED_PROGRAM}, {}, {"--metrics=sm_actve"}).code, 2);
    EXPECT_EQ(record({RECORDED_PROGRAM}, {}, {"--metrics", "--metrics-interval", "1us"}).code, 2);
    EXPECT_EQ(record({RECORDED_PROGRAM}, {}, {"--metrics-interval", "1ms"}).code, 2) << "without --metrics";
}

TEST_F(Record, RecordsForkedChildrenFromTheirFirstRangeOn)
{
    EXPECT_EQ(record({RECORDED_PROGRAM, "fork"}).code, 0);
    EXPECT_EQ(kernelCounts()["gemm"], 3) << "CUDA cannot be used in a forked child";
    const std::string sql = "select count(*) as ranges, count(distinct t.process) as processes from ranges r "
                            "join threads t on t.run = r.run and t.thread = r.thread "
                            "where r.path = 'step/registered'";
    const ProgramResult rows = run({TILESCOPE_PROGRAM, "sql", "t.tscope", sql, "--format", "csv"});
    EXPECT_THAT(rows.out, HasSubstr("4,2")) << rows.out << rows.err;
    EXPECT_FALSE(environment().contains("record.ended"));
}

TEST_F(Record, TakesACommandWithoutDashes)
{
    const ProgramResult result =
        run({TILESCOPE_PROGRAM, "record", "-o", "t.tscope", RECORDED_PROGRAM, "exit", "--help", "-o", "x"});
    EXPECT_EQ(result.code, 7) << result.err;
    EXPECT_TRUE(fs::exists(folder_.path() / "t.tscope"));
}

TEST_F(Record, RefusesAnOutputThatCannotBeWrittenBeforeTheProgramStarts)
{
    script("text.txt", "text");
    fs::create_directory(folder_.path() / "folder");
    ASSERT_EQ(mkfifo((folder_.path() / "pipe").c_str(), 0600), 0);
    ASSERT_EQ(record({RECORDED_PROGRAM}).code, 0);
    fs::copy(folder_.path() / "t.tscope", folder_.path() / "cut.tscope");
    fs::resize_file(folder_.path() / "cut.tscope", fs::file_size(folder_.path() / "cut.tscope") / 2);
    for (const char* output : {"text.txt", "folder", "pipe", "/dev/null", "cut.tscope", "missing/t.tscope"}) {
        const ProgramResult result =
            run({TILESCOPE_PROGRAM, "record", "-o", output, "--", "sh", "-c", "echo started"});
        EXPECT_EQ(result.code, 2) << output << result.err;
        EXPECT_EQ(result.out, "") << output;
        EXPECT_THAT(result.err, HasSubstr(output));
    }
}

TEST_F(Record, SaysWhyNothingWasRecorded)
{
    EXPECT_THAT(record({RECORDED_PROGRAM}, {}, {"--steps", "100:110"}).err,
                HasSubstr("3 steps were seen; --steps asked for 100:110"));
    EXPECT_THAT(record({RECORDED_PROGRAM}, {}, {"--from", "nosuch"}).err,
                HasSubstr("no range named nosuch was opened"));
    EXPECT_THAT(record({RECORDED_PROGRAM}, {}, {"--delay", "100"}).err, HasSubstr("--delay"));
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
}

TEST_F(Record, FindsTheCuptiBesideTheCudaRuntime)
{
    const fs::path toolkit = folder_.path() / "toolkit";
    fs::create_directories(toolkit / "extras/CUPTI/lib64");
    fs::create_directories(toolkit / "lib64");
    fs::copy(OTHER_LIBRARY, toolkit / "lib64/libcudart.so.13");
    fs::copy(CUPTI_LIBRARY, toolkit / "extras/CUPTI/lib64/libcupti.so.13");
    const std::string text = "import ctypes, os, sys\n"
                             "ctypes.CDLL(sys.argv[1])\n"
                             "ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH']).InitializeInjection()\n"
                             "maps = [line.split()[-1] for line in open('/proc/self/maps')]\n"
                             "print({path for path in maps if 'libcupti' in path})\n";
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("cuda.py", text), (toolkit / "lib64/libcudart.so.13").string()});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "{'" + (toolkit / "extras/CUPTI/lib64/libcupti.so.13").string() + "'}\n");
}

/// From CUDA 13.3 on CUPTI has several subscribers, which share its clock.
TEST_F(Record, SaysThatAProgramCannotBeStarted)
{
    const ProgramResult result = record({"./no-such-program"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("./no-such-program: cannot be started"));
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
}

TEST_F(Record, SaysThatNothingWasRecorded)
{
    const ProgramResult result = record({"true"});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("nothing was recorded"));
    EXPECT_FALSE(fs::exists(folder_.path() / "t.tscope"));
}

/// The library must fit into any process.
TEST_F(Record, LibraryExportsOnlyItsEntryPoints)
{
    const ProgramResult result = run({"/usr/bin/env", "nm", "-D", "--defined-only", RECORDER_LIBRARY});
    ASSERT_EQ(result.code, 0) << result.err;
    std::set<std::string> names;
    std::istringstream lines(result.out);
    for (std::string address, type, name; lines >> address >> type >> name;)
        names.insert(name);
    EXPECT_EQ(names, (std::set<std::string>{"InitializeInjection", "InitializeInjectionNvtx2",
                                            "PyInit__tilescope"}));
}

TEST_F(Record, LibraryNeedsNoNewerLibraries)
{
    const ProgramResult result = run({"/usr/bin/env", "objdump", "-T", RECORDER_LIBRARY});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, Not(HasSubstr("GLIBCXX")));
    EXPECT_THAT(result.out, Not(HasSubstr("CXXABI")));
    std::istringstream words(result.out);
    const std::string version = "(GLIBC_2.";
    for (std::string word; words >> word;) {
        if (word.starts_with(version)) {
            EXPECT_LE(std::stoi(word.substr(version.size())), 28) << word;
        }
    }
}

TEST_F(Record, CacheListsAndRemovesPlugins)
{
    const fs::path file = folder_.path() / "cache/tilescope/plugins/tilescope_torch-2.0.1.so";
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "plug-in";
    const std::map<std::string, std::string> environment{
        {"XDG_CACHE_HOME", (folder_.path() / "cache").string()}};
    EXPECT_THAT(run({TILESCOPE_PROGRAM, "cache"}, environment).out,
                HasSubstr("1 plug-in of tilescope record"));
    EXPECT_THAT(run({TILESCOPE_PROGRAM, "doctor"}, environment).out, HasSubstr("tilescope_torch-2.0.1.so"));
    EXPECT_THAT(run({TILESCOPE_PROGRAM, "cache", "clear"}, environment).out, HasSubstr("and 1 plug-in"));
    EXPECT_FALSE(fs::exists(file));
}

TEST_F(Record, JoinsRanksIntoOneRun)
{
    const std::string both = "for rank in 0 1; do RANK=$rank WORLD_SIZE=2 " RECORDED_PROGRAM " & done; wait";
    const ProgramResult result = record({"sh", "-c", both});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(kernelCounts()["gemm"], 6);
    EXPECT_EQ(show({"runs"}).size(), 1U);
}

TEST_F(Record, TakesRanksFromTheVariablesOfLaunchers)
{
    for (const char* launcher :
         {"SLURM_PROCID=$rank SLURM_NTASKS=2", "OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2"}) {
        const std::string both = "for rank in 0 1; do env -u RANK -u WORLD_SIZE " + std::string(launcher) +
                                 " " RECORDED_PROGRAM " & done; wait";
        ASSERT_EQ(record({"sh", "-c", both}).code, 0);
        const ProgramResult ranks = run(
            {TILESCOPE_PROGRAM, "sql", "t.tscope",
             "select rank, world_size from process where run = (select max(run) from process) order by rank",
             "--format", "csv"});
        EXPECT_EQ(ranks.out, "rank,world_size\r\n0,2\r\n1,2\r\n") << launcher << ranks.err;
    }
}

TEST_F(Record, MasksSecretsInCommandLines)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "none", "--api-token", "hunter2", "MY_SECRET=hunter3"}).code, 0);
    std::ifstream file(folder_.path() / "t.tscope", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(bytes.find("--api-token ***"), std::string::npos);
    EXPECT_EQ(bytes.find("hunter"), std::string::npos);
}

TEST_F(Record, LeavesCommandLinesOut)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "none", "--layers"}, {}, {"--no-command-line"}).code, 0);
    std::ifstream file(folder_.path() / "t.tscope", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(bytes.find("recorded_program"), std::string::npos);
    EXPECT_EQ(bytes.find("--layers"), std::string::npos);
}

} // namespace

} // namespace tilescope
