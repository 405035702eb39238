// `tilescope record` with processes that outlive the command.

#include "tests/unit/cli/record_fixture.h"

#include <chrono>
#include <csignal>
#include <string>

#include <sys/types.h>

namespace tilescope {

namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::ProgramResult;

class RecordBackground : public RecordTest {};

TEST_F(RecordBackground, WaitsForAProcessInTheBackgroundAndRecordsItWhole)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "daemon"});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("still runs and is recorded"));
    const ProgramResult rows =
        run({TILESCOPE_PROGRAM, "sql", "t.tscope",
             "select count(*) as n from ranges where path = 'step/registered'", "--format", "csv"});
    EXPECT_THAT(rows.out, HasSubstr("23")) << rows.err;
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
}

TEST_F(RecordBackground, NamesWhatOutlivesItAndKeepsTheirFolder)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "daemon"}, {}, {"--wait", "first"});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("tilescope import"));
    ASSERT_EQ(otherFiles().size(), 1U) << result.err;
    const std::string folder = otherFiles().front();
    // The process ends by itself.
    const auto isComplete = [&] {
        const ProgramResult imported = run({TILESCOPE_PROGRAM, "import", folder, "-o", "all.tscope"});
        const ProgramResult rows =
            run({TILESCOPE_PROGRAM, "sql", "all.tscope",
                 "select count(*) as n from ranges where path = 'step/registered'", "--format", "csv"});
        fs::remove(folder_.path() / "all.tscope");
        return rows.out.find("23") != std::string::npos;
    };
    bool found = false;
    for (int i = 0; i < 60 && !found; ++i) {
        usleep(100'000);
        found = isComplete();
    }
    EXPECT_TRUE(found);
}

/// `record` is killed; its program goes on.
TEST_F(RecordBackground, NamesTheFolderOfAKilledRecordAndRemovesAnEmptyOne)
{
    const auto age = [&] {
        for (const std::string& name : otherFiles())
            fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::minutes(2));
    };
    EXPECT_EQ(record({"/bin/sh", "-c", "kill -KILL $PPID; exec " RECORDED_PROGRAM " >out"}).code, -SIGKILL);
    EXPECT_EQ(record({"/bin/sh", "-c", "kill -KILL $PPID"}).code, -SIGKILL);
    ASSERT_EQ(otherFiles().size(), 2U);
    // Young folders may belong to a recording that begins, and a process that runs keeps its folder.
    EXPECT_EQ(record({"/bin/true"}).err.find("earlier recording"), std::string::npos);
    ASSERT_EQ(otherFiles().size(), 2U);
    std::string err;
    for (int i = 0; i < 100 && err.find("earlier recording") == std::string::npos; ++i) {
        age();
        err = record({"/bin/true"}).err;
        usleep(50'000);
    }
    ASSERT_EQ(otherFiles().size(), 1U) << err;
    EXPECT_THAT(err, HasSubstr(otherFiles().front()));
    EXPECT_EQ(run({TILESCOPE_PROGRAM, "import", otherFiles().front(), "-o", "t.tscope"}).code, 0);
    EXPECT_EQ(kernelCounts()["gemm"], 3);
}

TEST_F(RecordBackground, LeavesFoldersOfOthersWithSuchANameAlone)
{
    const std::vector<fs::path> files = {
        "notes.recording-abc123/notes.txt", "empty.recording-abc123/python/train.py",
        "both.recording-abc123/python/_tilescope_recorder.py", "both.recording-abc123/notes.txt"};
    for (const fs::path& file : files) {
        fs::create_directories((folder_ / file).parent_path());
        std::ofstream(folder_ / file) << "mine";
    }
    for (const char* name : {"notes", "empty", "both"})
        fs::last_write_time(folder_ / (std::string(name) + ".recording-abc123"),
                            fs::file_time_type::clock::now() - std::chrono::minutes(2));
    EXPECT_EQ(record({"/bin/true"}).err.find("earlier recording"), std::string::npos);
    for (const fs::path& file : files)
        EXPECT_TRUE(fs::exists(folder_ / file)) << file;
}

/// Ends a process that a test has left in the background.
class Background {
public:
    explicit Background(const fs::path& file) : file_(file) {}
    ~Background()
    {
        if (const pid_t process = pid(); process > 0)
            kill(process, SIGKILL);
    }
    pid_t pid() const
    {
        pid_t process = 0;
        std::ifstream(file_) >> process;
        return process;
    }

private:
    fs::path file_;
};

/// A command that leaves a recorded process in the background, which does nothing for a minute, and exits with 5.
constexpr const char* kLeavesOne = RECORDED_PROGRAM " wait >out & echo $! >pid; "
                                                    "while ! grep -q steps out; do sleep 0.05; done; exit 5";

