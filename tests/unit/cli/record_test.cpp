// `tilescope record` with a program that uses a CUPTI without a GPU, and with Python programs on the CPU.

#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <sys/stat.h>

namespace tilescope {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using testing::Program;
using testing::ProgramResult;
using testing::TemporaryFolder;

class Record : public ::testing::Test {
protected:
    ProgramResult run(std::vector<std::string> command,
                      const std::map<std::string, std::string>& environment = {})
    {
        return testing::runProgram(command, folder_.path(), environment);
    }

    ProgramResult record(std::vector<std::string> command,
                         const std::map<std::string, std::string>& environment = {},
                         const std::vector<std::string>& options = {})
    {
        std::vector<std::string> words{TILESCOPE_PROGRAM, "record", "-o", "t.tscope"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        return run(words, environment);
    }

    json show(std::vector<std::string> what)
    {
        std::vector<std::string> words{TILESCOPE_PROGRAM, "show", "t.tscope"};
        words.insert(words.end(), what.begin(), what.end());
        words.insert(words.end(), {"--format", "json"});
        const ProgramResult result = run(words);
        EXPECT_EQ(result.code, 0) << result.err;
        return json::parse(result.out, nullptr, false);
    }

    std::map<std::string, int> kernelCounts()
    {
        std::map<std::string, int> counts;
        for (const json& row : show({"kernels"}))
            counts[row.at("name")] += row.at("instances").get<int>();
        return counts;
    }

    std::set<std::string> rangePaths()
    {
        std::set<std::string> paths;
        for (const json& row : show({"ranges"}))
            paths.insert(row.at("path"));
        return paths;
    }

    std::map<std::string, std::string> environment()
    {
        std::map<std::string, std::string> entries;
        for (const json& row : show({"environment"}))
            entries[row.at("key")] = row.at("value");
        return entries;
    }

    /// What a recording leaves besides its output.
    std::vector<std::string> otherFiles()
    {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder_.path()))
            if (entry.path().filename().string().find("recording") != std::string::npos)
                names.push_back(entry.path().filename());
        return names;
    }

    std::string script(const std::string& name, const std::string& text)
    {
        const fs::path file = folder_.path() / name;
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
        return file.string();
    }

    TemporaryFolder folder_;
};

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

TEST_F(Record, AddsARunToAnExistingFile)
{
    ASSERT_EQ(record({RECORDED_PROGRAM}).code, 0);
    const ProgramResult second = record({RECORDED_PROGRAM});
    EXPECT_EQ(second.code, 0);
    EXPECT_THAT(second.err, HasSubstr("run 2 of t.tscope"));
}

TEST_F(Record, KeepsWhatAKilledProgramDidHalfASecondBefore)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "kill"});
    EXPECT_EQ(result.code, -SIGKILL);
    EXPECT_EQ(kernelCounts()["gemm"], 3);
}

TEST_F(Record, KeepsEverythingOfATerminatedProgram)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "terminate"});
    EXPECT_EQ(result.code, -SIGTERM);
    EXPECT_EQ(kernelCounts()["softmax"], 3);
}

TEST_F(Record, PassesSignalsOnAndKeepsTheRecording)
{
    Program program({TILESCOPE_PROGRAM, "record", "-o", "t.tscope", "--", RECORDED_PROGRAM, "wait"},
                    folder_.path());
    ASSERT_TRUE(program.waitFor("three steps"));
    kill(program.pid(), SIGINT);
    EXPECT_EQ(program.wait().code, -SIGINT);
    EXPECT_EQ(kernelCounts()["gemm"], 3);
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

TEST_F(Record, WaitsForTheDelay)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "many"}, {}, {"--delay", "0.5"}).code, 0);
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"many", 2000}}));
}

TEST_F(Record, EndsAfterSoManySeconds)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "many"}, {}, {"--seconds", "0.3"}).code, 0);
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"gemm", 3}, {"softmax", 3}}));
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
    EXPECT_TRUE(fs::is_empty(sockets));
    const ProgramResult late = tell("--stop");
    EXPECT_EQ(late.code, 2);
    EXPECT_THAT(late.err, HasSubstr("no process with this number is recorded"));
}

