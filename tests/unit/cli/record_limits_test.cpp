// `tilescope record` where memory, threads, descriptors, disks or rights are short.

#include "tests/unit/cli/record_fixture.h"

#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace tilescope {

namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramResult;

class RecordLimits : public RecordTest {};

/// Launches kernels, and refuses system calls to all threads of its process, before the recorder starts or while it records.
constexpr const char* kSeccomp = R"(
import ctypes, os, struct, sys, time

def seccomp(numbers):
    words = [(0x20, 0, 0, 0)]
    words += [(0x15, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    words += [(6, 0, 0, 0x7fff0000), (6, 0, 0, 0x50001)]
    code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *word) for word in words))
    program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(words), ctypes.addressof(code)))
    c = ctypes.CDLL(None)
    c.prctl(38, 1, 0, 0, 0)
    if c.syscall(317, 1, 1, program) != 0:
        sys.exit(77)

def launch(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        cupti.fakeLaunch(b'kernel')
        sum(range(2000))

numbers = [int(word) for word in sys.argv[2:]]
cupti = ctypes.CDLL(')" CUPTI_LIBRARY R"(', ctypes.RTLD_GLOBAL)
recorder = os.environ.get('CUDA_INJECTION64_PATH')
library = ctypes.CDLL(recorder) if recorder else None
if sys.argv[1] == 'early':
    seccomp(numbers)
if library:
    library.InitializeInjection()
import cupy # starts the reading of stacks
launch(.2)
if sys.argv[1] == 'late':
    seccomp(numbers)
launch(.3)
print('end', flush=True)
)";

#ifdef FAULT_SHIM
TEST_F(RecordLimits, NeverFailsTheProgramWhenMemoryRunsOut)
{
    const fs::path counts = folder_.path() / "counts";
    const testing::TemporaryFolder sockets;
    // From the allocation `first` on, none of the recorder succeeds.
    const auto recordWith = [&](long first) {
        fs::remove(folder_.path() / "t.tscope");
        return record({RECORDED_PROGRAM, "exit"},
                      {{"LD_PRELOAD", FAULT_SHIM},
                       {"XDG_RUNTIME_DIR", sockets.path().string()}, // it has a control socket
                       {"FAULT_PROGRAM", "recorded_program"},
                       {"FAULT_MEMORY", "libtilescope_record " + std::to_string(first)},
                       {"FAULT_OPERATIONS", counts.string()}});
    };
    EXPECT_THAT(recordWith(1'000'000).err, HasSubstr("run 1 of"));
    long count = 0;
    std::ifstream(counts) >> count >> count >> count;
    ASSERT_GT(count, 100);
    int refused = 0;
    // The first is the memory for exceptions, which the C++ library allocates when it is loaded.
    for (long first = 2; first <= count; first += 1 + first / 8) {
        const ProgramResult result = recordWith(first);
        EXPECT_EQ(result.code, 7) << first << result.err;
        EXPECT_EQ(result.out, "three steps\n") << first;
        EXPECT_THAT(otherFiles(), ::testing::IsEmpty()) << first;
        EXPECT_THAT(result.err, Not(HasSubstr("no use of CUDA"))) << first << ": that is not why";
        refused += result.err.find("memory") != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(refused, 10);
}

TEST_F(RecordLimits, SaysThatAProcessMayNotStartAThread)
{
    const ProgramResult result =
        record({RECORDED_PROGRAM, "exit"}, {{"LD_PRELOAD", FAULT_SHIM},
                                            {"FAULT_PROGRAM", "recorded_program"},
                                            {"FAULT_THREADS", "libtilescope_record"}});
    EXPECT_EQ(result.code, 7);
    EXPECT_EQ(result.out, "three steps\n");
    EXPECT_THAT(result.err, HasSubstr("was not recorded: it may not start another thread"));
}
#endif

/// Runs a command as a user of whom nothing else runs, in a folder of its own.
constexpr const char* kAsAnotherUser = R"(
import os, sys
folder, user = sys.argv[1], int(sys.argv[2])
os.makedirs(folder + '/of user', exist_ok=True)
os.chmod(folder, 0o711)
os.chown(folder + '/of user', user, user)
os.chdir(folder + '/of user')
os.setgroups([])
os.setgid(user)
os.setuid(user)
os.environ['HOME'] = os.getcwd()
os.execvp(sys.argv[3], sys.argv[3:])
)";

TEST_F(RecordLimits, LeavesTheThreadsToAProgramThatMayHaveFew)
{
    const std::string user = std::to_string(200'000 + getpid() % 100'000);
    const std::string become = script("become.py", kAsAnotherUser);
    const auto limited = [&](const char* most) {
        return run({PYTHON_PROGRAM, become, folder_.path().string(), user, TILESCOPE_PROGRAM, "record", "-o",
                    "t.tscope", "--", "prlimit", std::string("--nproc=") + most, RECORDED_PROGRAM, "exit"});
    };
    if (geteuid() != 0 || run({PYTHON_PROGRAM, become, folder_.path().string(), user, "prlimit", "--nproc=20",
                               RECORDED_PROGRAM, "exit"})
                                  .code != 7)
        GTEST_SKIP() << "only root can become another user, who must be able to start the program";
    const ProgramResult few = limited("12");
    EXPECT_EQ(few.code, 7) << few.err;
    EXPECT_EQ(few.out, "three steps\n");
    EXPECT_THAT(few.err, HasSubstr("was not recorded: its limit of processes and threads (ulimit -u)"));
    const ProgramResult enough = limited("40");
    EXPECT_EQ(enough.code, 7) << enough.err;
    EXPECT_THAT(enough.err, HasSubstr("run 1 of"));
}

