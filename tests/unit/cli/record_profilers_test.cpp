// `tilescope record` with other users of CUPTI: profilers in the program, and tools beside it.

#include "tests/unit/cli/record_fixture.h"

#include <map>
#include <string>
#include <vector>

namespace tilescope {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::ProgramResult;

class RecordProfilers : public RecordTest {};

TEST_F(RecordProfilers, LeavesTheDeviceToTheProgramsProfiler)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "yield"}, {}, {"--yield-to-torch"}).code, 0);
    EXPECT_EQ(kernelCounts()["gemm"], 3) << "the fourth step's belongs to the other profiler";
    EXPECT_THAT(environment(), Contains(Pair("record.device", HasSubstr("torch.profiler"))));
    // Only where the user asked for it.
    ASSERT_EQ(fs::remove(folder_.path() / "t.tscope"), true);
    ASSERT_EQ(record({RECORDED_PROGRAM, "yield"}).code, 0);
    EXPECT_EQ(kernelCounts()["gemm"], 4);
}

// Four launches, each with the callbacks before and after it.
TEST_F(RecordProfilers, LeavesTheDeviceToProtonWhenItStarts)
{
    for (const std::vector<std::string>& options :
         {std::vector<std::string>{}, {"--inside"}, {"--graphs", "graph"}}) {
        const ProgramResult bare = run({RECORDED_PROGRAM, "proton"});
        const ProgramResult result = record({RECORDED_PROGRAM, "proton"}, {}, options);
        EXPECT_EQ(result.code, bare.code) << result.err;
        EXPECT_EQ(result.out, bare.out);
        EXPECT_THAT(bare.out, HasSubstr("subscribed with 0, 8 callbacks"));
        EXPECT_THAT(result.err, HasSubstr("finalized: 1\n")) << "Proton loads a CUPTI of its own";
        EXPECT_THAT(result.err, HasSubstr("the device was left to Proton when the program started it"));
        EXPECT_EQ(kernelCounts()["gemm"], 3) << "those after its start are Proton's";
        EXPECT_THAT(environment(), Contains(Pair("record.device", HasSubstr("left to Proton"))));
        fs::remove(folder_.path() / "t.tscope");
    }
}

TEST_F(RecordProfilers, DoesNotRemoveACuptiThatTorchProfilerMayUse)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "torch, proton"}, {}, {"--yield-to-torch"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("finalized: 0\n"));
    EXPECT_THAT(environment(), Contains(Pair("record.device", HasSubstr("left to torch.profiler"))));
}

// Replays of graphs that were traced use memory of CUPTI.
TEST_F(RecordProfilers, DoesNotRemoveACuptiThatTracedGraphs)
{
    const ProgramResult bare = run({RECORDED_PROGRAM, "graph, proton"});
    const ProgramResult result = record({RECORDED_PROGRAM, "graph, proton"});
    EXPECT_EQ(result.code, bare.code) << result.err;
    EXPECT_EQ(result.out, bare.out);
    EXPECT_THAT(result.err, HasSubstr("finalized: 0\n"));
}

TEST_F(RecordProfilers, LeavesTheDeviceToProtonThatIsImported)
{
    script("triton/__init__.py", "");
    script("triton/profiler/__init__.py", "from .profile import start\n");
    script("triton/profiler/profile.py",
           "class libproton:\n"
           "    @staticmethod\n"
           "    def start(name, context, data, backend, mode):\n"
           "        return name + ' ' + backend\n"
           "def start(backend):\n"
           "    return libproton.start('cupti-run', 'shadow', 'tree', backend, '')\n");
    const std::string text = "import ctypes, os, sys\n"
                             "import triton.profiler\n"
                             "cupti = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
                             "path = os.environ.get('CUDA_INJECTION64_PATH')\n"
                             "if path:\n"
                             "    ctypes.CDLL(path).InitializeInjection()\n"
                             "for backend, kernel in ('instrumentation', b'first'), ('cupti', b'second'):\n"
                             "    cupti.fakeLaunch(kernel)\n"
                             "    print(triton.profiler.start(backend))\n"
                             "cupti.fakeLaunch(b'third')\n";
    const std::vector<std::string> program{PYTHON_PROGRAM, script("proton.py", text), CUPTI_LIBRARY};
    const ProgramResult result = record(program);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "cupti-run instrumentation\ncupti-run cupti\n");
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"first", 1}, {"second", 1}}));
    EXPECT_THAT(result.err, HasSubstr("the device was left to Proton"));
}

TEST_F(RecordProfilers, NamesAnotherProfilerAndRecordsTheRangesAllTheSame)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "rival"});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("another profiler (Another profiler) traces this process already"));
    EXPECT_THAT(environment(), Contains(Pair("record.device", HasSubstr("(Another profiler)"))));
    EXPECT_THAT(rangePaths(), Contains("step/forward"));
    EXPECT_THAT(kernelCounts(), ::testing::IsEmpty());
    const json runs = show({"runs"});
    EXPECT_EQ(runs.at(0).at("device"), "cuda") << "it did not run on the CPU";
    EXPECT_THAT(runs.at(0).at("flags").dump(), HasSubstr("Another profiler"));
    EXPECT_THAT(run({TILESCOPE_PROGRAM, "show", "t.tscope", "kernels"}).out,
                HasSubstr("could not be traced (another profiler (Another profiler) traces this process"));
}

/// In a process that has not loaded CUPTI itself.
TEST_F(RecordProfilers, IsOneOfSeveralSubscribersOfCupti)
{
    ASSERT_EQ(record({RECORDED_PROGRAM}, {{"FAKE_CUPTI", "13.3"}}).code, 0);
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"gemm", 3}, {"softmax", 3}}));
    EXPECT_EQ(show({"losses"}), json::array());
    const std::string sql = "select max(abs(start - launched)) < 1000000000 as near from kernels";
    const ProgramResult times = run({TILESCOPE_PROGRAM, "sql", "t.tscope", sql, "--format", "csv"});
    EXPECT_THAT(times.out, HasSubstr("near\r\n1")) << times.out << times.err;
}

TEST_F(RecordProfilers, RefusesIfAnotherToolIsSet)
{
    for (const char* variable : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
        const ProgramResult result = record({RECORDED_PROGRAM}, {{variable, "/opt/other.so"}});
        EXPECT_EQ(result.code, 2);
        EXPECT_THAT(result.err,
                    AllOf(HasSubstr(variable), HasSubstr("/opt/other.so"), HasSubstr("unset it")));
    }
}

} // namespace

} // namespace tilescope