TEST_F(Record, LeavesTheDeviceToTheProgramsProfiler)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "yield"}, {}, {"--yield-to-torch"}).code, 0);
    EXPECT_EQ(kernelCounts()["gemm"], 3) << "the fourth step's belongs to the other profiler";
    EXPECT_THAT(environment(), Contains(Pair("record.device", HasSubstr("torch.profiler"))));
    // Only where the user asked for it.
    ASSERT_EQ(fs::remove(folder_.path() / "t.tscope"), true);
    ASSERT_EQ(record({RECORDED_PROGRAM, "yield"}).code, 0);
    EXPECT_EQ(kernelCounts()["gemm"], 4);
}

TEST_F(Record, ProgramsThatUseTorchProfilerKeepWorking)
{
    const std::string text =
        "import torch\n"
        "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:\n"
        "    torch.nn.Linear(2, 2)(torch.ones(2))\n"
        "print(any('linear' in event.key for event in profile.key_averages()))\n";
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("profiled.py", text)}, {}, {"--yield-to-torch"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "True\n");
}

TEST_F(Record, MeasuresItsCost)
{
    const std::string text = "import torch\n"
                             "model = torch.nn.Linear(1, 1)\n"
                             "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
                             "for _ in range(70):\n"
                             "    model(torch.ones(1)).sum().backward()\n"
                             "    optimizer.step()\n";
    ASSERT_EQ(record({PYTHON_PROGRAM, script("loop.py", text)}, {}, {"--calibrate"}).code, 0);
    // Ten steps come first; a pair has two blocks of seven.
    EXPECT_THAT(environment(), Contains(Pair("record.cost", HasSubstr("4 pairs of 5 steps"))));
    EXPECT_EQ(record({"true"}, {}, {"--calibrate", "--steps", "1:2"}).code, 2);
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

TEST_F(Record, AFullDiskEndsTheRecordingAndNotTheProgram)
{
    const ProgramResult result = record({"sh", "-c", "ulimit -f 8; exec " RECORDED_PROGRAM " many"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "three steps\n");
    EXPECT_EQ(kernelCounts(), (std::map<std::string, int>{{"gemm", 3}, {"softmax", 3}}));
    EXPECT_THAT(environment(), Contains(Pair("record.ended", HasSubstr("cannot be written"))));
}

TEST_F(Record, LeavesForkedChildrenOut)
{
    EXPECT_EQ(record({RECORDED_PROGRAM, "fork"}).code, 0);
    EXPECT_EQ(kernelCounts()["gemm"], 3);
}

TEST_F(Record, NamesAnotherProfilerAndRecordsTheRangesAllTheSame)
{
    EXPECT_EQ(record({RECORDED_PROGRAM, "rival"}).code, 0);
    EXPECT_THAT(rangePaths(), Contains("step/forward"));
    EXPECT_THAT(kernelCounts(), ::testing::IsEmpty());
}

TEST_F(Record, RefusesIfAnotherToolIsSet)
{
    const ProgramResult result = record({RECORDED_PROGRAM}, {{"CUDA_INJECTION64_PATH", "/opt/other.so"}});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, AllOf(HasSubstr("/opt/other.so"), HasSubstr("unset it")));
}

TEST_F(Record, SaysThatAProgramCannotBeStarted)
{
    const ProgramResult result = record({"./no-such-program"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("./no-such-program: cannot be started"));
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
}

TEST_F(Record, RefusesALibraryThatOthersCanWrite)
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
    EXPECT_EQ(names, (std::set<std::string>{"InitializeInjection", "InitializeInjectionNvtx2"}));
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

// --- PyTorch on the CPU ---

constexpr const char* kTraining = R"(
import torch
from torch.utils.data import DataLoader, TensorDataset

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.Linear(8, 8)
    def forward(self, x):
        return torch.relu(self.attention(x))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block() for _ in range(2))
    def forward(self, x):
        for layer in self.layers:
            x = CALL
        return x.sum()

def main():
    model = Model()
    model = PREPARE
    optimizer = torch.optim.AdamW(model.parameters())
    for (batch,) in DataLoader(TensorDataset(torch.randn(12, 8)), batch_size=4, num_workers=WORKERS):
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()
    print("trained")

if __name__ == "__main__":
    main()
)";