TEST_F(RecordLimits, LeavesTheMemoryToAProgramThatMayHaveLittle)
{
    for (const std::string limit : {"-v 60000", "-d 60000", "-v 400000"}) {
        const ProgramResult result =
            record({"sh", "-c", "ulimit " + limit + "; exec " RECORDED_PROGRAM " exit"});
        EXPECT_EQ(result.code, 7) << limit << result.err;
        EXPECT_EQ(result.out, "three steps\n") << limit;
        EXPECT_THAT(result.err, HasSubstr("was not recorded: its limit of memory")) << limit;
    }
    ASSERT_EQ(record({"sh", "-c", "ulimit -v 4000000; exec " RECORDED_PROGRAM " exit"}).code, 7);
    EXPECT_EQ(kernelCounts()["gemm"], 3);
}

/// The C library ends a process whose threads may not wait (futex), be registered (rseq) or allocate their storage (mmap).
TEST_F(RecordLimits, HarmsNoProgramThatRefusesWhatThreadsNeed)
{
    script("cupy.py", "");
    const std::string program = script("program.py", kSeccomp);
    const std::string futex = "202";
    const std::string rseq = "334";
    const std::string mmap = "9";
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"early", futex}, {"early", rseq}, {"late", mmap}, {"late", rseq, mmap}}) {
        std::vector<std::string> command{PYTHON_PROGRAM, program};
        command.insert(command.end(), words.begin(), words.end());
        const ProgramResult bare = run(command);
        if (bare.code == 77)
            GTEST_SKIP() << "this system has no seccomp";
        ASSERT_EQ(bare.code, 0) << bare.err;
        const ProgramResult result = record(command);
        const std::string about = words[0] + " " + words[1] + "\n" + result.err;
        EXPECT_EQ(result.code, 0) << about;
        EXPECT_EQ(result.out, bare.out) << about;
        if (words[1] == futex) {
            EXPECT_THAT(result.err, HasSubstr("seccomp")) << about;
        }
    }
}

TEST_F(RecordLimits, NeedsNoFreeDescriptorOfTheProgram)
{
    for (int most = 3; most < 9; ++most) {
        fs::remove(folder_.path() / "t.tscope");
        const std::string limit = "ulimit -n " + std::to_string(most) + "; exec ";
        const ProgramResult bare = run({"/bin/sh", "-c", limit + RECORDED_PROGRAM + " exit"});
        const ProgramResult result = record({"sh", "-c", limit + RECORDED_PROGRAM + " exit"});
        EXPECT_EQ(result.code, bare.code) << most << result.err;
        EXPECT_EQ(result.out, bare.out) << most;
        if (bare.code == 7) {
            EXPECT_THAT(result.err, AnyOf(HasSubstr("run 1 of"), HasSubstr("not recorded"))) << most;
        }
    }
}

TEST_F(RecordLimits, AFullFileSystemEndsTheRecordingAndNotTheProgram)
{
    fs::create_directory(folder_.path() / "full");
    const std::string mounted = "mount -t tmpfs -o size=100k none full && ";
    if (run({"/usr/bin/env", "unshare", "-m", "/bin/sh", "-c", mounted + "true"}).code != 0)
        GTEST_SKIP() << "only root can mount";
    const ProgramResult result =
        run({"/usr/bin/env", "unshare", "-m", "/bin/sh", "-c",
             mounted + "(" TILESCOPE_PROGRAM " record -o full/t.tscope -- " RECORDED_PROGRAM
                       " many; echo status $?; ls full) 2>&1"});
    EXPECT_THAT(result.out, HasSubstr("three steps\n"));
    EXPECT_THAT(result.out, HasSubstr("status 0\n"));
    EXPECT_THAT(result.out, HasSubstr("the disk is full"));
}

TEST_F(RecordLimits, FollowsItsFolderWhereTheProgramMovesIt)
{
    const std::string program =
        RECORDED_PROGRAM " exit; status=$?; mv $TILESCOPE_RECORD_FOLDER moved; exit $status";
    EXPECT_EQ(record({"sh", "-c", program}).code, 7);
    EXPECT_EQ(kernelCounts()["gemm"], 3);
    EXPECT_FALSE(fs::exists(folder_.path() / "moved"));
    const ProgramResult removed =
        record({"sh", "-c", RECORDED_PROGRAM " exit; rm -r $TILESCOPE_RECORD_FOLDER; exit 7"});
    EXPECT_EQ(removed.code, 7);
    EXPECT_THAT(removed.err, HasSubstr("has been removed by another program"));
}