TEST_F(RecordBackground, WaitsNoLongerThanAskedForAProcessThatRecordsNothing)
{
    const Background background(folder_.path() / "pid");
    const auto start = std::chrono::steady_clock::now();
    const ProgramResult result = record({"sh", "-c", kLeavesOne}, {}, {"--wait", "1"});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(result.code, 5) << "the exit status is the command's";
    EXPECT_GE(took.count(), 1);
    EXPECT_LT(took.count(), 30);
    EXPECT_EQ(kill(background.pid(), 0), 0) << "the process goes on";
    EXPECT_THAT(result.err, HasSubstr("process " + std::to_string(background.pid()) + " still runs"));
    EXPECT_EQ(otherFiles().size(), 1U) << "the folder of a living process stays";
    EXPECT_EQ(record({"true"}, {}, {"--wait", "0"}).code, 2);
    EXPECT_EQ(record({"true"}, {}, {"--wait", "some"}).code, 2);
}

TEST_F(RecordBackground, WaitsForWhatAShellStartsInTheBackground)
{
    for (const std::string start :
         {RECORDED_PROGRAM " exit &", "(sleep 0.3; exec " RECORDED_PROGRAM " exit) &",
          "setsid sh -c 'sleep 0.1; " RECORDED_PROGRAM " exit' &"}) {
        fs::remove(folder_.path() / "t.tscope");
        const ProgramResult result = record({"sh", "-c", start + " exit 5"});
        EXPECT_EQ(result.code, 5) << start;
        ASSERT_TRUE(fs::exists(folder_.path() / "t.tscope")) << start << result.err;
        EXPECT_EQ(kernelCounts()["gemm"], 3) << start << result.err;
        EXPECT_THAT(otherFiles(), ::testing::IsEmpty()) << start;
    }
}

TEST_F(RecordBackground, KeepsTheFolderOfAShellThatMayStillStartAProgram)
{
    const Background background(folder_.path() / "pid");
    const ProgramResult result = record({"sh", "-c", "sleep 600 & echo $! >pid"});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("process " + std::to_string(background.pid()) +
                                      " still runs; so far, nothing was recorded"));
    EXPECT_THAT(result.err, Not(HasSubstr("was seen")));
    EXPECT_EQ(otherFiles().size(), 1U) << result.err;
}

TEST_F(RecordBackground, WaitsForAsLongAsAProcessRecordsSomething)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "daemon"}, {}, {"--wait", "1"});
    const ProgramResult rows =
        run({TILESCOPE_PROGRAM, "sql", "t.tscope",
             "select count(*) as n from ranges where path = 'step/registered'", "--format", "csv"});
    EXPECT_THAT(rows.out, HasSubstr("23")) << result.err;
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
}

TEST_F(RecordBackground, ASignalOrARequestEndsTheWait)
{
    const std::map<std::string, std::string> folder{{"XDG_RUNTIME_DIR", folder_.path().string()}};
    for (const std::string end : {"INT", "TERM", "HUP", "--stop"}) {
        const Background background(folder_.path() / "pid");
        fs::remove(folder_.path() / "t.tscope");
        Program program({"/bin/sh", "-c",
                         "exec " TILESCOPE_PROGRAM " record -o t.tscope --wait all -- sh -c '" +
                             std::string(kLeavesOne) + "' 2>&1"},
                        folder_.path(), folder);
        ASSERT_TRUE(program.waitFor("ends the wait")) << end;
        const std::string number = std::to_string(program.pid());
        const ProgramResult told = end == "--stop"
                                       ? run({TILESCOPE_PROGRAM, "record", "--stop", number}, folder)
                                       : run({"/bin/sh", "-c", "kill -" + end + " " + number});
        EXPECT_EQ(told.code, 0) << told.err;
        const ProgramResult result = program.wait();
        EXPECT_EQ(result.code, 5) << end << result.out;
        EXPECT_THAT(result.out, HasSubstr("still runs and writes into")) << end;
        EXPECT_EQ(kill(background.pid(), 0), 0) << end << " is for the wait only";
        EXPECT_EQ(kernelCounts()["gemm"], 3) << end;
        if (end == "--stop") {
            EXPECT_THAT(told.out, HasSubstr("process " + number + ", waits no longer"));
        }
    }
}

/// The terminal sends Ctrl+C to every process of its foreground group.
TEST_F(RecordBackground, CtrlCEndsTheWaitAndNotTheProcess)
{
    const Background background(folder_.path() / "pid");
    const std::string text = "import os, pty, sys\n"
                             "child, terminal = pty.fork()\n"
                             "if child == 0:\n"
                             "    os.execv(sys.argv[1], sys.argv[1:])\n"
                             "said = b''\n"
                             "while True:\n"
                             "    try:\n"
                             "        part = os.read(terminal, 4096)\n"
                             "    except OSError:\n"
                             "        break\n"
                             "    if not part:\n"
                             "        break\n"
                             "    said += part\n"
                             "    if b'ends the wait' in said and b'\\x03' not in said:\n"
                             "        os.write(terminal, b'\\x03')\n"
                             "        said += b'\\x03'\n"
                             "print(said.decode())\n"
                             "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n";
    const ProgramResult result = run({PYTHON_PROGRAM, script("terminal.py", text), TILESCOPE_PROGRAM,
                                      "record", "-o", "t.tscope", "--", "/bin/sh", "-c", kLeavesOne});
    EXPECT_EQ(result.code, 5) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("still runs and writes into"));
    EXPECT_EQ(kill(background.pid(), 0), 0);
}

} // namespace

} // namespace tilescope