std::string training(const std::string& call = "layer(x)", const std::string& prepare = "model",
                     const std::string& workers = "0")
{
    std::string text = kTraining;
    for (const auto& [word, by] :
         {std::pair{std::string("CALL"), call}, {"PREPARE", prepare}, {"WORKERS", workers}})
        text.replace(text.find(word), word.size(), by);
    return text;
}

TEST_F(Record, FindsModulesAndStepsOfPyTorch)
{
    const ProgramResult result = record({PYTHON_PROGRAM, script("train.py", training())});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "trained\n");
    EXPECT_THAT(rangePaths(), IsSupersetOf({"step/forward/Model/layers.0/attention",
                                            "step/forward/Model/layers.1/attention", "step/backward",
                                            "step/optimizer", "step/data"}));
    EXPECT_EQ(show({"steps"}).size(), 3U);
}

TEST_F(Record, RecordsCheckpointedModulesUnderTheirBackward)
{
    const std::string call = "torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)";
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("train.py", "import torch.utils.checkpoint\n" + training(call))});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(rangePaths(), IsSupersetOf({"step/backward/Model/layers.0/attention",
                                            "step/backward/Model/layers.1/attention"}));
}

TEST_F(Record, CompiledModulesKeepWorking)
{
    const ProgramResult result = record(
        {PYTHON_PROGRAM, script("train.py", training("layer(x)", "torch.compile(model, backend='eager', "
                                                                 "fullgraph=True)"))});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(show({"steps"}).size(), 3U);
}

TEST_F(Record, WorkersOfDataLoadersStaySilent)
{
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("train.py", training("layer(x)", "model", "2"))});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(show({"steps"}).size(), 3U);
}

TEST_F(Record, SaysThatOptionsOfPythonKeepTheBootstrapOut)
{
    for (const char* option : {"-I", "-E", "-S", "-sE"})
        EXPECT_THAT(record({PYTHON_PROGRAM, option, "-c", "pass"}).err, HasSubstr("-I, -E and -S keep"))
            << option;
    EXPECT_THAT(record({PYTHON_PROGRAM, "-c", "pass", "-I"}).err, Not(HasSubstr("-I, -E and -S keep")));
}

TEST_F(Record, RunsTheUsersOwnSitecustomize)
{
    script("own/sitecustomize.py", "print('own sitecustomize')\n");
    const ProgramResult result = record({PYTHON_PROGRAM, "-c", "print('program')"},
                                        {{"PYTHONPATH", (folder_.path() / "own").string()}});
    EXPECT_EQ(result.out, "own sitecustomize\nprogram\n");
    EXPECT_EQ(result.err.find("Traceback"), std::string::npos) << result.err;
}

TEST_F(Record, ExceptionsOfTheProgramStayAsTheyAre)
{
    const std::string text = "import torch\n"
                             "class M(torch.nn.Module):\n"
                             "    def forward(self, x):\n"
                             "        raise ValueError('mine')\n"
                             "try:\n"
                             "    M()(1)\n"
                             "except ValueError as error:\n"
                             "    print(error)\n"
                             "torch.nn.Identity()(torch.ones(1))\n"
                             "raise SystemExit(3)\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("fails.py", text)});
    EXPECT_EQ(result.code, 3) << result.err;
    EXPECT_EQ(result.out, "mine\n");
}