TEST_F(RecordLimits, RecordsAProcessThatDoesNotReachTheFolder)
{
    const std::string moved = "mv $TILESCOPE_RECORD_FOLDER moved; " RECORDED_PROGRAM " exit; exit $?";
    const ProgramResult ofMoved = record({"sh", "-c", moved});
    EXPECT_EQ(ofMoved.code, 7) << ofMoved.err;
    EXPECT_EQ(kernelCounts()["gemm"], 3) << ofMoved.err;
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
    if (run({"/usr/bin/env", "unshare", "-Urm", "true"}).code != 0)
        GTEST_SKIP() << "this user cannot mount";
    fs::remove(folder_.path() / "t.tscope");
    const std::string readOnly =
        "mount --bind . . && mount -o remount,ro,bind . && cd $PWD && exec " RECORDED_PROGRAM " exit";
    const ProgramResult ofReadOnly = record({"unshare", "-Urm", "sh", "-c", readOnly});
    EXPECT_EQ(ofReadOnly.code, 7) << ofReadOnly.err;
    EXPECT_EQ(kernelCounts()["gemm"], 3) << ofReadOnly.err;
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
}

TEST_F(RecordLimits, SaysThatTheFolderHasNoRoomForAnotherFile)
{
    const std::string mounted = "mkdir few && mount -t tmpfs -o nr_inodes=40 none few && ";
    if (run({"/usr/bin/env", "unshare", "-Urm", "/bin/sh", "-c", mounted + "true"}).code != 0)
        GTEST_SKIP() << "this user cannot mount";
    const ProgramResult result =
        run({"/usr/bin/env", "unshare", "-Urm", "/bin/sh", "-c",
             "rmdir few; " + mounted +
                 "(" TILESCOPE_PROGRAM " record -o few/t.tscope -- sh -c 'i=0; while touch few/$i; do "
                 "i=$((i+1)); done; " RECORDED_PROGRAM " exit'; echo status $?; ls few) 2>&1"});
    EXPECT_THAT(result.out, HasSubstr("three steps\n"));
    EXPECT_THAT(result.out, HasSubstr("status 7\n"));
    EXPECT_THAT(result.out, ::testing::ContainsRegex("process [0-9]+ was not recorded: .*No space left"));
    EXPECT_THAT(result.out, Not(HasSubstr("was seen")));
}

TEST_F(RecordLimits, AFullDiskEndsTheRecordingAndNotTheProgram)
{
    const ProgramResult result = record({"sh", "-c", "ulimit -f 8; exec " RECORDED_PROGRAM " many"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "three steps\n");
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"gemm", 3}, {"softmax", 3}}));
    EXPECT_THAT(environment(), Contains(Pair("record.ended", HasSubstr("cannot be written"))));
}

TEST_F(RecordLimits, RefusesLinksThatCannotBeWrittenBeforeTheProgramRuns)
{
    std::filesystem::create_symlink("missing/t.tscope", folder_ / "lost");
    std::filesystem::create_symlink("loop", folder_ / "loop");
    std::filesystem::create_symlink("behind.tscope", folder_ / "good");
    for (const char* output : {"lost", "loop"}) {
        const ProgramResult refused = run({TILESCOPE_PROGRAM, "record", "-o", output, "--", "touch", "ran"});
        EXPECT_EQ(refused.code, 2) << output;
        EXPECT_FALSE(std::filesystem::exists(folder_ / "ran")) << output;
    }
    EXPECT_EQ(run({TILESCOPE_PROGRAM, "record", "-o", "good", "--", RECORDED_PROGRAM}).code, 0);
    EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "behind.tscope"));
}

TEST_F(RecordLimits, RefusesALibraryThatOthersCanWrite)
{
    const fs::path copy = folder_.path() / "copy";
    fs::create_directories(copy / "bin");
    fs::create_directories(copy / "lib");
    fs::copy(TILESCOPE_PROGRAM, copy / "bin/tilescope");
    fs::copy(RECORDER_LIBRARY, copy / "lib/libtilescope_record.so");
    ASSERT_EQ(chmod((copy / "lib").c_str(), 0777), 0);
    const ProgramResult result = run({(copy / "bin/tilescope").string(), "record", "--", "true"});
    EXPECT_EQ(result.code, 4);
    EXPECT_THAT(result.err, HasSubstr("can be written by other users"));
}

TEST_F(RecordLimits, RefusesABootstrapThatOthersCanWrite)
{
    const fs::path bootstrap = folder_.path() / "resources/record";
    fs::create_directories(bootstrap);
    ASSERT_EQ(chmod(bootstrap.c_str(), 0777), 0);
    const ProgramResult result = run({TILESCOPE_PROGRAM, "record", "--", "true"},
                                     {{"TILESCOPE_RESOURCES", bootstrap.parent_path().string()}});
    EXPECT_EQ(result.code, 4);
    EXPECT_THAT(result.err, AllOf(HasSubstr("resources/record"), HasSubstr("can be written by other users")));
}

} // namespace

} // namespace tilescope
