// The stacks of Python that `tilescope record` reads between launches.

#include "tests/unit/cli/record_fixture.h"

#include <map>
#include <string>

namespace tilescope {

namespace {

using ::testing::HasSubstr;
using testing::ProgramResult;

class RecordStacks : public RecordTest {
protected:
    /// Records a Python program that launches by `cupti.fakeLaunch(b'kernel')`.
    ProgramResult recordPython(const std::string& text, const std::vector<std::string>& options = {})
    {
        script("cupy.py", ""); // its import starts the reading of stacks
        const std::string head = "import ctypes, os, subprocess, time\n"
                                 "cupti = ctypes.CDLL('" CUPTI_LIBRARY "', ctypes.RTLD_GLOBAL)\n"
                                 "ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH']).InitializeInjection()\n"
                                 "import cupy\n";
        return record({PYTHON_PROGRAM, script("program.py", head + text)}, {}, options);
    }
};

/// The system tells for how long a thread had no core when it gets one again, which may be many samples later.
TEST_F(RecordStacks, TellAHostWithoutACoreFromOneThatWaits)
{
    ASSERT_EQ(recordPython("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
                           // They end by themselves if this program is killed.
                           "loop = ['timeout', '60', 'sh', '-c', 'while :; do :; done']\n"
                           "others = [subprocess.Popen(loop) for _ in range(12)]\n"
                           "try:\n"
                           "    until = time.monotonic() + 5\n"
                           "    while time.monotonic() < until:\n"
                           "        cupti.fakeLaunch(b'kernel')\n"
                           "        sum(range(20000))\n"
                           "finally:\n"
                           "    for other in others:\n"
                           "        other.terminate()\n"
                           "        other.wait()\n")
                  .code,
              0);
    std::map<std::string, double> percent;
    for (const nlohmann::json& row : show({"waiting", "--group", "cause"}))
        percent[row.at("cause")] += row.at("idle_percent").get<double>();
    EXPECT_GT(percent["other-processes"], 0);
    EXPECT_LT(percent["off-core"], 20) << "it never waits";
}

/// The frame of a generator has no caller while the generator pauses, which it does between two readings.
TEST_F(RecordStacks, KnowTheCallersOfGenerators)
{
    ASSERT_EQ(recordPython("def inner():\n"
                           "    for i in range(100):\n"
                           "        yield i\n"
                           "def outer():\n"
                           "    yield from inner()\n"
                           "until = time.monotonic() + 5\n"
                           "while time.monotonic() < until:\n"
                           "    for _ in range(20):\n"
                           "        for _ in outer():\n"
                           "            pass\n"
                           "    cupti.fakeLaunch(b'kernel')\n",
                           {"--host-samples", "10000"})
                  .code,
              0);
    ASSERT_EQ(run({TILESCOPE_PROGRAM, "export", "t.tscope", "--folded", "idle.txt", "--weight", "idle"}).code,
              0);
    std::ifstream file(folder_ / "idle.txt");
    int stacks = 0;
    for (std::string line; std::getline(file, line);)
        if (line.find("program.py(") != std::string::npos) {
            ++stacks;
            EXPECT_THAT(line, HasSubstr("program.py(1): <module>"));
        }
    EXPECT_GT(stacks, 0);
}

} // namespace
} // namespace tilescope