TEST_F(Record, AModuleThatRaisesDoesNotContainWhatFollows)
{
    const std::string text = "import torch\n"
                             "class Inner(torch.nn.Module):\n"
                             "    def forward(self, x):\n"
                             "        raise KeyboardInterrupt\n"
                             "class Outer(torch.nn.Module):\n"
                             "    def __init__(self):\n"
                             "        super().__init__()\n"
                             "        self.inner = Inner()\n"
                             "    def forward(self, x):\n"
                             "        return self.inner(x)\n"
                             "try:\n"
                             "    Outer()(1)\n"
                             "except KeyboardInterrupt:\n"
                             "    model = torch.nn.Linear(1, 1)\n"
                             "    model(torch.ones(1)).sum().backward()\n"
                             "    torch.optim.SGD(model.parameters(), lr=0.1).step()\n";
    ASSERT_EQ(record({PYTHON_PROGRAM, script("interrupted.py", text)}).code, 0);
    EXPECT_THAT(rangePaths(),
                IsSupersetOf({"step/forward/Outer/inner", "step/forward/Linear", "step/optimizer"}));
}

// --- memory, operators and stacks of PyTorch, by the plug-in ---

TEST_F(Record, AddsUpTheMemoryOfAnUnmodifiedScriptByModule)
{
    ASSERT_EQ(record({PYTHON_PROGRAM, script("train.py", training())}).code, 0);
    EXPECT_THAT(environment()["record.memory"], HasSubstr("by the plug-in"));
    std::int64_t atPeak = 0;
    std::map<std::string, std::int64_t> most;
    for (const json& row : show({"memory", "--group", "module"})) {
        atPeak += row.at("at_peak").get<std::int64_t>();
        most[row.at("key")] = row.at("max");
    }
    // The weights are 8 x 8 floats, their biases 8: as parameters, and as gradients.
    constexpr std::int64_t kWeight = 8 * 8 * 4;
    constexpr std::int64_t kBias = 8 * 4;
    EXPECT_GE(most["Model/layers.0/attention"], kWeight + kBias);
    EXPECT_GE(most["Model/layers.1/attention"], kWeight + kBias);
    std::map<std::string, std::int64_t> categories;
    std::int64_t sum = 0;
    for (const json& row : show({"memory", "--group", "category"})) {
        categories[row.at("key")] = row.at("max");
        sum += row.at("at_peak").get<std::int64_t>();
    }
    EXPECT_EQ(categories["parameters"], 2 * (kWeight + kBias));
    EXPECT_EQ(categories["gradients"], 2 * (kWeight + kBias));
    // AdamW keeps two moments and the number of steps of each parameter.
    EXPECT_EQ(categories["optimizer"], 4 * (kWeight + kBias) + 4 * 4);
    EXPECT_GT(categories["activations"], 0);
    EXPECT_EQ(atPeak, sum) << "one peak";
}

/// A GPU's allocator, played by the program: without a GPU the plug-in cannot follow it.
TEST_F(Record, TakesTheHistoryOfPyTorchsOwnRecorderWhereThePluginCannotFollow)
{
    const std::string text =
        "import time, torch\n"
        "events = []\n"
        "def note(action, address, size):\n"
        "    time.sleep(0.001)\n"
        "    events.append({'action': action, 'addr': address, 'size': size, 'stream': 0,\n"
        "                   'time_us': time.time_ns() // 1000, 'frames': []})\n"
        "    time.sleep(0.001)\n"
        "torch.cuda.memory._record_memory_history = lambda *_: None\n"
        "torch.cuda.memory._snapshot = lambda: {'segments': [], 'device_traces': [events]}\n"
        "for call, _ in list(torch.cuda._queued_calls):\n"
        "    if call.__module__ == '_tilescope_recorder':\n"
        "        call()\n"
        "note('segment_alloc', 4096, 2097152)\n"
        "class Layer(torch.nn.Linear):\n"
        "    def forward(self, x):\n"
        "        note('alloc', 4096, 512)\n"
        "        return super().forward(x)\n"
        "model = torch.nn.Sequential(Layer(2, 2))\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "loss = model(torch.ones(1, 2)).sum()\n"
        "loss.backward()\n"
        "note('free_requested', 4096, 512)\n"
        "note('free_completed', 4096, 512)\n"
        "optimizer.step()\n"
        "note('segment_free', 4096, 2097152)\n";
    ASSERT_EQ(record({PYTHON_PROGRAM, script("gpu.py", text)}).code, 0);
    EXPECT_THAT(environment()["record.memory"], HasSubstr("by PyTorch's own recorder"));
    std::map<std::string, std::int64_t> most;
    for (const json& row : show({"memory", "--group", "module"}))
        most[row.at("key")] = row.at("max");
    EXPECT_EQ(most["Sequential/0"], 512);
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
}

TEST_F(Record, LeavesMemoryOut)
{
    ASSERT_EQ(record({PYTHON_PROGRAM, script("train.py", training())}, {}, {"--no-memory"}).code, 0);
    EXPECT_FALSE(environment().contains("record.memory"));
    EXPECT_TRUE(show({"memory"}).empty());
    EXPECT_THAT(rangePaths(), Contains("step/forward/Model"));
}

TEST_F(Record, RecordsOpsWithShapes)
{
    ASSERT_EQ(record({PYTHON_PROGRAM, script("train.py", training())}, {}, {"--ops"}).code, 0);
    EXPECT_THAT(environment()["record.ops"], HasSubstr("by the plug-in"));
    std::map<std::string, int> counts;
    for (const json& row : show({"ops"}))
        counts[row.at("name")] = row.at("instances");
    // Three steps with two layers.
    EXPECT_EQ(counts["aten::linear"], 6);
    EXPECT_EQ(counts["AddmmBackward0"], 6);
    EXPECT_EQ(counts["SumBackward0"], 3);
    const ProgramResult shapes = run({TILESCOPE_PROGRAM, "sql", "t.tscope",
                                      "select distinct s.text from op o join string s on s.id = o.shapes "
                                      "join string n on n.id = o.name where n.text = 'aten::linear'"});
    EXPECT_THAT(shapes.out, HasSubstr("f32[4, 8] f32[8, 8] f32[8]")) << shapes.err;
}

TEST_F(Record, RecordsCallsOfPythonFunctions)
{
    ASSERT_EQ(record({PYTHON_PROGRAM, script("train.py", training())}, {}, {"--stacks"}).code, 0);
    const ProgramResult frames = run({TILESCOPE_PROGRAM, "sql", "t.tscope",
                                      "select s.text, count(*) from frame f join string s on s.id = f.name "
                                      "where s.text like 'train.py%' group by 1 order by 1"});
    EXPECT_THAT(frames.out, AllOf(HasSubstr("train.py(9): forward"), HasSubstr("train.py(16): forward")))
        << frames.err;
}

/// Ranges nest: what a parent's children leave of it is its own time.
TEST_F(Record, TimesOfModulesAddUpToTheStep)
{
    ASSERT_EQ(record({PYTHON_PROGRAM, script("train.py", training())}).code, 0);
    std::map<std::string, std::int64_t> wall;
    for (const json& row : show({"ranges"}))
        wall[row.at("path")] = row.at("wall_ns").get<std::int64_t>();
    const auto children = [&](const std::string& path) {
        std::int64_t sum = 0;
        for (const auto& [each, time] : wall)
            if (each.starts_with(path + "/") && each.find('/', path.size() + 1) == std::string::npos)
                sum += time;
        return sum;
    };
    for (const char* path : {"step", "step/forward", "step/forward/Model", "step/forward/Model/layers.0"}) {
        EXPECT_GT(children(path), 0) << path;
        EXPECT_LE(children(path), wall[path]) << path;
    }
    std::int64_t steps = 0;
    for (const json& row : show({"steps"}))
        steps += row.at("wall_ns").get<std::int64_t>();
    EXPECT_EQ(wall["step"], steps);
}

TEST_F(Record, WarnsIfTheProgramStartsAProfiler)
{
    const std::string text =
        "import torch\n"
        "torch.cuda.is_available = lambda: True\n"
        "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:\n"
        "    torch.nn.Linear(2, 2)(torch.ones(1, 2))\n"
        "print(len(profiler.events()) > 0)\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("profiled.py", text)});
    EXPECT_EQ(result.out, "True\n");
    EXPECT_THAT(result.err, HasSubstr("the program starts torch.profiler"));
}

TEST_F(Record, CompilesMoreModulesThanACompilerKeepsOfOneFunction)
{
    // Each class has its own forward; they share only what calls it.
    const std::string text =
        "import torch\n"
        "torch._dynamo.config.fail_on_recompile_limit_hit = True\n"
        "seen = []\n"
        "def backend(graph, inputs):\n"
        "    seen.append(graph)\n"
        "    return graph.forward\n"
        "for i in range(12):\n"
        "    class M(torch.nn.Module):\n"
        "        def __init__(self):\n"
        "            super().__init__()\n"
        "            self.inner = torch.nn.Linear(i + 1, 1)\n"
        "        exec(f'def forward(self, x):\\n    return self.inner(x) + {i}')\n"
        "    torch.compile(M(), backend=backend, fullgraph=True, dynamic=False)(torch.ones(1, i + 1))\n"
        "print(len(seen))\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("compiled.py", text)});
    EXPECT_EQ(result.out, "12\n") << result.err;
    // It has no steps, which the tables of ranges begin with.
    const std::string sql = "select count(*) as calls from range r join string s on s.id = r.name "
                            "where s.text = 'M'";
    const ProgramResult calls = run({TILESCOPE_PROGRAM, "sql", "t.tscope", sql, "--format", "csv"});
    EXPECT_THAT(calls.out, HasSubstr("12")) << calls.err;
}

TEST_F(Record, RecordsChildrenOfMultiprocessingAsProcesses)
{
    const std::string text = training() + "\n";
    const std::string spawn = "import torch.multiprocessing as mp, train\n"
                              "def work(rank):\n"
                              "    train.main()\n"
                              "if __name__ == '__main__':\n"
                              "    mp.spawn(work, nprocs=2)\n";
    script("train.py", text);
    const ProgramResult result = record({PYTHON_PROGRAM, script("spawn.py", spawn)});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(show({"steps"}).size(), 6U) << "three of each";
}

TEST_F(Record, JoinsRanksIntoOneRun)
{
    const std::string both = "for rank in 0 1; do RANK=$rank WORLD_SIZE=2 " RECORDED_PROGRAM " & done; wait";
    const ProgramResult result = record({"sh", "-c", both});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(kernelCounts()["gemm"], 6);
    EXPECT_EQ(show({"runs"}).size(), 1U);
}

TEST_F(Record, RecordsTheRanksOfTorchrun)
{
    const std::string text = "import torch\n"
                             "torch.distributed.init_process_group('gloo')\n"
                             "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))\n"
                             "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
                             "for _ in range(3):\n"
                             "    optimizer.zero_grad()\n"
                             "    model(torch.ones(2, 4)).sum().backward()\n"
                             "    optimizer.step()\n"
                             "torch.distributed.destroy_process_group()\n";
    const ProgramResult result = record(
        {PYTHON_PROGRAM, "-m", "torch.distributed.run", "--nproc-per-node=2", script("ranks.py", text)});
    ASSERT_EQ(result.code, 0) << result.err;
    std::map<int, int> steps;
    for (const json& row : show({"steps"}))
        ++steps[row.at("rank").get<int>()];
    EXPECT_EQ(steps, (std::map<int, int>{{0, 3}, {1, 3}}));
    EXPECT_THAT(rangePaths(), Contains("step/forward/DistributedDataParallel/module"));
}

TEST_F(Record, MasksSecretsInCommandLines)
{
    ASSERT_EQ(record({RECORDED_PROGRAM, "none", "--api-token", "hunter2", "MY_SECRET=hunter3"}).code, 0);
    std::ifstream file(folder_.path() / "t.tscope", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(bytes.find("--api-token ***"), std::string::npos);
    EXPECT_EQ(bytes.find("hunter"), std::string::npos);
}

} // namespace

} // namespace tilescope
